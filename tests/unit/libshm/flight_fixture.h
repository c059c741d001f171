/* SPDX-License-Identifier: ISC */

/*
 * A flight table in the test's own memory, a clock and a list of the dead;
 * for the tests of flights.
 */
#ifndef FLIGHT_FIXTURE_H
#define FLIGHT_FIXTURE_H

#include "flight.h"

#define FIXTURE_CAPACITY	64u
#define FIXTURE_NOTES		16u
#define FIXTURE_LEASE_MS	1000u
#define FIXTURE_FIRST_TOKEN	7000u

extern struct flight_table fixture_table;
extern struct boot_ms fixture_now;
extern uint64_t fixture_epoch;

/* An empty table at 10 s; nobody is dead. */
void	fixture_begin(void);

/* Holders up to 255. */
void	fixture_kill(uint64_t holder);

struct flight_scene fixture_scene(void);
struct flight_key fixture_key(uint64_t hash, uint64_t digest);

/* As a holder that may wait, of a worker. */
enum flight_answer fixture_ask(uint64_t hash, uint64_t holder,
    uint32_t worker, struct flight_ticket *ticket);

/* Leads, or the test fails. */
struct flight_ticket fixture_lead(uint64_t hash, uint64_t holder);

/* Waits, or the test fails. */
struct flight_ticket fixture_wait(uint64_t hash, uint64_t holder,
    uint32_t worker);

enum flight_answer fixture_collect(uint64_t hash, uint64_t holder,
    uint32_t worker, uint32_t waiters, struct flight_ticket *ticket,
    struct flight_ending *ending);

/* Check and end; the workers to tell, or UINT64_MAX if it is lost. */
uint64_t fixture_end(uint64_t hash, uint64_t holder, uint64_t token,
    enum flight_outcome outcome);

/* The workers told of by a sweep, and how many flights were over. */
uint64_t fixture_sweep(uint64_t dead_workers, unsigned *over);

#define EXPECT_FLIGHTS_SOUND() \
	cr_expect_eq(flight_verify(&fixture_table), 0)

#endif
