/* SPDX-License-Identifier: ISC */

#include "flight.h"

#include "flight_fixture.h"

#include <criterion/criterion.h>

#include <string.h>

#define WORKERS_OF_50	(1ull << 3 | 1ull << 7 | 1ull << 63)

static const uint32_t worker_of[3] = { 3, 7, 63 };
static const uint32_t waiters_of[3] = { 17, 17, 16 };

static struct flight_ticket
fifty_waiters(uint64_t hash)
{
	struct flight_ticket ticket;

	for (unsigned i = 0; i < 50; i++) {
		ticket = fixture_wait(hash, 100 + i, worker_of[i % 3]);
	}
	return ticket;
}

Test(flight, the_first_leads_and_fifty_of_three_workers_wait_for_it)
{
	struct flight_ticket led, waiting, mine;
	struct flight_ending ending;

	fixture_begin();
	led = fixture_lead(1, 9);
	cr_expect_gt(led.token, FIXTURE_FIRST_TOKEN);
	cr_expect_eq(led.epoch, 5);
	cr_expect_not(led.took_over);
	waiting = fifty_waiters(1);
	cr_expect_eq(waiting.until_ms, fixture_now.ms + FIXTURE_LEASE_MS);
	for (unsigned i = 0; i < 3; i++) {
		mine = waiting;
		cr_expect_eq(fixture_collect(1, 100, worker_of[i],
		    waiters_of[i], &mine, &ending), FLIGHT_WAIT);
	}
	cr_expect_eq(fixture_table.flights[led.index].waiters, 50);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED),
	    WORKERS_OF_50);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_FLIGHTS_SOUND();
		cr_expect_eq(fixture_table.state->used, 1);
		mine = waiting;
		cr_expect_eq(fixture_collect(1, 100, worker_of[i],
		    waiters_of[i], &mine, &ending), FLIGHT_ENDED_NOW);
		cr_expect_eq(ending.outcome, FLIGHT_FILLED);
	}
	cr_expect_eq(fixture_table.state->used, 0);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, two_keys_of_one_hash_fly_apart)
{
	struct flight_key a = fixture_key(5, 1), b = fixture_key(5, 2);
	struct flight_caller caller = { .holder = 1, .may_wait = true };
	struct flight_scene scene;
	struct flight_ticket led[2], waiting;
	struct flight_ending ending;
	uint32_t index;

	fixture_begin();
	scene = fixture_scene();
	cr_expect_eq(flight_begin(&fixture_table, &a, &caller, &scene,
	    &led[0]), FLIGHT_LEAD);
	cr_expect_eq(flight_begin(&fixture_table, &b, &caller, &scene,
	    &led[1]), FLIGHT_LEAD);
	cr_expect_eq(flight_begin(&fixture_table, &b, &caller, &scene,
	    &waiting), FLIGHT_WAIT);
	cr_expect_eq(waiting.index, led[1].index);
	cr_expect_eq(flight_check(&fixture_table, &a, led[1].token, 1,
	    fixture_now, &index), LEASE_LOST);
	cr_expect_eq(flight_check(&fixture_table, &a, led[0].token, 1,
	    fixture_now, &index), OK);
	/* One who waits for b learns nothing of a. */
	waiting.index = led[0].index;
	cr_expect_eq(flight_collect(&fixture_table, &b, &caller, 1, &scene,
	    &waiting, &ending), FLIGHT_ENDED_NOW);
	cr_expect_eq(ending.outcome, FLIGHT_LOOK_AGAIN);
	cr_expect_eq(flight_touch(&fixture_table, 5), 2, "by hash alone");
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, of_a_dead_leader_one_waiter_takes_over_and_the_others_wait_on)
{
	struct flight_ticket led, waiting, mine;
	struct flight_ending ending;
	uint64_t token;

	fixture_begin();
	led = fixture_lead(1, 9);
	waiting = fifty_waiters(1);
	fixture_kill(9);
	fixture_epoch = 6;
	mine = waiting;
	cr_expect_eq(fixture_collect(1, 100, 7, 17, &mine, &ending),
	    FLIGHT_LEAD);
	cr_expect(mine.took_over);
	cr_expect_gt(mine.token, led.token);
	cr_expect_eq(mine.epoch, 6, "what was purged meanwhile is over");
	token = mine.token;
	cr_expect_eq(fixture_collect(1, 101, 7, 16, &mine, &ending),
	    FLIGHT_WAIT);
	mine = waiting;
	cr_expect_eq(fixture_collect(1, 102, 3, 17, &mine, &ending),
	    FLIGHT_WAIT);
	cr_expect_eq(mine.token, token, "it waits for the new one");
	cr_expect_eq(fixture_table.flights[led.index].waiters, 49);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED),
	    UINT64_MAX, "the dead one's late fill is refused");
	cr_expect_eq(fixture_end(1, 100, token, FLIGHT_FILLED),
	    WORKERS_OF_50);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, a_leader_past_its_time_is_followed_and_ends_nothing)
{
	struct flight_ticket led, next;

	fixture_begin();
	led = fixture_lead(1, 9);
	fixture_now.ms += FIXTURE_LEASE_MS - 1;
	(void)fixture_wait(1, 10, 2);
	fixture_now.ms++;
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED),
	    UINT64_MAX, "nobody took over yet, but it is late");
	cr_expect_eq(fixture_ask(1, 11, 0, &next), FLIGHT_LEAD);
	cr_expect(next.took_over);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED),
	    UINT64_MAX);
	cr_expect_eq(fixture_end(1, 11, led.token, FLIGHT_FILLED),
	    UINT64_MAX, "another's token");
	cr_expect_eq(fixture_end(1, 9, next.token, FLIGHT_FILLED),
	    UINT64_MAX, "another's flight");
	cr_expect_eq(fixture_end(1, 11, next.token, FLIGHT_FILLED), 4);
	cr_expect_eq(fixture_end(1, 11, next.token, FLIGHT_FILLED),
	    UINT64_MAX, "twice");
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, an_offer_is_its_workers_until_it_lapses)
{
	struct flight_ticket led, waiting, mine, newcomer;
	struct flight_ending ending;

	fixture_begin();
	led = fixture_lead(1, 9);
	waiting = fixture_wait(1, 10, 3);
	(void)fixture_wait(1, 11, 7);
	cr_expect_eq(flight_hand_over(&fixture_table, led.index, 7,
	    fixture_now), 1ull << 3 | 1ull << 7, "all are told");
	EXPECT_FLIGHTS_SOUND();
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED),
	    UINT64_MAX);
	mine = waiting;
	cr_expect_eq(fixture_collect(1, 10, 3, 1, &mine, &ending),
	    FLIGHT_WAIT);
	cr_expect_eq(mine.until_ms, fixture_now.ms + FLIGHT_OFFER_MS);
	cr_expect_eq(fixture_ask(1, 12, 7, &newcomer), FLIGHT_WAIT,
	    "waiters come first");
	cr_expect_eq(newcomer.until_ms, mine.until_ms);
	fixture_now.ms += FLIGHT_OFFER_MS;
	cr_expect_eq(fixture_collect(1, 10, 3, 1, &mine, &ending),
	    FLIGHT_LEAD);
	cr_expect_eq(fixture_collect(1, 11, 7, 2, &newcomer, &ending),
	    FLIGHT_WAIT, "too late");
	cr_expect_eq(fixture_end(1, 10, mine.token, FLIGHT_FILLED), 1 << 7);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, the_worker_with_the_offer_takes_it_and_a_newcomer_a_lapsed_one)
{
	struct flight_ticket led, waiting, newcomer;
	struct flight_ending ending;

	fixture_begin();
	for (unsigned lapsed = 0; lapsed <= 1; lapsed++) {
		led = fixture_lead(1, 9);
		waiting = fixture_wait(1, 10, 3);
		cr_expect_eq(flight_hand_over(&fixture_table, led.index, 64,
		    fixture_now), 1 << 3);
		if (lapsed == 0) {
			cr_expect_eq(fixture_collect(1, 10, 3, 1, &waiting,
			    &ending), FLIGHT_LEAD);
			cr_expect_eq(fixture_end(1, 10, waiting.token,
			    FLIGHT_FILLED), 0);
		} else {
			fixture_now.ms += FLIGHT_OFFER_MS;
			cr_expect_eq(fixture_ask(1, 12, 0, &newcomer),
			    FLIGHT_LEAD);
			cr_expect_eq(fixture_end(1, 12, newcomer.token,
			    FLIGHT_FILLED), 1 << 3);
		}
		EXPECT_FLIGHTS_SOUND();
	}
}

Test(flight, an_offer_goes_on_when_its_worker_leaves_and_away_with_the_last)
{
	struct flight_key key = fixture_key(1, 1);
	struct flight_ticket led;
	uint64_t tell;

	fixture_begin();
	led = fixture_lead(1, 9);
	(void)fixture_wait(1, 10, 3);
	(void)fixture_wait(1, 11, 3);
	(void)fixture_wait(1, 12, 7);
	(void)flight_hand_over(&fixture_table, led.index, 3, fixture_now);
	cr_expect_not(flight_leave(&fixture_table, &key, led.index, 3, 1, 1,
	    &tell));
	cr_expect_eq(tell, 0);
	cr_expect_eq(fixture_table.flights[led.index].offered_worker, 3);
	cr_expect_not(flight_leave(&fixture_table, &key, led.index, 3, 1, 0,
	    &tell));
	cr_expect_eq(tell, 1ull << 7, "it looked when another had it");
	cr_expect_eq(fixture_table.flights[led.index].offered_worker, 7);
	cr_expect_not(flight_leave(&fixture_table, &key, led.index, 3, 1, 0,
	    &tell), "it has none");
	cr_expect_eq(tell, 0);
	cr_expect_eq(fixture_table.flights[led.index].waiters, 1);
	EXPECT_FLIGHTS_SOUND();
	cr_expect(flight_leave(&fixture_table, &key, led.index, 7, 1, 0,
	    &tell));
	cr_expect_eq(tell, 0);
	cr_expect_eq(fixture_table.state->used, 0);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, who_leaves_an_ended_flight_frees_it)
{
	struct flight_key key = fixture_key(1, 1);
	struct flight_ticket led;
	uint64_t tell;

	fixture_begin();
	led = fixture_lead(1, 9);
	(void)fixture_wait(1, 10, 3);
	(void)fixture_end(1, 9, led.token, FLIGHT_FILLED);
	cr_expect_not(flight_leave(&fixture_table, &key, led.index, 3, 1, 0,
	    &tell));
	cr_expect_eq(fixture_table.state->used, 0);
	led = fixture_lead(1, 9);
	(void)fixture_wait(1, 10, 3);
	cr_expect_not(flight_leave(&fixture_table, &key, led.index, 3, 1, 0,
	    &tell));
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED), 0,
	    "nobody waits any more");
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, only_the_same_thread_that_would_wait_is_a_deadlock)
{
	struct flight_key key = fixture_key(1, 1);
	struct flight_caller caller = { 9, 1009, 0, true };
	struct flight_scene scene;
	struct flight_ticket ticket;

	fixture_begin();
	(void)fixture_lead(1, 9);
	scene = fixture_scene();
	cr_expect_eq(flight_begin(&fixture_table, &key, &caller, &scene,
	    &ticket), FLIGHT_DEADLOCK);
	caller.may_wait = false;
	cr_expect_eq(flight_begin(&fixture_table, &key, &caller, &scene,
	    &ticket), FLIGHT_UNDER_WAY);
	caller.may_wait = true;
	caller.thread = 1010;
	cr_expect_eq(flight_begin(&fixture_table, &key, &caller, &scene,
	    &ticket), FLIGHT_WAIT);
	caller.thread = 0;
	cr_expect_eq(flight_begin(&fixture_table, &key, &caller, &scene,
	    &ticket), FLIGHT_WAIT, "an event loop");
	caller = (struct flight_caller){ 10, 1009, 0, true };
	cr_expect_eq(flight_begin(&fixture_table, &key, &caller, &scene,
	    &ticket), FLIGHT_WAIT, "another process");
	cr_expect_eq(fixture_table.flights[ticket.index].waiters, 3);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, a_flight_has_so_many_waiters_and_no_more)
{
	struct flight_ticket led, ticket;

	fixture_begin();
	led = fixture_lead(1, 9);
	for (unsigned i = 0; i < FLIGHT_WAITERS_MAX; i++) {
		(void)fixture_wait(1, 10, i % 63);
	}
	cr_expect_eq(fixture_ask(1, 10, 1, &ticket), FLIGHT_WAITERS_FULL);
	cr_expect_eq(fixture_table.flights[led.index].waiters,
	    FLIGHT_WAITERS_MAX);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED),
	    (1ull << 63) - 1);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight, a_full_table_is_told_apart_and_has_room_again)
{
	struct flight_ticket tickets[FIXTURE_CAPACITY], ticket;

	fixture_begin();
	for (unsigned i = 0; i < FIXTURE_CAPACITY; i++) {
		tickets[i] = fixture_lead(100 + i, 9);
	}
	cr_expect_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_TABLE_FULL);
	cr_expect_eq(fixture_ask(100, 10, 0, &ticket), FLIGHT_WAIT);
	/* A note needs no flight's place. */
	cr_expect_eq(fixture_end(101, 9, tickets[1].token, FLIGHT_FAILED),
	    0);
	cr_expect_eq(fixture_ask(101, 10, 0, &ticket), FLIGHT_BACK_OFF);
	cr_expect_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_LEAD);
	fixture_now.ms = ticket.until_ms - 1;
	cr_expect_eq(fixture_ask(101, 10, 0, &ticket), FLIGHT_TABLE_FULL,
	    "the note is over, and stays until there is room");
	EXPECT_FLIGHTS_SOUND();
}
