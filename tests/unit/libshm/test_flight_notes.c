/* SPDX-License-Identifier: ISC */

/*
 * What flights leave behind: back-offs and marks; and changes of the key.
 */
#include "flight.h"

#include "flight_fixture.h"

#include <criterion/criterion.h>

#include <string.h>

/* Lead and fail; the back-off that came of it, in ms. */
static uint64_t
fail_once(uint64_t hash, uint64_t jitter)
{
	struct flight_key key = fixture_key(hash, hash);
	struct flight_ending ending = {
		.outcome = FLIGHT_FAILED,
		.back_off_ms = FLIGHT_BACKOFF_MS,
	};
	struct flight_ticket ticket = fixture_lead(hash, 9);
	uint32_t index;

	cr_assert_eq(flight_check(&fixture_table, &key, ticket.token, 9,
	    fixture_now, &index), OK);
	(void)flight_end(&fixture_table, index, &ending, jitter,
	    fixture_now);
	cr_assert_eq(fixture_ask(hash, 10, 0, &ticket), FLIGHT_BACK_OFF);
	EXPECT_FLIGHTS_SOUND();
	return ticket.until_ms - fixture_now.ms;
}

Test(flight_notes, a_back_off_doubles_up_to_its_most)
{
	static const uint64_t wanted[] = {
		100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000,
	};

	fixture_begin();
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		uint64_t ms = fail_once(1, 0);

		cr_expect_eq(ms, wanted[i], "%u: %llu", i,
		    (unsigned long long)ms);
		fixture_now.ms += ms;
	}
	/* Once a second a sweep comes by and does not forget too early. */
	fixture_now.ms += FLIGHT_BACKOFF_MAX_MS - 1;
	(void)fixture_sweep(0, NULL);
	cr_expect_eq(fail_once(1, 0), 10000);
	fixture_now.ms += 2 * FLIGHT_BACKOFF_MAX_MS;
	(void)fixture_sweep(0, NULL);
	cr_expect_eq(fixture_table.state->noted, 0);
	cr_expect_eq(fail_once(1, 0), 100, "after a rest");
}

Test(flight_notes, jitter_takes_up_to_half_of_a_back_off)
{
	uint64_t least = UINT64_MAX, most = 0;

	fixture_begin();
	for (uint64_t i = 0; i < 102; i++) {
		uint64_t ms = fail_once(1000 + i, i);

		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	cr_expect_eq(least, 50);
	cr_expect_eq(most, 100);
}

Test(flight_notes, success_forgets_failures_and_a_refusal_does_not)
{
	struct flight_ticket ticket;
	uint64_t ms;

	fixture_begin();
	fixture_now.ms += fail_once(1, 0);
	ms = fail_once(1, 0);
	cr_expect_eq(ms, 200);
	fixture_now.ms += ms;
	ticket = fixture_lead(1, 9);
	(void)fixture_end(1, 9, ticket.token, FLIGHT_SHED);
	ticket = fixture_lead(1, 9);
	(void)fixture_end(1, 9, ticket.token, FLIGHT_OPEN);
	ms = fail_once(1, 0);
	cr_expect_eq(ms, 400, "nothing was tried: %u", (unsigned)ms);
	fixture_now.ms += ms;
	/* A leader that died has not failed; what was before stays. */
	ticket = fixture_lead(1, 9);
	fixture_kill(9);
	(void)fixture_sweep(0, NULL);
	cr_assert_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_LEAD);
	(void)fixture_end(1, 10, ticket.token, FLIGHT_FAILED);
	cr_assert_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_BACK_OFF);
	cr_expect_eq(ticket.until_ms - fixture_now.ms, 800);
	fixture_now.ms = ticket.until_ms;
	cr_assert_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_LEAD);
	(void)fixture_end(1, 10, ticket.token, FLIGHT_FILLED);
	cr_assert_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_LEAD);
	(void)fixture_end(1, 10, ticket.token, FLIGHT_FAILED);
	cr_assert_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_BACK_OFF);
	cr_expect_eq(ticket.until_ms - fixture_now.ms, 100);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_notes, waiters_are_told_how_it_failed_beside_the_note)
{
	struct flight_ticket led, waiting, other;
	struct flight_ending ending;

	fixture_begin();
	led = fixture_lead(1, 9);
	waiting = fixture_wait(1, 10, 3);
	other = fixture_wait(1, 11, 4);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FAILED), 3 << 3);
	cr_expect_eq(fixture_collect(1, 10, 3, 1, &waiting, &ending),
	    FLIGHT_ENDED_NOW);
	cr_expect_eq(ending.outcome, FLIGHT_FAILED);
	cr_expect_eq(ending.code, -77);
	cr_expect_eq(ending.retry_after_ms, 100, "the note's");
	/* A new flight of the key and the old one's record side by side. */
	fixture_now.ms += 100;
	led = fixture_lead(1, 12);
	cr_expect_neq(led.index, other.index);
	cr_expect_eq(fixture_collect(1, 11, 4, 1, &other, &ending),
	    FLIGHT_ENDED_NOW);
	cr_expect_eq(ending.outcome, FLIGHT_FAILED);
	cr_expect_eq(fixture_table.state->used, 1);
	EXPECT_FLIGHTS_SOUND();
	waiting = fixture_wait(1, 10, 3);
	cr_expect_eq(fixture_end(1, 12, led.token, FLIGHT_SHED), 1 << 3);
	cr_expect_eq(fixture_collect(1, 10, 3, 1, &waiting, &ending),
	    FLIGHT_ENDED_NOW);
	cr_expect_eq(ending.outcome, FLIGHT_SHED);
	cr_expect_eq(ending.retry_after_ms, 33, "the limiter's");
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_notes, a_marked_key_is_everyones_own_until_the_mark_is_over)
{
	struct flight_ticket led, ticket;
	struct flight_key key = fixture_key(1, 1);
	struct flight_ending ending = {
		.outcome = FLIGHT_UNCACHEABLE, .mark_ms = UINT32_MAX,
	};
	uint32_t index;

	fixture_begin();
	led = fixture_lead(1, 9);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_UNCACHEABLE), 0);
	cr_expect_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_ALONE);
	cr_expect_eq(ticket.until_ms, fixture_now.ms + 500);
	fixture_now.ms += 499;
	cr_expect_eq(fixture_ask(1, 11, 0, &ticket), FLIGHT_ALONE);
	fixture_now.ms++;
	led = fixture_lead(1, 9);
	cr_expect_eq(fixture_table.state->noted, 0);
	cr_assert_eq(flight_check(&fixture_table, &key, led.token, 9,
	    fixture_now, &index), OK);
	(void)flight_end(&fixture_table, index, &ending, 0, fixture_now);
	cr_expect_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_ALONE);
	cr_expect_eq(ticket.until_ms, fixture_now.ms + FLIGHT_MARK_MAX_MS);
	fixture_now.ms += FLIGHT_MARK_MAX_MS - 1;
	(void)fixture_sweep(0, NULL);
	cr_expect_eq(fixture_table.state->noted, 1);
	fixture_now.ms++;
	(void)fixture_sweep(0, NULL);
	cr_expect_eq(fixture_table.state->noted, 0, "nobody had to ask");
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_notes, of_too_many_notes_the_oldest_goes_and_no_flight)
{
	static const enum flight_outcome outcomes[] = {
		FLIGHT_UNCACHEABLE, FLIGHT_FAILED,
	};
	struct flight_ticket ticket;

	fixture_begin();
	for (unsigned kind = 0; kind < 2; kind++) {
		uint64_t from = 1000 + 1000 * kind;

		for (uint64_t i = 0; i < 1000; i++) {
			ticket = fixture_lead(from + i, 9);
			cr_assert_eq(fixture_end(from + i, 9, ticket.token,
			    outcomes[kind]), 0);
			cr_assert_leq(fixture_table.state->noted,
			    FIXTURE_NOTES * (kind + 1));
		}
		for (uint64_t i = 0; i < 1000; i++) {
			enum flight_answer answer = fixture_ask(from + i, 9,
			    0, &ticket);

			cr_expect_eq(answer == FLIGHT_LEAD,
			    i < 1000 - FIXTURE_NOTES, "%u", (unsigned)i);
			if (answer == FLIGHT_LEAD) {
				(void)fixture_end(from + i, 9, ticket.token,
				    FLIGHT_FILLED);
			}
		}
		EXPECT_FLIGHTS_SOUND();
	}
	cr_expect_eq(fixture_table.state->noted, 2 * FIXTURE_NOTES);
	for (uint64_t i = 0; i < FIXTURE_CAPACITY; i++) {
		(void)fixture_lead(5000 + i, 9);
	}
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_notes, waiters_of_a_touched_flight_look_again_however_it_ends)
{
	struct flight_ending ending;

	fixture_begin();
	cr_expect_eq(flight_touch(&fixture_table, 1), 0);
	for (unsigned outcome = 0; outcome < FLIGHT_OUTCOMES; outcome++) {
		uint64_t hash = 1 + outcome;
		struct flight_ticket led = fixture_lead(hash, 9);
		struct flight_ticket waiting = fixture_wait(hash, 10, 3);

		cr_expect_eq(flight_touch(&fixture_table, hash), 1);
		cr_expect_eq(flight_touch(&fixture_table, hash), 0, "twice");
		cr_expect_eq(fixture_end(hash, 9, led.token,
		    (enum flight_outcome)outcome), 1 << 3);
		cr_expect_eq(flight_touch(&fixture_table, hash), 0, "over");
		cr_expect_eq(fixture_collect(hash, 10, 3, 1, &waiting,
		    &ending), FLIGHT_ENDED_NOW);
		cr_expect_eq(ending.outcome, FLIGHT_LOOK_AGAIN);
	}
	cr_expect_eq(fixture_table.state->used, 0);
	cr_expect_eq(fixture_table.state->noted, 0,
	    "a change after the end takes the notes away");
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_notes, a_touched_flight_without_its_leader_is_over)
{
	struct flight_ticket led, waiting;
	struct flight_ending ending;
	unsigned over;

	fixture_begin();
	led = fixture_lead(1, 9);
	waiting = fixture_wait(1, 10, 3);
	(void)flight_touch(&fixture_table, 1);
	fixture_kill(9);
	cr_expect_eq(fixture_sweep(0, &over), 1 << 3);
	cr_expect_eq(over, 1);
	cr_expect_eq(fixture_collect(1, 10, 3, 1, &waiting, &ending),
	    FLIGHT_ENDED_NOW);
	cr_expect_eq(ending.outcome, FLIGHT_LOOK_AGAIN);
	/* Who takes it over before that computes the newer state. */
	led = fixture_lead(2, 9 + 256);
	cr_expect_eq(fixture_table.flights[led.index].state, FLIGHT_LEADING);
	(void)flight_touch(&fixture_table, 2);
	cr_expect_eq(fixture_ask(2, 10, 0, &led), FLIGHT_LEAD);
	cr_expect_eq(fixture_table.flights[led.index].touched, 0);
	EXPECT_FLIGHTS_SOUND();
}
