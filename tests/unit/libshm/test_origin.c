/* SPDX-License-Identifier: ISC */

/*
 * Calls to an origin: permits, the queue, the breaker that has the last word,
 * and what deaths leave.
 */
#include "origin.h"

#include "origin_fixture.h"

#include <criterion/criterion.h>

#define ALICE		FIRST_OWNER
#define BOB		(FIRST_OWNER + 1)

Test(origin, a_call_takes_a_permit_and_gives_it_back)
{
	struct world world;
	struct origin_ticket ticket;

	world_start(&world);
	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &ticket),
	    ORIGIN_GRANTED);
	cr_assert_eq(world_look(&world).in_flight, 1);
	cr_assert_eq(world_release(&world, BOB, &ticket, BREAKER_SUCCESS),
	    LEASE_LOST, "another's");
	cr_assert_eq(world_release(&world, ALICE, &ticket, BREAKER_SUCCESS),
	    OK);
	cr_assert_eq(world_release(&world, ALICE, &ticket, BREAKER_FAILURE),
	    LEASE_LOST, "twice");
	cr_assert_eq(world_look(&world).successes, 1);
	cr_assert_eq(world_look(&world).failures, 0);
	world_expect_idle(&world);
}

Test(origin, who_waits_is_told_and_collects_its_permit)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits;
	struct origin_request request = world_request(BOB, 1);
	uint32_t place;
	bool upload;

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	request.worker = limiter_worker(7, 2);
	cr_assert_eq(world_ask(&world, &request, &waits), ORIGIN_WAIT);
	cr_assert_eq(world_collect(&world, BOB, &waits), ORIGIN_WAIT);
	cr_assert_eq(world.told, 0);
	cr_assert_eq(world_release(&world, FIRST_OWNER, &held[0],
	    BREAKER_SUCCESS), OK);
	cr_assert_eq(world.told, UINT64_C(1) << 7);
	cr_assert_eq(origin_next_granted(&world.origin, request.worker,
	    world.now, &place, &upload), OK);
	cr_assert_eq(place, waits.place);
	cr_assert_not(upload);
	cr_assert_eq(origin_next_granted(&world.origin, request.worker,
	    world.now, &place, &upload), MISS);
	cr_assert_eq(world_collect(&world, BOB, &waits), ORIGIN_GRANTED);
	cr_assert_eq(world_look(&world).in_flight, LIMITER_LIMIT);
	cr_assert_eq(world_release(&world, BOB, &waits, BREAKER_SUCCESS),
	    OK);
	cr_assert_eq(origin_verify(&world.origin, world.now), 0);
}

Test(origin, who_waited_in_vain_is_shed_with_a_time_to_come_back)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits;
	uint64_t least = UINT64_MAX, most = 0;

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	for (unsigned i = 0; i < 300; i++) {
		cr_assert_eq(world_acquire(&world, BOB, 1, &waits),
		    ORIGIN_WAIT);
		world.now.ms = waits.deadline_ms;
		cr_assert_eq(world_collect(&world, BOB, &waits),
		    ORIGIN_SHED);
		cr_assert_eq(waits.refusal, LIMITER_QUEUE_TIMEOUT);
		least = waits.retry_after_ms < least ? waits.retry_after_ms :
		    least;
		most = waits.retry_after_ms > most ? waits.retry_after_ms :
		    most;
		world.now.ms -= LIMITER_WAIT_MS;
	}
	cr_assert(least >= 5000 && least < 5100, "%lu", (unsigned long)least);
	cr_assert(most <= 8000 && most > 7900, "%lu", (unsigned long)most);
	cr_assert_eq(world_look(&world).waiting, 0);
}

Test(origin, a_background_call_is_shed_with_its_own_reason)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], ticket;
	struct origin_request request = world_request(BOB, 1);

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT * 3 / 4);
	request.class = LIMITER_BACKGROUND;
	cr_assert_eq(world_ask(&world, &request, &ticket), ORIGIN_SHED);
	cr_assert_eq(ticket.refusal, LIMITER_BACKGROUND_SHED);
	cr_assert_eq(world_acquire(&world, BOB, 1, &ticket), ORIGIN_GRANTED);
}

Test(origin, uploads_have_a_pool_of_their_own)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], ticket;
	struct origin_ticket uploads[LIMITER_LIMIT / 4];
	struct origin_request request = world_request(BOB, 0);
	uint32_t place;
	bool upload;

	world_start(&world);
	request.upload = true;
	for (unsigned i = 0; i < LIMITER_LIMIT / 4; i++) {
		cr_assert_eq(world_ask(&world, &request, &uploads[i]),
		    ORIGIN_GRANTED);
	}
	cr_assert_eq(world_ask(&world, &request, &ticket), ORIGIN_WAIT);
	world_fill(&world, held, LIMITER_LIMIT);
	cr_assert_eq(world_look(&world).upload_in_flight, LIMITER_LIMIT / 4);
	cr_assert_eq(world_look(&world).upload_waiting, 1);
	cr_assert_eq(world_release(&world, BOB, &uploads[0],
	    BREAKER_SUCCESS), OK);
	cr_assert_eq(origin_next_granted(&world.origin, request.worker,
	    world.now, &place, &upload), OK);
	cr_assert(upload);
	cr_assert_eq(place, ticket.place);
	cr_assert_eq(world_collect(&world, BOB, &ticket), ORIGIN_GRANTED);
}

Test(origin, a_cancelled_call_leaves_nothing)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits, granted;

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	cr_assert_eq(world_acquire(&world, BOB, 1, &waits), ORIGIN_WAIT);
	cr_assert(origin_cancel(&world.origin, &waits, BOB, 0, world.now));
	cr_assert_eq(world_acquire(&world, BOB, 2, &granted), ORIGIN_WAIT);
	for (unsigned i = 0; i < LIMITER_LIMIT; i++) {
		cr_assert(origin_cancel(&world.origin, &held[i],
		    FIRST_OWNER + i, 0, world.now));
	}
	/* It was granted, and is cancelled before it collects. */
	cr_assert_eq(world_look(&world).in_flight, 1);
	cr_assert(origin_cancel(&world.origin, &granted, BOB, 0, world.now));
	world_expect_idle(&world);
	cr_assert_eq(world_look(&world).neutral, 0, "no call, no outcome");
}

/* 32 processes, an origin that is down, a time-out of 2 s. */
Test(origin, a_dead_one_is_open_for_all_after_one_window_once)
{
	enum { CALLERS = 32 };
	struct world world;
	struct origin_ticket tickets[CALLERS];
	struct boot_ms begin;

	world_start(&world);
	begin = world.now;
	while (world.opened == 0 && world.now.ms - begin.ms < 60000) {
		for (unsigned i = 0; i < CALLERS; i++) {
			cr_assert_eq(world_acquire(&world, FIRST_OWNER + i,
			    PARTITION + i % 5, &tickets[i]),
			    ORIGIN_GRANTED);
		}
		world.now.ms += 2000;
		for (unsigned i = 0; i < CALLERS; i++) {
			cr_assert_eq(world_release(&world, FIRST_OWNER + i,
			    &tickets[i], BREAKER_FAILURE), OK);
		}
	}
	cr_assert_leq(world.now.ms - begin.ms, BREAKER_WINDOW_MS);
	cr_assert_eq(world.opened, 1);
	cr_assert_eq(world_look(&world).opened_count, 1);
	for (unsigned i = 0; i < CALLERS; i++) {
		cr_assert_eq(world_acquire(&world, FIRST_OWNER + i,
		    PARTITION, &tickets[i]), ORIGIN_OPEN);
		cr_assert_gt(tickets[i].retry_after_ms, 3900);
		cr_assert_lt(tickets[i].retry_after_ms, 6700);
	}
	cr_assert_eq(world_look(&world).refused_open, CALLERS);
	world_expect_idle(&world);
}

Test(origin, one_failing_partition_does_not_open_it)
{
	struct world world;

	world_start(&world);
	for (unsigned i = 0; i < 3000; i++) {
		cr_assert_eq(world_call(&world, ALICE, PARTITION,
		    BREAKER_FAILURE), ORIGIN_GRANTED);
		cr_assert_eq(world_call(&world, BOB, 900 + i % 7,
		    BREAKER_SUCCESS), ORIGIN_GRANTED);
		world.now.ms += 13;
	}
	cr_assert_eq(world_look(&world).opened_count, 0);
}

Test(origin, when_it_opens_everybody_who_waits_is_told_and_refused)
{
	enum { WAITING = 40 };
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits[WAITING];

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	for (unsigned i = 0; i < WAITING; i++) {
		cr_assert_eq(world_acquire(&world, BOB, i, &waits[i]),
		    ORIGIN_WAIT);
	}
	for (unsigned i = 0; i < LIMITER_LIMIT; i++) {
		cr_assert_eq(world_release(&world, FIRST_OWNER + i, &held[i],
		    BREAKER_FAILURE), OK);
	}
	cr_assert_eq(world.opened, 1);
	cr_assert_eq(world.told, UINT64_MAX);
	/* Those granted meanwhile and those who still wait alike. */
	for (unsigned i = 0; i < WAITING; i++) {
		cr_assert_eq(world_collect(&world, BOB, &waits[i]),
		    ORIGIN_OPEN);
		cr_assert_gt(waits[i].retry_after_ms, 0);
	}
	world_expect_idle(&world);
}

Test(origin, a_place_behind_an_open_breaker_is_given_back)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits;

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	cr_assert_eq(world_acquire(&world, BOB, 1, &waits), ORIGIN_WAIT);
	cr_assert_eq(origin_trip(&world.origin, 0, world.now), OK);
	cr_assert_eq(world.told, UINT64_MAX);
	cr_assert_eq(world_collect(&world, BOB, &waits), ORIGIN_OPEN);
	cr_assert_eq(world_look(&world).waiting, 0);
	cr_assert_eq(world_look(&world).in_flight, LIMITER_LIMIT);
}

Test(origin, half_open_it_lets_one_through_and_closes)
{
	struct world world;
	struct origin_ticket probe, other;
	struct origin_request background = world_request(BOB, 1);

	world_start(&world);
	world_fail_until_open(&world);
	world.now.ms = world_look(&world).open_until_ms;
	background.class = LIMITER_BACKGROUND;
	cr_assert_eq(world_ask(&world, &background, &other), ORIGIN_OPEN);
	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &probe),
	    ORIGIN_GRANTED);
	cr_assert(world.events & ORIGIN_HALF_OPENED);
	cr_assert_eq(world_look(&world).probe_owner, ALICE);
	cr_assert_eq(world_acquire(&world, BOB, 1, &other), ORIGIN_OPEN);
	cr_assert_eq(world_look(&world).in_flight, 1, "the probe's alone");
	cr_assert_eq(world_release(&world, ALICE, &probe, BREAKER_SUCCESS),
	    OK);
	cr_assert_eq(world.closed, 1);
	cr_assert_eq(world_call(&world, BOB, 1, BREAKER_SUCCESS),
	    ORIGIN_GRANTED);
	world_expect_idle(&world);
}

Test(origin, a_cancelled_probe_is_the_next_caller_s)
{
	struct world world;
	struct origin_ticket probe;

	world_start(&world);
	world_fail_until_open(&world);
	world.now.ms = world_look(&world).open_until_ms;
	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &probe),
	    ORIGIN_GRANTED);
	cr_assert(origin_cancel(&world.origin, &probe, ALICE, 0, world.now));
	cr_assert_eq(world_call(&world, BOB, PARTITION, BREAKER_SUCCESS),
	    ORIGIN_GRANTED);
	cr_assert_eq(world.closed, 1);
}

Test(origin, late_answers_from_before_it_opened_count_nothing)
{
	struct world world;
	struct origin_ticket late[30], probe;

	world_start(&world);
	world_fill(&world, late, 30);
	world_fail_until_open(&world);
	world.now.ms = world_look(&world).open_until_ms;
	cr_assert_eq(world_acquire(&world, 999, PARTITION, &probe),
	    ORIGIN_GRANTED);
	cr_assert_eq(world_release(&world, FIRST_OWNER, &late[0],
	    BREAKER_SUCCESS), OK);
	cr_assert_eq(world_look(&world).breaker, BREAKER_HALF_OPEN);
	cr_assert_eq(world_release(&world, 999, &probe, BREAKER_SUCCESS),
	    OK);
	for (unsigned i = 1; i < 30; i++) {
		cr_assert_eq(world_release(&world, FIRST_OWNER + i, &late[i],
		    BREAKER_FAILURE), OK);
	}
	cr_assert_eq(world_look(&world).breaker, BREAKER_CLOSED);
	cr_assert_eq(world_look(&world).window_failures, 0);
}
