/* SPDX-License-Identifier: ISC */

/*
 * Random leases against a model that knows who may end what: never two
 * leaders, no fill that should not be, and in the end every waiter has been
 * told, by the door alone and without a clock.
 */
#include "lease.h"

#include "lease_fixture.h"
#include "prng.h"

#include <criterion/criterion.h>

#include <string.h>

#define KEYS		10u
#define WORKERS		4u
#define GROUPS		256u
#define STEPS		40000u

struct leader {
	struct lease	lease;
	uint64_t	holder;		/* 0: nobody */
	bool		touched;
};

/* The waiters of a worker behind one flight. */
struct group {
	struct lease	lease;
	uint32_t	key;
	uint32_t	worker;
	uint32_t	count;
	bool		told;
};

static struct prng prng;
static char texts[KEYS][TEST_KEY_BYTES];
static struct key keys[KEYS];
static struct leader leaders[KEYS];
static struct group groups[GROUPS];
static bool dead_holders[256];
static uint64_t answered, led_count;

static bool
is_dead(void *arg, uint64_t holder)
{
	(void)arg;
	return dead_holders[holder];
}

static void
mark_told(void *arg, const struct pool *pool, uint32_t shard,
    uint32_t flight, uint64_t workers)
{
	(void)arg;
	(void)pool;
	for (unsigned i = 0; i < GROUPS; i++) {
		struct group *group = &groups[i];

		if (group->count != 0 && group->lease.shard == shard &&
		    group->lease.ticket.index == flight &&
		    (workers >> group->worker & 1) != 0) {
			group->told = true;
		}
	}
}

static const struct lease_door door = { is_dead, mark_told, NULL };

/* May this leader still end its flight? */
static bool
leads(const struct leader *leader)
{
	return leader->holder != 0 &&
	    lease_now.ms < leader->lease.ticket.until_ms;
}

static void
now_leads(uint32_t key, uint64_t holder, const struct lease *lease)
{
	struct leader *leader = &leaders[key];

	cr_assert(!leads(leader) || dead_holders[leader->holder],
	    "key %u: %u leads beside %u", key, (unsigned)holder,
	    (unsigned)leader->holder);
	leader->lease = *lease;
	leader->holder = holder;
	leader->touched = false;
	led_count++;
}

static uint64_t
a_holder(void)
{
	uint64_t holder;

	do {
		holder = 1 + prng_below(&prng, 200);
	} while (dead_holders[holder]);
	return holder;
}

static struct lease_request
request_for(uint64_t holder, uint32_t worker)
{
	return (struct lease_request){
		.caller = { .holder = holder, .worker = worker,
		    .may_wait = true },
		.lease_ms = 50,
	};
}

static void
wait_in_group(uint32_t key, uint32_t worker, const struct lease *lease)
{
	struct group *free_one = NULL;

	for (unsigned i = 0; i < GROUPS; i++) {
		struct group *group = &groups[i];

		if (group->count == 0) {
			free_one = group;
		} else if (group->key == key && group->worker == worker &&
		    group->lease.ticket.index == lease->ticket.index) {
			group->lease = *lease;
			group->count++;
			return;
		}
	}
	cr_assert_not_null(free_one);
	*free_one = (struct group){ *lease, key, worker, 1, false };
}

static void
begin(uint32_t key)
{
	uint32_t worker = prng_below(&prng, WORKERS);
	uint64_t holder = a_holder();
	struct lease_request request = request_for(holder, worker);
	enum flight_answer answer;
	struct lease lease;

	cr_assert_eq(lease_begin(&lease_pool, &door, &keys[key], &request,
	    lease_now, &answer, &lease), OK);
	switch (answer) {
	case FLIGHT_LEAD:
		now_leads(key, holder, &lease);
		break;
	case FLIGHT_WAIT:
		wait_in_group(key, worker, &lease);
		break;
	case FLIGHT_FOUND:
		cr_assert_str_neq(test_pool_get(&lease_pool, &keys[key],
		    lease_now), "MISS");
		break;
	case FLIGHT_BACK_OFF:
	case FLIGHT_ALONE:
		cr_assert_gt(lease.ticket.until_ms, lease_now.ms);
		break;
	default:
		cr_assert_fail("answer %d", (int)answer);
	}
}

static void
collect(struct group *group)
{
	uint64_t holder = a_holder();
	struct lease_request request = request_for(holder, group->worker);
	struct flight_ending ending;
	enum flight_answer answer;

	group->told = false;
	cr_assert_eq(lease_collect(&lease_pool, &door, &request,
	    group->count, lease_now, &group->lease, &answer, &ending), OK);
	if (answer == FLIGHT_LEAD) {
		answered++;
		group->count--;
		now_leads(group->key, holder, &group->lease);
	} else if (answer == FLIGHT_ENDED_NOW) {
		answered += group->count;
		group->count = 0;
	} else {
		cr_assert_eq(answer, FLIGHT_WAIT);
	}
}

static void
end(uint32_t key)
{
	struct leader *leader = &leaders[key];
	bool may = leads(leader);
	struct lease_fill fill = {
		leader->lease.ticket.token, leader->holder, &door,
	};
	struct flight_ending ending = {
		.outcome = (enum flight_outcome)prng_below(&prng,
		    FLIGHT_OUTCOMES),
		.back_off_ms = 3,
		.mark_ms = 5,
	};
	struct entry_spec spec = test_pool_spec(&lease_pool, &keys[key],
	    "value", 5);
	enum result result;
	uint64_t version;

	if (leader->holder == 0) {
		return;
	}
	if (prng_one_in(&prng, 2)) {
		spec.fill = &fill;
		result = write_set(&lease_pool, &spec, lease_now, &version);
		cr_assert_eq(result, !may ? LEASE_LOST : leader->touched ?
		    CHANGED : OK, "key %u", key);
	} else if (prng_one_in(&prng, 4)) {
		result = lease_abandon(&lease_pool, &door, &leader->lease,
		    leader->holder, lease_now);
		cr_assert_eq(result, may ? OK : LEASE_LOST);
	} else {
		result = lease_end(&lease_pool, &door, &keys[key],
		    fill.token, fill.holder, &ending, prng_next(&prng),
		    lease_now);
		cr_assert_eq(result, may ? OK : LEASE_LOST);
	}
	leader->holder = 0;
}

static void
change(uint32_t key)
{
	if (prng_one_in(&prng, 4)) {
		(void)lease_set(&keys[key], "set");
	} else {
		(void)write_delete(&lease_pool, &keys[key], 0, lease_now);
	}
	/* By the hash, which two keys share. */
	leaders[key].touched = true;
	leaders[key ^ 1].touched = true;
}

static void
leave(struct group *group)
{
	uint32_t waiters;

	if (group->count == 0) {
		return;
	}
	waiters = 1 + prng_below(&prng, group->count);
	cr_assert_eq(lease_leave(&lease_pool, &lease_door, &group->lease,
	    group->worker, waiters, group->count - waiters), OK);
	group->count -= waiters;
	answered += waiters;
}

/* A process dies; after the sweep nobody believes it any more. */
static void
sweep(uint64_t holder)
{
	dead_holders[holder] = true;
	for (uint32_t s = 0; s < lease_pool.g.shard_count; s++) {
		cr_assert_eq(lease_sweep(&lease_pool, &door, s, 0,
		    lease_now), OK);
	}
	for (unsigned k = 0; k < KEYS; k++) {
		if (dead_holders[leaders[k].holder]) {
			leaders[k].holder = 0;
		}
	}
	dead_holders[holder] = false;
}

static void
step(void)
{
	uint32_t key = prng_below(&prng, KEYS);
	struct group *group = &groups[prng_below(&prng, GROUPS)];

	switch (prng_below(&prng, 12)) {
	case 0:
		change(key);
		break;
	case 1:
	case 2:
	case 3:
		end(key);
		break;
	case 4:
		if (prng_one_in(&prng, 8)) {
			sweep(1 + prng_below(&prng, 200));
		}
		break;
	case 5:
		lease_now.ms += prng_below(&prng, 6);
		break;
	case 6:
		leave(group);
		break;
	case 7:
	case 8:
		/* When told, when its time has come, or just so. */
		for (unsigned i = 0; i < GROUPS; i++) {
			if (groups[i].count != 0 && (groups[i].told ||
			    lease_now.ms >=
			    groups[i].lease.ticket.until_ms ||
			    prng_one_in(&prng, 50))) {
				collect(&groups[i]);
			}
		}
		break;
	default:
		begin(key);
		break;
	}
}

/* No clock: who is not told waits for ever. */
static void
drain(void)
{
	for (unsigned round = 0; round < 2000; round++) {
		uint32_t waiting = 0;

		for (unsigned k = 0; k < KEYS; k++) {
			end(k);
		}
		for (unsigned i = 0; i < GROUPS; i++) {
			if (groups[i].count != 0 && groups[i].told) {
				collect(&groups[i]);
			}
			waiting += groups[i].count;
		}
		if (waiting == 0) {
			return;
		}
	}
	cr_assert_fail("somebody was not told");
}

Test(lease_random, nobody_leads_beside_another_and_nobody_is_forgotten)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		prng_init(&prng, seed);
		lease_fixture_begin(test_pool_four_shards());
		memset(leaders, 0, sizeof(leaders));
		memset(groups, 0, sizeof(groups));
		for (unsigned k = 0; k < KEYS; k++) {
			keys[k] = test_pool_number_key(&lease_pool, texts[k],
			    k);
			/* Every other key has the hash of the one before. */
			if (k % 2 != 0) {
				keys[k].hash = keys[k - 1].hash;
			}
		}
		for (unsigned i = 0; i < STEPS; i++) {
			step();
			if (i % 500 == 0) {
				EXPECT_SOUND(&lease_pool);
			}
		}
		/* Leaders that were late are found by a sweep. */
		lease_now.ms += 1000;
		for (unsigned k = 0; k < KEYS; k++) {
			leaders[k].holder = 0;
		}
		sweep(1);
		drain();
		lease_now.ms += 1000000;
		sweep(1);
		for (uint32_t s = 0; s < lease_pool.g.shard_count; s++) {
			cr_expect_eq(pool_flights(&lease_pool,
			    s).state->used, 0);
			cr_expect_eq(pool_flights(&lease_pool,
			    s).state->noted, 0);
		}
		EXPECT_SOUND(&lease_pool);
		pool_destroy(&lease_pool);
	}
	cr_expect_gt(answered, 1000);
	cr_expect_gt(led_count, 1000);
}
