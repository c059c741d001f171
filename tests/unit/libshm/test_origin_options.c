/* SPDX-License-Identifier: ISC */

/*
 * What can be switched on at an origin: the throttle for floods of misses,
 * the limit that adapts, breakers of partitions; and all of it at random.
 */
#include "origin.h"

#include "origin_fixture.h"

#include <criterion/criterion.h>

#define ALICE	FIRST_OWNER
#define BOB	(FIRST_OWNER + 1)

Test(origin_options, a_flood_of_misses_is_told_and_throttled_if_asked_for)
{
	struct world world;
	struct origin_request request = world_request(ALICE, PARTITION);
	struct origin_ticket ticket;

	world_init(&world);
	world.config.missrate.throttle = 1;
	world_create(&world);
	request.counts_as_miss = true;
	for (unsigned i = 0; i < MISSRATE_MIN_MISSES; i++) {
		cr_assert_not(world.events & ORIGIN_MISS_FLOOD);
		cr_assert_eq(world_ask(&world, &request, &ticket),
		    ORIGIN_GRANTED);
		cr_assert_eq(world_release(&world, ALICE, &ticket,
		    BREAKER_SUCCESS), OK);
	}
	cr_assert(world.events & ORIGIN_MISS_FLOOD);
	cr_assert_eq(world_look(&world).miss_floods, 1);
	cr_assert_eq(world_look(&world).flood_partition, PARTITION);
	/* One call at a time, and others as before. */
	cr_assert_eq(world_ask(&world, &request, &ticket), ORIGIN_GRANTED);
	cr_assert_eq(world_ask(&world, &request, &ticket), ORIGIN_WAIT);
	cr_assert_eq(world_acquire(&world, BOB, 1, &ticket), ORIGIN_GRANTED);
	cr_assert_eq(world_acquire(&world, BOB, 1, &ticket), ORIGIN_GRANTED);
	cr_assert_eq(origin_verify(&world.origin, world.now), 0);
}

Test(origin_options, who_the_breaker_refused_did_not_miss)
{
	struct world world;
	struct origin_request request = world_request(ALICE, PARTITION);
	struct origin_ticket ticket;

	world_start(&world);
	cr_assert_eq(origin_trip(&world.origin, 0, world.now), OK);
	request.counts_as_miss = true;
	for (unsigned i = 0; i < 2 * MISSRATE_MIN_MISSES; i++) {
		cr_assert_eq(world_ask(&world, &request, &ticket),
		    ORIGIN_OPEN);
	}
	cr_assert_eq(world_look(&world).miss_floods, 0);
}

/* Rounds of as many calls as are allowed, each of this latency. */
static void
run_full(struct world *world, unsigned rounds, uint64_t latency_ms)
{
	struct origin_ticket held[LIMITER_LIMIT];

	for (unsigned i = 0; i < rounds; i++) {
		unsigned count = world_look(world).limit_now;

		for (unsigned j = 0; j < count; j++) {
			cr_assert_eq(world_acquire(world, ALICE, j,
			    &held[j]), ORIGIN_GRANTED);
		}
		world->now.ms += latency_ms;
		for (unsigned j = 0; j < count; j++) {
			cr_assert_eq(world_release(world, ALICE, &held[j],
			    BREAKER_SUCCESS), OK);
		}
	}
}

Test(origin_options, an_adaptive_limit_falls_to_its_floor_and_comes_back)
{
	struct world world;
	uint32_t low;

	world_init(&world);
	world.config.adaptive.enabled = 1;
	world.config.adaptive.min_limit = 24;
	world_create(&world);
	run_full(&world, 500, 20);
	cr_assert_eq(world_look(&world).limit_now, LIMITER_LIMIT);
	run_full(&world, 60, 1000);
	low = world_look(&world).limit_now;
	cr_assert_lt(low, LIMITER_LIMIT);
	cr_assert_geq(low, 24);
	cr_assert_eq(world_look(&world).latency_us, 1000000);
	run_full(&world, 4000, 20);
	cr_assert_eq(world_look(&world).limit_now, LIMITER_LIMIT);
	cr_assert_eq(world_look(&world).config.limiter.limit, LIMITER_LIMIT);
}

Test(origin_options, a_limit_set_by_hand_is_where_the_adaptive_one_starts)
{
	struct world world;
	uint32_t old;

	world_init(&world);
	world.config.adaptive.enabled = 1;
	world_create(&world);
	run_full(&world, 500, 20);
	run_full(&world, 60, 1000);
	cr_assert_lt(world_look(&world).limit_now, LIMITER_LIMIT);
	cr_assert_eq(origin_set_limit(&world.origin, 50, world.now, &old),
	    OK);
	cr_assert_eq(world_look(&world).limit_now, 50);
}

Test(origin_options, a_partition_s_own_breaker_opens_for_it_alone)
{
	struct world world;
	struct origin_ticket probe, other;

	world_init(&world);
	world.config.breaker_by_partition = 1;
	world_create(&world);
	for (unsigned i = 0; i < 100; i++) {
		(void)world_call(&world, ALICE, PARTITION, BREAKER_FAILURE);
		cr_assert_eq(world_call(&world, BOB, 1 + i % 9,
		    BREAKER_SUCCESS), ORIGIN_GRANTED);
	}
	cr_assert(world.events & ORIGIN_PARTITION_OPENED);
	cr_assert_eq(world.opened, 0);
	cr_assert_eq(world_look(&world).partitions_open, 1);
	cr_assert_eq(world.told, UINT64_MAX);
	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &other),
	    ORIGIN_OPEN);
	world.now.ms += 2 * BREAKER_OPEN_MS;
	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &probe),
	    ORIGIN_GRANTED);
	cr_assert_eq(world_acquire(&world, BOB, PARTITION, &other),
	    ORIGIN_OPEN);
	cr_assert_eq(world_look(&world).in_flight, 1);
	cr_assert_eq(world_release(&world, ALICE, &probe, BREAKER_SUCCESS),
	    OK);
	cr_assert(world.events & ORIGIN_PARTITION_CLOSED);
	cr_assert_eq(world_call(&world, BOB, PARTITION, BREAKER_SUCCESS),
	    ORIGIN_GRANTED);
	cr_assert_eq(world_look(&world).partitions_open, 0);
}

/* Both are half open; the origin's probe is another call's. */
Test(origin_options, a_partition_s_probe_that_the_origin_refuses_is_free)
{
	struct world world;
	struct origin_ticket probe, other;

	world_init(&world);
	world.config.breaker_by_partition = 1;
	world_create(&world);
	for (unsigned i = 0; i < 100; i++) {
		(void)world_call(&world, ALICE, PARTITION, BREAKER_FAILURE);
		(void)world_call(&world, ALICE, 1, BREAKER_SUCCESS);
	}
	cr_assert_eq(world_look(&world).partitions_open, 1);
	cr_assert_eq(origin_trip(&world.origin, 0, world.now), OK);
	world.now.ms += 2 * BREAKER_OPEN_MS;
	cr_assert_eq(world_acquire(&world, ALICE, 1, &probe),
	    ORIGIN_GRANTED);
	cr_assert_eq(world_acquire(&world, BOB, PARTITION, &other),
	    ORIGIN_OPEN);
	cr_assert_eq(world_release(&world, ALICE, &probe, BREAKER_SUCCESS),
	    OK);
	cr_assert_eq(world_acquire(&world, BOB, PARTITION, &other),
	    ORIGIN_GRANTED, "the origin is closed, the probe was not used");
}

Test(origin_options, calls_before_a_partition_had_a_breaker_count_in_it)
{
	enum { CALLS = BREAKER_MIN_OUTCOMES };
	struct world world;
	struct origin_ticket held[CALLS];

	world_init(&world);
	world.config.breaker_by_partition = 1;
	world.config.limiter.partition_cap = 0;
	world_create(&world);
	cr_assert_eq(world_call(&world, BOB, 1, BREAKER_SUCCESS),
	    ORIGIN_GRANTED);
	for (unsigned i = 0; i < CALLS; i++) {
		cr_assert_eq(world_acquire(&world, ALICE, PARTITION,
		    &held[i]), ORIGIN_GRANTED);
	}
	for (unsigned i = 0; i < CALLS; i++) {
		cr_assert_eq(world_look(&world).partitions_open, 0);
		cr_assert_eq(world_release(&world, ALICE, &held[i],
		    BREAKER_FAILURE), OK);
	}
	cr_assert_eq(world_look(&world).partitions_open, 1);
}

Test(origin_options, with_breakers_of_partitions_a_dead_one_opens_as_a_whole)
{
	struct world world;
	unsigned calls;

	world_init(&world);
	world.config.breaker_by_partition = 1;
	world_create(&world);
	/* Each of them too seldom for one of its own. */
	for (calls = 0; calls < 1000 && world.opened == 0; calls++) {
		(void)world_call(&world, ALICE, 1 + calls, BREAKER_FAILURE);
	}
	cr_assert_eq(world.opened, 1);
	cr_assert_eq(calls, BREAKER_MIN_OUTCOMES);
}

Test(origin_options, more_failing_partitions_than_rows_keep_the_open_ones)
{
	struct world world;

	world_init(&world);
	world.config.breaker_by_partition = 1;
	world_create(&world);
	for (unsigned i = 0; i < BREAKER_MIN_OUTCOMES; i++) {
		(void)world_call(&world, ALICE, PARTITION, BREAKER_FAILURE);
		(void)world_call(&world, BOB, 1, BREAKER_SUCCESS);
		(void)world_call(&world, BOB, 1, BREAKER_SUCCESS);
	}
	cr_assert_eq(world_look(&world).partitions_open, 1);
	for (unsigned i = 0; i < 5 * ORIGIN_BREAKERS; i++) {
		(void)world_call(&world, ALICE, 1000 + i, BREAKER_FAILURE);
		(void)world_call(&world, BOB, 1, BREAKER_SUCCESS);
		(void)world_call(&world, BOB, 1, BREAKER_SUCCESS);
		world.now.ms++;
	}
	cr_assert_eq(world_look(&world).partitions_open, 1);
	cr_assert_eq(world_call(&world, ALICE, PARTITION, BREAKER_SUCCESS),
	    ORIGIN_OPEN);
	cr_assert_eq(origin_reset(&world.origin, world.now), OK);
	cr_assert_eq(world_call(&world, ALICE, PARTITION, BREAKER_SUCCESS),
	    ORIGIN_GRANTED);
}

enum { TICKETS = 24 };

struct held_ticket {
	struct origin_ticket ticket;
	uint64_t	owner;
	enum origin_answer answer;
};

static void
step(struct world *world, struct held_ticket *held)
{
	uint32_t what = prng_below(&world->random, 8);
	struct origin_request request = world_request(held->owner,
	    prng_below(&world->random, 5));

	if (held->answer == ORIGIN_WAIT) {
		held->answer = world_collect(world, held->owner,
		    &held->ticket);
	} else if (held->answer == ORIGIN_GRANTED && what < 6) {
		(void)world_release(world, held->owner, &held->ticket,
		    (enum breaker_outcome)prng_below(&world->random, 3));
		held->answer = ORIGIN_SHED;
	} else if (held->answer == ORIGIN_GRANTED) {
		cr_assert(origin_cancel(&world->origin, &held->ticket,
		    held->owner, 0, world->now));
		held->answer = ORIGIN_SHED;
	} else {
		request.upload = what == 0;
		request.class = what < 3 ? LIMITER_BACKGROUND :
		    LIMITER_FOREGROUND;
		request.marked = what == 4;
		held->answer = world_ask(world, &request, &held->ticket);
	}
}

Test(origin_options, at_random_the_limit_holds_and_nothing_leaks)
{
	for (unsigned seed = 0; seed < 30; seed++) {
		struct world world;
		struct held_ticket held[TICKETS] = { 0 };

		world_init(&world);
		world.config.limiter.limit = 6;
		world.config.limiter.places = 12;
		world.config.limiter.partition_cap = 3;
		world.config.breaker_by_partition = seed % 2;
		world.config.adaptive.enabled = seed % 3 == 0;
		world_create(&world);
		prng_init(&world.random, seed);
		for (unsigned i = 0; i < TICKETS; i++) {
			held[i].owner = FIRST_OWNER + i;
			held[i].answer = ORIGIN_SHED;
		}
		for (unsigned i = 0; i < 1000; i++) {
			world.now.ms += prng_below(&world.random, 300);
			step(&world, &held[prng_below(&world.random,
			    TICKETS)]);
			if (i % 50 == 0) {
				world_sweep(&world);
			}
			cr_assert_eq(origin_verify(&world.origin,
			    world.now), 0, "seed %u step %u", seed, i);
			cr_assert_leq(world.origin.limiter.state->in_flight,
			    6, "seed %u step %u", seed, i);
		}
		world.dead_below = FIRST_OWNER + TICKETS;
		world_sweep(&world);
		world_expect_idle(&world);
	}
}
