/* SPDX-License-Identifier: ISC */

/*
 * What opens a breaker: how many outcomes, how old, and of whom.
 */
#include "breaker.h"

#include "breaker_fixture.h"

#include <criterion/criterion.h>

Test(breaker_window, failures_below_the_number_of_outcomes_open_nothing)
{
	struct bench b = bench_start();

	for (unsigned i = 1; i < b.config.min_outcomes; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, i));
		cr_assert_eq(b.breaker.state, BREAKER_CLOSED, "after %u", i);
	}
	cr_assert(bench_call(&b, BREAKER_FAILURE, 99));
	cr_assert_eq(b.breaker.state, BREAKER_OPEN);
	cr_assert_eq(b.breaker.opened_count, 1);
}

Test(breaker_window, a_success_that_completes_the_number_opens_it)
{
	struct bench b = bench_start();

	for (unsigned i = 1; i < b.config.min_outcomes; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, i));
	}
	cr_assert(bench_call(&b, BREAKER_SUCCESS, 99));
	cr_assert_eq(b.breaker.state, BREAKER_OPEN);
}

Test(breaker_window, less_than_half_failures_open_nothing)
{
	struct bench b = bench_start();

	for (unsigned i = 0; i < 5000; i++) {
		cr_assert(bench_call(&b, i % 9 > 4 ? BREAKER_FAILURE :
		    BREAKER_SUCCESS, 1 + i % 5));
		b.now.ms += 7;
	}
	cr_assert_eq(b.breaker.opened_count, 0);
}

Test(breaker_window, a_failure_a_day_never_opens_it)
{
	struct bench b = bench_start();

	for (unsigned day = 0; day < 1000; day++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, 1 + day));
		b.now.ms += 86400000;
	}
	cr_assert_eq(b.breaker.opened_count, 0);
}

Test(breaker_window, outcomes_older_than_the_window_do_not_count)
{
	struct bench b = bench_start();
	uint32_t successes, failures;

	for (unsigned i = 1; i < b.config.min_outcomes; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, i));
	}
	breaker_window(&b.breaker, &b.config, b.now, &successes, &failures);
	cr_assert_eq(failures, b.config.min_outcomes - 1);
	b.now.ms += b.config.window_ms;
	breaker_window(&b.breaker, &b.config, b.now, &successes, &failures);
	cr_assert_eq(failures, 0);
	cr_assert(bench_call(&b, BREAKER_FAILURE, 1));
	cr_assert_eq(b.breaker.state, BREAKER_CLOSED);
}

Test(breaker_window, one_failing_partition_among_others_opens_nothing)
{
	struct bench b = bench_start();

	for (unsigned i = 0; i < 4000; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, 7));
		if (i % 4 == 0) {
			cr_assert(bench_call(&b, BREAKER_SUCCESS, 100 + i));
		}
		b.now.ms += 11;
	}
	cr_assert_eq(b.breaker.opened_count, 0);
	/* A second one makes it the origin's. */
	for (unsigned i = 0; i < 4; i++) {
		(void)bench_call(&b, BREAKER_FAILURE, 8);
	}
	cr_assert_eq(b.breaker.opened_count, 1);
}

Test(breaker_window, failures_of_calls_without_partition_are_of_one)
{
	struct bench b = bench_start();

	for (unsigned i = 0; i < 100; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, 0));
		if (i == 0) {
			cr_assert(bench_call(&b, BREAKER_SUCCESS, 5));
		}
	}
	cr_assert_eq(b.breaker.state, BREAKER_CLOSED);
	b = bench_start();
	for (unsigned i = 0; i < b.config.min_outcomes; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, 0));
	}
	cr_assert_eq(b.breaker.state, BREAKER_OPEN, "the only one it has");
}

Test(breaker_window, a_single_partition_that_fails_opens_it)
{
	struct bench b = bench_start();

	for (unsigned i = 0; i < b.config.min_outcomes; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, 7));
	}
	cr_assert_eq(b.breaker.state, BREAKER_OPEN);
}

Test(breaker_window, a_clock_a_tick_ahead_elsewhere_hides_no_partition)
{
	struct bench b = bench_start();

	/* The healthy one was seen by a process 10 ms ahead. */
	b.now.ms += 10;
	cr_assert(bench_call(&b, BREAKER_SUCCESS, 8));
	b.now.ms -= 10;
	for (unsigned i = 0; i < 100; i++) {
		cr_assert(bench_call(&b, BREAKER_FAILURE, 7));
	}
	cr_assert_eq(b.breaker.state, BREAKER_CLOSED);
}
