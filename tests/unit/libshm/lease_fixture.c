/* SPDX-License-Identifier: ISC */

/*
 * What the tests of leases share.
 */
#include "lease_fixture.h"

#include <criterion/criterion.h>

#include <string.h>

#define SOFT_MS	100u

struct pool lease_pool;
struct boot_ms lease_now;

static bool dead[256];
static struct lease_told told;

static bool
is_dead(void *arg, uint64_t holder)
{
	(void)arg;
	return dead[holder & 255];
}

static void
note(void *arg, const struct pool *pool, uint32_t shard, uint32_t flight,
    uint64_t workers)
{
	struct lease_told *to = arg;

	(void)pool;
	cr_assert_neq(workers, 0);
	to->workers |= workers;
	to->flight = flight;
	to->shard = shard;
	to->calls++;
}

const struct lease_door lease_door = { is_dead, note, &told };

void
lease_fixture_begin(struct pool pool)
{
	memset(dead, 0, sizeof(dead));
	memset(&told, 0, sizeof(told));
	lease_pool = pool;
	lease_now.ms = 10000;
}

void
lease_fixture_kill(uint64_t holder)
{
	dead[holder & 255] = true;
}

struct lease_told
lease_fixture_told(void)
{
	struct lease_told was = told;

	memset(&told, 0, sizeof(told));
	return was;
}

static struct lease_request
request_of(uint64_t holder, uint32_t worker, uint64_t seen)
{
	return (struct lease_request){
		.caller = { .holder = holder, .worker = worker,
		    .may_wait = true },
		.lease_ms = LEASE_MS,
		.seen_version = seen,
	};
}

enum flight_answer
ask_lease(const struct key *key, uint64_t holder, uint32_t worker,
    uint64_t seen, struct lease *lease)
{
	struct lease_request request = request_of(holder, worker, seen);
	enum flight_answer answer;

	cr_assert_eq(lease_begin(&lease_pool, &lease_door, key, &request,
	    lease_now, &answer, lease), OK);
	return answer;
}

struct lease
lease_lead(const struct key *key, uint64_t holder, uint64_t seen)
{
	struct lease lease;

	cr_assert_eq(ask_lease(key, holder, 0, seen, &lease), FLIGHT_LEAD);
	return lease;
}

enum result
lease_fill(const struct key *key, uint64_t holder, const struct lease *lease,
    const char *text)
{
	struct lease_fill fill = {
		lease->ticket.token, holder, &lease_door,
	};
	struct entry_spec spec = test_pool_spec(&lease_pool, key, text,
	    strlen(text));
	uint64_t version;

	spec.soft_ms = lease_now.ms + SOFT_MS;
	spec.cost_ms = 321;
	spec.fill = &fill;
	return write_set(&lease_pool, &spec, lease_now, &version);
}

enum result
lease_end_as(const struct key *key, uint64_t holder,
    const struct lease *lease, enum flight_outcome outcome)
{
	struct flight_ending ending = {
		.outcome = outcome,
		.code = -9,
		.back_off_ms = FLIGHT_BACKOFF_MS,
		.mark_ms = 300,
	};

	return lease_end(&lease_pool, &lease_door, key, lease->ticket.token,
	    holder, &ending, 0, lease_now);
}

enum flight_answer
lease_look(uint64_t holder, uint32_t worker, uint32_t waiters,
    struct lease *lease, struct flight_ending *ending)
{
	struct lease_request request = request_of(holder, worker, 0);
	enum flight_answer answer;

	cr_assert_eq(lease_collect(&lease_pool, &lease_door, &request,
	    waiters, lease_now, lease, &answer, ending), OK);
	return answer;
}

uint64_t
lease_set(const struct key *key, const char *text)
{
	struct entry_spec spec = test_pool_spec(&lease_pool, key, text,
	    strlen(text));
	uint64_t version;

	spec.soft_ms = lease_now.ms + SOFT_MS;
	cr_assert_eq(write_set(&lease_pool, &spec, lease_now, &version), OK);
	return version;
}

bool
lease_refresh_bit(const struct key *key)
{
	return (atomic_load(test_pool_slot(&lease_pool, key)) &
	    SLOT_REFRESH) != 0;
}
