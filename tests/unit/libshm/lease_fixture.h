/* SPDX-License-Identifier: ISC */

/*
 * Leases over a pool with a list of the dead and a record of who was told;
 * for the tests of leases.
 */
#ifndef LEASE_FIXTURE_H
#define LEASE_FIXTURE_H

#include "lease.h"
#include "test_pool.h"

#define LEASE_MS	1000u

extern struct pool lease_pool;
extern struct boot_ms lease_now;
extern const struct lease_door lease_door;

/* What lease_door.tell() was told since the last look. */
struct lease_told {
	uint64_t	workers;
	uint32_t	flight;		/* the last */
	uint32_t	shard;
	unsigned	calls;
};

/* Takes the pool; 10 s. */
void	lease_fixture_begin(struct pool pool);
void	lease_fixture_kill(uint64_t holder);
struct lease_told lease_fixture_told(void);

/* By a holder and a worker; seen: a version, 0 none. */
enum flight_answer ask_lease(const struct key *key, uint64_t holder,
    uint32_t worker, uint64_t seen, struct lease *lease);

/* Leads, or the test fails. */
struct lease lease_lead(const struct key *key, uint64_t holder,
    uint64_t seen);

/* Fill what was led with a text.  Its soft expiry is in 100 ms. */
enum result lease_fill(const struct key *key, uint64_t holder,
    const struct lease *lease, const char *text);

enum result lease_end_as(const struct key *key, uint64_t holder,
    const struct lease *lease, enum flight_outcome outcome);

enum flight_answer lease_look(uint64_t holder, uint32_t worker,
    uint32_t waiters, struct lease *lease, struct flight_ending *ending);

/* Set without a lease, soft expiry in 100 ms; its version. */
uint64_t lease_set(const struct key *key, const char *text);

bool	lease_refresh_bit(const struct key *key);

#endif
