/* SPDX-License-Identifier: ISC */

/*
 * Deaths: of leaders, of workers with waiters, and under the lock.
 */
#include "flight.h"

#include "flight_fixture.h"
#include "prng.h"

#include <criterion/criterion.h>

#include <string.h>

Test(flight_sweep, flights_of_the_dead_and_the_late_are_offered_or_go)
{
	struct flight_ticket dead, late, ticket;
	unsigned over;

	fixture_begin();
	dead = fixture_lead(1, 9);
	(void)fixture_wait(1, 10, 3);
	(void)fixture_lead(2, 9);
	fixture_now.ms += 500;
	late = fixture_lead(3, 11);
	(void)fixture_wait(3, 10, 5);
	(void)fixture_lead(4, 12);
	cr_expect_eq(fixture_sweep(0, &over), 0, "all is well");
	fixture_kill(9);
	cr_expect_eq(fixture_sweep(0, &over), 1 << 3);
	cr_expect_eq(over, 1, "nobody waited for the second");
	cr_expect_eq(fixture_table.flights[dead.index].state,
	    FLIGHT_OFFERED);
	fixture_now.ms += FIXTURE_LEASE_MS - 1;
	(void)fixture_ask(4, 12, 6, &ticket);
	fixture_now.ms++;
	cr_expect_eq(fixture_sweep(0, &over), 1 << 3 | 1 << 5,
	    "the first offer has lapsed");
	cr_expect_eq(over, 1);
	cr_expect_eq(fixture_table.flights[late.index].state,
	    FLIGHT_OFFERED);
	cr_expect_eq(fixture_table.state->used, 2);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_sweep, waiters_of_dead_workers_do_not_count)
{
	struct flight_ticket led, ended;
	unsigned over;

	fixture_begin();
	led = fixture_lead(1, 9);
	(void)fixture_wait(1, 10, 3);
	(void)fixture_wait(1, 10, 4);
	ended = fixture_lead(2, 9);
	(void)fixture_wait(2, 10, 3);
	(void)fixture_end(2, 9, ended.token, FLIGHT_FILLED);
	cr_expect_eq(fixture_sweep(1 << 3, &over), 0);
	cr_expect_eq(over, 0);
	cr_expect_eq(fixture_table.state->used, 1, "the ended one is gone");
	EXPECT_FLIGHTS_SOUND();
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED), 1 << 4);
	led = fixture_lead(3, 9);
	(void)fixture_wait(3, 10, 3);
	(void)fixture_wait(3, 10, 4);
	(void)flight_hand_over(&fixture_table, led.index, 3, fixture_now);
	cr_expect_eq(fixture_sweep(1 << 3, &over), 1 << 4,
	    "the offer goes to the next at once");
	cr_expect_eq(over, 0);
	cr_expect_eq(fixture_table.flights[led.index].offered_worker, 4);
	cr_expect_eq(fixture_sweep(1 << 4, &over), 0);
	cr_expect_eq(over, 1);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_sweep, a_worker_whose_bit_went_with_its_former_life_gets_it_back)
{
	struct flight_ticket led, waiting, other;
	struct flight_ending ending;

	fixture_begin();
	led = fixture_lead(1, 9);
	waiting = fixture_wait(1, 10, 3);
	other = fixture_wait(1, 10, 4);
	(void)fixture_sweep(1 << 3, NULL);
	cr_expect_eq(fixture_collect(1, 10, 3, 2, &waiting, &ending),
	    FLIGHT_WAIT);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FAILED),
	    1 << 3 | 1 << 4);
	(void)fixture_collect(1, 10, 3, 2, &waiting, &ending);
	(void)fixture_collect(1, 10, 4, 1, &other, &ending);
	EXPECT_FLIGHTS_SOUND();
	/* Its flight ended, another of the key is under way: not its own. */
	fixture_now.ms += FLIGHT_BACKOFF_MS;
	led = fixture_lead(1, 9);
	cr_expect_eq(led.index, waiting.index);
	cr_expect_eq(fixture_collect(1, 10, 3, 2, &waiting, &ending),
	    FLIGHT_ENDED_NOW);
	cr_expect_eq(ending.outcome, FLIGHT_LOOK_AGAIN);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED), 0);
	waiting.index = 0;
	cr_expect_eq(fixture_collect(1, 10, 3, 1, &waiting, &ending),
	    FLIGHT_ENDED_NOW);
	waiting.index = UINT32_MAX;
	cr_expect_eq(fixture_collect(1, 10, 3, 1, &waiting, &ending),
	    FLIGHT_ENDED_NOW);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_sweep, tokens_never_come_back)
{
	struct flight_ticket led, next;

	fixture_begin();
	led = fixture_lead(1, 9);
	cr_assert_neq(fixture_end(1, 9, led.token, FLIGHT_FILLED),
	    UINT64_MAX);
	flight_rebuild(&fixture_table);
	next = fixture_lead(2, 9);
	cr_expect_gt(next.token, led.token);
	flight_forget(&fixture_table);
	cr_expect_eq(fixture_table.state->used, 0);
	EXPECT_FLIGHTS_SOUND();
	led = fixture_lead(1, 9);
	cr_expect_gt(led.token, next.token);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_sweep, a_rebuild_keeps_flights_and_ends_the_one_being_filled)
{
	struct flight_ticket led, waiting, filling;
	struct flight_ending ending;

	fixture_begin();
	led = fixture_lead(1, 9);
	(void)fixture_wait(1, 10, 3);
	filling = fixture_lead(2, 9);
	waiting = fixture_wait(2, 10, 3);
	fixture_table.flights[filling.index].filling = 1;
	flight_rebuild(&fixture_table);
	EXPECT_FLIGHTS_SOUND();
	cr_expect_eq(fixture_end(2, 9, filling.token, FLIGHT_FILLED),
	    UINT64_MAX);
	cr_expect_eq(fixture_collect(2, 10, 3, 1, &waiting, &ending),
	    FLIGHT_ENDED_NOW);
	cr_expect_eq(ending.outcome, FLIGHT_LOOK_AGAIN);
	cr_expect_eq(fixture_end(1, 9, led.token, FLIGHT_FILLED), 1 << 3);
	EXPECT_FLIGHTS_SOUND();
}

Test(flight_sweep, a_note_that_was_becoming_a_flight_gives_way)
{
	struct flight_ticket led, ticket;
	struct flight copy;

	fixture_begin();
	led = fixture_lead(1, 9);
	(void)fixture_end(1, 9, led.token, FLIGHT_FAILED);
	copy = fixture_table.flights[FIXTURE_CAPACITY + 1];
	cr_assert_eq(copy.state, FLIGHT_BACKOFF);
	fixture_now.ms += FLIGHT_BACKOFF_MS;
	led = fixture_lead(1, 9);
	fixture_table.flights[FIXTURE_CAPACITY + 1] = copy;
	flight_rebuild(&fixture_table);
	EXPECT_FLIGHTS_SOUND();
	cr_expect_eq(fixture_table.state->noted, 0);
	cr_expect_eq(fixture_ask(1, 10, 0, &ticket), FLIGHT_WAIT);
}

Test(flight_sweep, any_bytes_are_a_sound_table_after_a_rebuild)
{
	struct prng prng;

	prng_init(&prng, 3);
	for (unsigned round = 0; round < 300; round++) {
		uint8_t *bytes;
		struct flight_ticket ticket;

		fixture_begin();
		for (unsigned i = 0; i < 40; i++) {
			(void)fixture_ask(1 + prng_below(&prng, 20),
			    1 + prng_below(&prng, 9), prng_below(&prng, 64),
			    &ticket);
		}
		bytes = (uint8_t *)fixture_table.flights;
		for (unsigned i = 0; i < (round % 3 == 0 ? 20000u : 200u);
		    i++) {
			bytes[prng_below(&prng, 97 * 96)] =
			    (uint8_t)(round % 2 == 0 ? prng_next(&prng) :
			    prng_below(&prng, 8));
		}
		flight_rebuild(&fixture_table);
		EXPECT_FLIGHTS_SOUND();
		for (unsigned i = 0; i < 40; i++) {
			(void)fixture_ask(1 + prng_below(&prng, 20),
			    1 + prng_below(&prng, 9), prng_below(&prng, 64),
			    &ticket);
		}
		fixture_now.ms += 100 * FIXTURE_LEASE_MS;
		(void)fixture_sweep(0, NULL);
		EXPECT_FLIGHTS_SOUND();
	}
}

Test(flight_sweep, verify_sees_what_a_record_cannot_be)
{
	struct flight_ticket led;
	struct flight *flight;

	fixture_begin();
	led = fixture_lead(1, 9);
	(void)fixture_wait(1, 10, 3);
	flight = &fixture_table.flights[led.index];
#define SEEN(field, value) do {						\
	struct flight was_ = *flight;					\
									\
	flight->field = (value);					\
	cr_expect_neq(flight_verify(&fixture_table), 0, #field);	\
	*flight = was_;							\
	EXPECT_FLIGHTS_SOUND();						\
} while (0)
	SEEN(leader, 0);
	SEEN(waiters, 0);
	SEEN(waiting_workers, 0);
	SEEN(waiting_workers, 3);
	SEEN(token, UINT64_MAX);
	SEEN(state, FLIGHT_MARK);
	SEEN(state, FLIGHT_FREE);
	SEEN(state, FLIGHT_STATES);
	SEEN(filling, 1);
	SEEN(hash, 2);
	SEEN(next, led.index);
#undef SEEN
	fixture_table.state->used++;
	cr_expect_neq(flight_verify(&fixture_table), 0);
	fixture_table.state->used--;
	fixture_table.state->noted++;
	cr_expect_neq(flight_verify(&fixture_table), 0);
	fixture_table.state->noted--;
	fixture_table.state->free_list = 0;
	cr_expect_neq(flight_verify(&fixture_table), 0);
}

struct handed {
	uint64_t	known;		/* one token */
	uint64_t	told;
	unsigned	over;
	unsigned	calls;
};

static bool
knows(void *arg, uint64_t token)
{
	const struct handed *handed = arg;

	return token == handed->known;
}

static void
was_handed(void *arg, uint32_t index, uint64_t hash, uint64_t tell, bool over)
{
	struct handed *handed = arg;

	(void)index;
	(void)hash;
	handed->told |= tell;
	handed->over += over;
	handed->calls++;
}

Test(flight_sweep, what_a_leader_was_never_told_of_goes_to_others)
{
	struct flight_ticket known, lost, other;
	struct handed handed = { 0 };
	unsigned over;

	fixture_begin();
	known = fixture_lead(1, 9);
	lost = fixture_lead(2, 9);
	(void)fixture_wait(2, 10, 3);
	(void)fixture_lead(3, 9);
	other = fixture_lead(4, 11);
	handed.known = known.token;
	flight_keep_known(&fixture_table, 9, 3, knows, &handed, fixture_now,
	    was_handed, &handed);
	cr_expect_eq(handed.calls, 2);
	cr_expect_eq(handed.over, 1, "nobody waited for the third");
	cr_expect_eq(handed.told, 1 << 3);
	cr_expect_eq(fixture_table.flights[known.index].state,
	    FLIGHT_LEADING);
	cr_expect_eq(fixture_table.flights[other.index].state,
	    FLIGHT_LEADING);
	cr_expect_eq(fixture_table.flights[lost.index].state, FLIGHT_OFFERED);
	cr_expect_eq(fixture_end(2, 9, lost.token, FLIGHT_FILLED),
	    UINT64_MAX, "it ends nothing any more");
	cr_expect_eq(fixture_sweep(0, &over), 0);
	EXPECT_FLIGHTS_SOUND();
}
