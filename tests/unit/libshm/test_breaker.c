/* SPDX-License-Identifier: ISC */

/*
 * The breaker's states: what moves it, and what must not.
 */
#include "breaker.h"

#include "breaker_fixture.h"
#include "prng.h"

#include <criterion/criterion.h>

Test(breaker, all_zero_is_closed_and_admits)
{
	struct bench b = bench_start();
	struct breaker_admission admission;

	cr_assert_eq(breaker_state_now(&b.breaker, &b.config, b.now),
	    BREAKER_CLOSED);
	cr_assert_eq(bench_ask(&b, ALICE, &admission), OK);
	cr_assert_not(admission.probe);
}

Test(breaker, open_it_refuses_until_its_time_is_over)
{
	struct bench b = bench_start();
	struct breaker_admission admission;

	bench_fail_until_open(&b);
	cr_assert_eq(bench_ask(&b, BOB, &admission), BUSY);
	cr_assert_eq(admission.retry_after_ms, b.config.open_ms);
	b.now.ms += b.config.open_ms - 1;
	cr_assert_eq(bench_ask(&b, BOB, &admission), BUSY);
	cr_assert_eq(admission.retry_after_ms, 1);
	b.now.ms++;
	cr_assert_eq(bench_ask(&b, BOB, &admission), OK);
	cr_assert(admission.probe);
	cr_assert_eq(b.breaker.state, BREAKER_HALF_OPEN);
}

Test(breaker, the_open_time_doubles_to_its_longest_and_starts_anew)
{
	struct bench b = bench_start();
	struct breaker_admission probe;
	static const uint32_t want_s[] = { 5, 10, 20, 40, 60, 60 };

	bench_fail_until_open(&b);
	for (unsigned i = 0; i < sizeof(want_s) / sizeof(want_s[0]); i++) {
		uint64_t ms = b.breaker.open_until_ms - b.now.ms;

		cr_assert_geq(ms, want_s[i] * 800, "time %u", i);
		cr_assert_leq(ms, want_s[i] * 1200, "time %u", i);
		bench_await_half_open(&b);
		cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
		cr_assert(bench_say(&b, &probe, BREAKER_FAILURE, 1));
		cr_assert_eq(b.breaker.state, BREAKER_OPEN);
	}
	bench_await_half_open(&b);
	cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
	cr_assert(bench_say(&b, &probe, BREAKER_SUCCESS, 1));
	bench_fail_until_open(&b);
	cr_assert_eq(b.breaker.open_until_ms - b.now.ms, b.config.open_ms);
}

Test(breaker, jitter_spreads_the_open_time_a_fifth_either_way)
{
	struct prng random;
	uint64_t least = UINT64_MAX, most = 0;

	prng_init(&random, 1);
	for (unsigned i = 0; i < 2000; i++) {
		struct bench b = bench_start();
		uint64_t ms;

		breaker_trip(&b.breaker, &b.config, prng_next(&random),
		    b.now);
		ms = b.breaker.open_until_ms - b.now.ms;
		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	cr_assert_geq(least, 4000);
	cr_assert_leq(least, 4020);
	cr_assert_leq(most, 6000);
	cr_assert_geq(most, 5980);
}

Test(breaker, half_open_admits_one_foreground_call)
{
	struct bench b = bench_start();
	struct breaker_admission probe, other;

	bench_fail_until_open(&b);
	bench_await_half_open(&b);
	cr_assert_eq(breaker_admit(&b.breaker, &b.config, BOB, false, false,
	    b.now, &other), BUSY, "background is no probe");
	cr_assert_eq(b.breaker.state, BREAKER_OPEN);
	cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
	cr_assert_eq(bench_ask(&b, BOB, &other), BUSY);
	cr_assert_eq(other.retry_after_ms, b.config.open_ms);
	cr_assert_eq(breaker_admit(&b.breaker, &b.config, BOB, false, false,
	    b.now, &other), BUSY);
	cr_assert(bench_say(&b, &probe, BREAKER_SUCCESS, 1));
	cr_assert_eq(bench_ask(&b, BOB, &other), OK);
	cr_assert_not(other.probe);
}

Test(breaker, a_probe_that_succeeds_forgets_the_failures_before)
{
	struct bench b = bench_start();
	struct breaker_admission probe;
	uint32_t successes, failures;

	b.config.open_ms = 10;
	bench_fail_until_open(&b);
	bench_await_half_open(&b);
	cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
	cr_assert(bench_say(&b, &probe, BREAKER_SUCCESS, 1));
	breaker_window(&b.breaker, &b.config, b.now, &successes, &failures);
	cr_assert_eq(failures, 0);
	cr_assert(bench_call(&b, BREAKER_FAILURE, 2));
	cr_assert_eq(b.breaker.state, BREAKER_CLOSED);
}

Test(breaker, a_probe_without_an_answer_is_handed_to_the_next)
{
	struct bench b = bench_start();
	struct breaker_admission probe, next;

	bench_fail_until_open(&b);
	bench_await_half_open(&b);
	cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
	cr_assert_not(bench_say(&b, &probe, BREAKER_NEUTRAL, 1));
	cr_assert_eq(b.breaker.state, BREAKER_HALF_OPEN);
	cr_assert_eq(bench_ask(&b, BOB, &next), OK);
	cr_assert(next.probe);
	cr_assert_not(bench_say(&b, &probe, BREAKER_SUCCESS, 1),
	    "not its any more");
	cr_assert(bench_say(&b, &next, BREAKER_SUCCESS, 1));
}

Test(breaker, the_probe_of_a_dead_owner_is_the_next_caller_s)
{
	struct bench b = bench_start();
	struct breaker_admission probe, next;

	bench_fail_until_open(&b);
	bench_await_half_open(&b);
	cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
	cr_assert_eq(bench_ask(&b, BOB, &next), BUSY);
	cr_assert_eq(breaker_admit(&b.breaker, &b.config, BOB, true, true,
	    b.now, &next), OK);
	cr_assert(next.probe);
	cr_assert_not(bench_say(&b, &probe, BREAKER_FAILURE, 1));
	cr_assert_eq(b.breaker.state, BREAKER_HALF_OPEN);
}

Test(breaker, a_probe_past_its_deadline_is_the_next_caller_s)
{
	struct bench b = bench_start();
	struct breaker_admission probe, next;

	bench_fail_until_open(&b);
	bench_await_half_open(&b);
	cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
	b.now.ms += b.config.probe_ms - 1;
	cr_assert_eq(bench_ask(&b, BOB, &next), BUSY);
	cr_assert_eq(next.retry_after_ms, 1);
	b.now.ms++;
	cr_assert_eq(bench_ask(&b, BOB, &next), OK);
	cr_assert_not(bench_say(&b, &probe, BREAKER_SUCCESS, 1), "taken over");
	cr_assert(bench_say(&b, &next, BREAKER_FAILURE, 1));
	cr_assert_eq(b.breaker.state, BREAKER_OPEN);
}

Test(breaker, a_failed_probe_that_nobody_took_over_counts_though_late)
{
	struct bench b = bench_start();
	struct breaker_admission probe;

	bench_fail_until_open(&b);
	bench_await_half_open(&b);
	cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
	b.now.ms += b.config.probe_ms + 5;
	cr_assert(bench_say(&b, &probe, BREAKER_FAILURE, 1));
	cr_assert_eq(b.breaker.state, BREAKER_OPEN);
}

Test(breaker, late_answers_of_an_older_generation_count_nothing)
{
	struct bench b = bench_start();
	struct breaker_admission old[40];
	struct breaker_admission probe;
	uint32_t successes, failures;

	for (unsigned i = 0; i < 40; i++) {
		cr_assert_eq(bench_ask(&b, ALICE, &old[i]), OK);
	}
	bench_fail_until_open(&b);
	bench_await_half_open(&b);
	cr_assert_eq(bench_ask(&b, ALICE, &probe), OK);
	/* A success from before it opened does not close it. */
	cr_assert_not(bench_say(&b, &old[0], BREAKER_SUCCESS, 1));
	cr_assert_eq(b.breaker.state, BREAKER_HALF_OPEN);
	cr_assert(bench_say(&b, &probe, BREAKER_SUCCESS, 1));
	/* Nor do failures from before open it again. */
	for (unsigned i = 1; i < 40; i++) {
		cr_assert_not(bench_say(&b, &old[i], BREAKER_FAILURE, i));
	}
	breaker_window(&b.breaker, &b.config, b.now, &successes, &failures);
	cr_assert_eq(successes + failures, 0);
	cr_assert_eq(b.breaker.state, BREAKER_CLOSED);
}

Test(breaker, callers_that_went_away_count_as_nothing)
{
	struct bench b = bench_start();
	uint32_t successes, failures;

	for (unsigned i = 0; i < 200; i++) {
		cr_assert(bench_call(&b, BREAKER_NEUTRAL, 1 + i));
		cr_assert(bench_call(&b, (enum breaker_outcome)77, 1 + i));
	}
	breaker_window(&b.breaker, &b.config, b.now, &successes, &failures);
	cr_assert_eq(successes + failures, 0);
	cr_assert_eq(b.breaker.state, BREAKER_CLOSED);
}

Test(breaker, tripped_it_is_open_and_reset_it_is_closed)
{
	struct bench b = bench_start();
	struct breaker_admission admission, old;

	cr_assert_eq(bench_ask(&b, ALICE, &old), OK);
	breaker_trip(&b.breaker, &b.config, 0, b.now);
	cr_assert_eq(bench_ask(&b, BOB, &admission), BUSY);
	breaker_reset(&b.breaker, b.now);
	cr_assert_eq(bench_ask(&b, BOB, &admission), OK);
	cr_assert_not(admission.probe);
	cr_assert_neq(admission.generation, old.generation);
	breaker_trip(&b.breaker, &b.config, 1000, b.now);
	cr_assert_eq(b.breaker.open_until_ms - b.now.ms, b.config.open_ms,
	    "the open time begins anew");
}

Test(breaker, held_closed_it_stays_closed_until_the_hold_ends)
{
	struct bench b = bench_start();
	struct boot_ms until = { .ms = b.now.ms + 60000 };
	struct breaker_admission admission;

	bench_fail_until_open(&b);
	breaker_hold(&b.breaker, BREAKER_CLOSED, until, b.now);
	cr_assert_eq(breaker_state_now(&b.breaker, &b.config, b.now),
	    BREAKER_CLOSED);
	for (unsigned i = 0; i < 100; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, i));
	}
	b.now = until;
	cr_assert_eq(bench_ask(&b, ALICE, &admission), OK);
	cr_assert(admission.probe, "the open time is over by now");
}

Test(breaker, held_open_it_admits_nobody_until_the_hold_ends)
{
	struct bench b = bench_start();
	struct boot_ms until = { .ms = b.now.ms + 60000 };
	struct breaker_admission admission, before;

	cr_assert_eq(bench_ask(&b, ALICE, &before), OK);
	breaker_hold(&b.breaker, BREAKER_OPEN, until, b.now);
	cr_assert_eq(bench_ask(&b, BOB, &admission), BUSY);
	cr_assert_eq(admission.retry_after_ms, 60000);
	cr_assert_not(bench_say(&b, &before, BREAKER_FAILURE, 1));
	b.now = until;
	cr_assert_eq(bench_ask(&b, BOB, &admission), OK);
	cr_assert_not(admission.probe);
}

Test(breaker, a_hold_ends_by_hand_and_within_a_day)
{
	struct bench b = bench_start();
	struct boot_ms never = { .ms = UINT64_MAX };
	struct boot_ms zero = { .ms = 0 };
	struct breaker_admission admission;

	breaker_hold(&b.breaker, BREAKER_OPEN, never, b.now);
	cr_assert_eq(bench_ask(&b, BOB, &admission), BUSY);
	breaker_hold(&b.breaker, BREAKER_OPEN, zero, b.now);
	cr_assert_eq(bench_ask(&b, BOB, &admission), OK);
	breaker_hold(&b.breaker, BREAKER_OPEN, never, b.now);
	b.now.ms += BREAKER_HOLD_MAX_MS;
	cr_assert_eq(bench_ask(&b, BOB, &admission), OK);
}

Test(breaker, switched_off_it_admits_all_but_against_a_hold)
{
	struct bench b = bench_start();
	struct boot_ms until = { .ms = b.now.ms + 1000 };
	struct breaker_admission admission;

	b.config.enabled = 0;
	for (unsigned i = 0; i < 200; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, i));
	}
	cr_assert_eq(b.breaker.opened_count, 0);
	breaker_hold(&b.breaker, BREAKER_OPEN, until, b.now);
	cr_assert_eq(bench_ask(&b, BOB, &admission), BUSY);
}

Test(breaker, a_clock_that_goes_back_wedges_nothing)
{
	struct bench b = bench_start();
	struct breaker_admission admission;

	bench_fail_until_open(&b);
	b.now.ms -= 900000;
	cr_assert_eq(bench_ask(&b, ALICE, &admission), BUSY);
	cr_assert_leq(admission.retry_after_ms, 72000);
	b.now.ms += 72000;
	cr_assert_eq(bench_ask(&b, ALICE, &admission), OK);
	cr_assert(admission.probe);
	b.now.ms -= 50000;
	cr_assert(bench_say(&b, &admission, BREAKER_SUCCESS, 1));
	b.now.ms -= 50000;
	bench_fail_until_open(&b);
}

/* What the next caller is told must end, whatever bytes are there. */
Test(breaker, scribbled_words_are_in_range_again_within_their_times)
{
	struct prng random;

	prng_init(&random, 7);
	for (unsigned round = 0; round < 2000; round++) {
		struct bench b = bench_start();
		struct breaker_admission admission;
		uint64_t *words = (uint64_t *)&b.breaker;

		for (unsigned i = 0; i < sizeof(b.breaker) / 8; i++) {
			words[i] = prng_one_in(&random, 3) ? 0 :
			    prng_next(&random) >> prng_below(&random, 64);
		}
		(void)breaker_state_now(&b.breaker, &b.config, b.now);
		(void)bench_ask(&b, ALICE, &admission);
		b.now.ms += BREAKER_HOLD_MAX_MS;
		(void)bench_ask(&b, ALICE, &admission);
		b.now.ms += b.config.probe_ms;
		cr_assert_eq(bench_ask(&b, BOB, &admission), OK, "round %u",
		    round);
		(void)bench_say(&b, &admission, BREAKER_SUCCESS, 1);
		cr_assert_eq(b.breaker.state, BREAKER_CLOSED, "round %u",
		    round);
	}
}

/* A naive watcher of the state finds legal edges alone. */
Test(breaker, random_calls_take_legal_edges_alone)
{
	struct prng random;

	for (unsigned seed = 0; seed < 50; seed++) {
		struct bench b = bench_start();
		struct breaker_admission kept[16] = { 0 };
		unsigned probes = 0;

		prng_init(&random, seed);
		for (unsigned i = 0; i < 2000; i++) {
			uint32_t before = b.breaker.state;
			uint64_t generation = b.breaker.generation;
			struct breaker_admission *at =
			    &kept[prng_below(&random, 16)];

			b.now.ms += prng_below(&random, 400);
			if (prng_one_in(&random, 2)) {
				if (bench_ask(&b, 1 + prng_below(&random, 9),
				    at) != OK) {
					at->generation = UINT64_MAX;
				}
				probes += at->probe;
			} else {
				(void)bench_say(&b, at, (enum breaker_outcome)
				    prng_below(&random, 3),
				    prng_below(&random, 6));
			}
			if (b.breaker.state == before) {
				continue;
			}
			cr_assert_gt(b.breaker.generation, generation);
			cr_assert(b.breaker.state == BREAKER_OPEN ||
			    before == (b.breaker.state == BREAKER_HALF_OPEN ?
			    BREAKER_OPEN : BREAKER_HALF_OPEN),
			    "seed %u step %u: %u to %u", seed, i, before,
			    b.breaker.state);
		}
		cr_assert_gt(b.breaker.opened_count, 0, "seed %u", seed);
		cr_assert_gt(probes, 0, "seed %u", seed);
	}
}

Test(breaker, every_state_has_a_name)
{
	cr_assert_str_eq(breaker_state_name(BREAKER_CLOSED), "closed");
	cr_assert_str_eq(breaker_state_name(BREAKER_OPEN), "open");
	cr_assert_str_eq(breaker_state_name(BREAKER_HALF_OPEN), "half-open");
	cr_assert_str_eq(breaker_state_name((enum breaker_state)9),
	    "unknown");
}
