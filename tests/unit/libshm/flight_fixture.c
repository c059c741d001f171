/* SPDX-License-Identifier: ISC */

/*
 * What the tests of flights share.
 */
#include "flight_fixture.h"

#include <criterion/criterion.h>

#include <string.h>

struct flight_table fixture_table;
struct boot_ms fixture_now;
uint64_t fixture_epoch;

static _Alignas(64) uint8_t memory[32768];
static bool dead[256];

void
fixture_begin(void)
{
	cr_assert_leq(flight_bytes(FIXTURE_CAPACITY), sizeof(memory));
	memset(dead, 0, sizeof(dead));
	fixture_now.ms = 10000;
	fixture_epoch = 5;
	flight_bind(&fixture_table, memory, FIXTURE_CAPACITY);
	flight_init(&fixture_table, FIXTURE_FIRST_TOKEN);
	cr_assert_eq(fixture_table.notes, FIXTURE_NOTES);
	EXPECT_FLIGHTS_SOUND();
}

void
fixture_kill(uint64_t holder)
{
	dead[holder & 255] = true;
}

static bool
is_dead(void *arg, uint64_t holder)
{
	const bool *of = arg;

	return of[holder & 255];
}

struct flight_scene
fixture_scene(void)
{
	return (struct flight_scene){
		.lease_ms = FIXTURE_LEASE_MS,
		.epoch = fixture_epoch,
		.now = fixture_now,
		.dead = is_dead,
		.arg = dead,
	};
}

struct flight_key
fixture_key(uint64_t hash, uint64_t digest)
{
	return (struct flight_key){ hash, { digest, ~digest } };
}

static struct flight_caller
caller_of(uint64_t holder, uint32_t worker)
{
	return (struct flight_caller){
		.holder = holder,
		.thread = (uint32_t)holder + 1000,
		.worker = worker,
		.may_wait = true,
	};
}

enum flight_answer
fixture_ask(uint64_t hash, uint64_t holder, uint32_t worker,
    struct flight_ticket *ticket)
{
	struct flight_key key = fixture_key(hash, hash);
	struct flight_caller caller = caller_of(holder, worker);
	struct flight_scene scene = fixture_scene();

	return flight_begin(&fixture_table, &key, &caller, &scene, ticket);
}

struct flight_ticket
fixture_lead(uint64_t hash, uint64_t holder)
{
	struct flight_ticket ticket;

	cr_assert_eq(fixture_ask(hash, holder, 0, &ticket), FLIGHT_LEAD);
	return ticket;
}

struct flight_ticket
fixture_wait(uint64_t hash, uint64_t holder, uint32_t worker)
{
	struct flight_ticket ticket;

	cr_assert_eq(fixture_ask(hash, holder, worker, &ticket),
	    FLIGHT_WAIT);
	return ticket;
}

enum flight_answer
fixture_collect(uint64_t hash, uint64_t holder, uint32_t worker,
    uint32_t waiters, struct flight_ticket *ticket,
    struct flight_ending *ending)
{
	struct flight_key key = fixture_key(hash, hash);
	struct flight_caller caller = caller_of(holder, worker);
	struct flight_scene scene = fixture_scene();

	return flight_collect(&fixture_table, &key, &caller, waiters, &scene,
	    ticket, ending);
}

uint64_t
fixture_end(uint64_t hash, uint64_t holder, uint64_t token,
    enum flight_outcome outcome)
{
	struct flight_key key = fixture_key(hash, hash);
	struct flight_ending ending = {
		.outcome = outcome,
		.code = -77,
		.back_off_ms = FLIGHT_BACKOFF_MS,
		.mark_ms = 500,
		.retry_after_ms = 33,
	};
	uint32_t index;

	if (flight_check(&fixture_table, &key, token, holder, fixture_now,
	    &index) != OK) {
		return UINT64_MAX;
	}
	return flight_end(&fixture_table, index, &ending, 0, fixture_now);
}

struct tally {
	uint64_t	told;
	unsigned	over;
};

static void
tally_swept(void *arg, uint32_t index, uint64_t hash, uint64_t tell,
    bool over)
{
	struct tally *tally = arg;

	cr_assert(index >= 1 && index <= FIXTURE_CAPACITY);
	(void)hash;
	tally->told |= tell;
	tally->over += over;
}

uint64_t
fixture_sweep(uint64_t dead_workers, unsigned *over)
{
	struct flight_scene scene = fixture_scene();
	struct tally tally = { 0, 0 };

	flight_sweep(&fixture_table, dead_workers, &scene, tally_swept,
	    &tally);
	if (over != NULL) {
		*over = tally.over;
	}
	return tally.told;
}
