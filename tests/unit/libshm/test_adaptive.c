/* SPDX-License-Identifier: ISC */

/*
 * The limit that follows latency, against an origin that is made up.
 */
#include "adaptive.h"

#include "prng.h"

#include <criterion/criterion.h>

#define CEILING		64u
#define CALM_US		20000u

struct bench {
	struct adaptive	adaptive;
	struct adaptive_config config;
	struct boot_ms	now;
};

static struct bench
fresh(void)
{
	struct bench b = {
		.config = ADAPTIVE_CONFIG_INIT,
		.now = { .ms = 1000000 },
	};

	b.config.enabled = 1;
	return b;
}

static uint32_t
limit(const struct bench *b)
{
	return adaptive_limit(&b->adaptive, &b->config, CEILING);
}

/* That many windows of calls of this latency. */
static void
spend(struct bench *b, unsigned windows, uint64_t latency_us,
    uint32_t in_flight)
{
	for (unsigned i = 0; i < windows * 20; i++) {
		(void)adaptive_note(&b->adaptive, &b->config, latency_us,
		    false, in_flight, CEILING, b->now);
		b->now.ms += b->config.window_ms / 20 + 1;
	}
}

Test(adaptive, switched_off_it_is_the_ceiling)
{
	struct bench b = fresh();

	b.config.enabled = 0;
	spend(&b, 50, CALM_US, CEILING);
	spend(&b, 50, 50 * CALM_US, CEILING);
	cr_assert_eq(limit(&b), CEILING);
}

Test(adaptive, it_starts_at_the_ceiling_and_never_clamps_to_learn)
{
	struct bench b = fresh();

	cr_assert_eq(limit(&b), CEILING);
	for (unsigned i = 0; i < 200; i++) {
		spend(&b, 1, CALM_US, CEILING);
		cr_assert_eq(limit(&b), CEILING, "window %u", i);
	}
}

Test(adaptive, latency_within_the_tolerance_changes_nothing)
{
	struct bench b = fresh();
	struct prng random;

	prng_init(&random, 3);
	for (unsigned i = 0; i < 4000; i++) {
		(void)adaptive_note(&b.adaptive, &b.config, CALM_US / 2 +
		    prng_below(&random, CALM_US), false, CEILING, CEILING,
		    b.now);
		b.now.ms += 30;
	}
	cr_assert_eq(limit(&b), CEILING);
}

Test(adaptive, overload_lowers_it_step_by_step_to_the_floor)
{
	struct bench b = fresh();
	uint32_t before = CEILING;

	spend(&b, 30, CALM_US, CEILING);
	for (unsigned i = 0; i < 60; i++) {
		spend(&b, 1, 40 * CALM_US, limit(&b));
		cr_assert_leq(limit(&b), before, "window %u", i);
		cr_assert_geq(limit(&b), before * 3 / 4, "window %u", i);
		cr_assert_geq(limit(&b), b.config.min_limit);
		before = limit(&b);
	}
	/* The floor, or what the root of the limit keeps above it. */
	cr_assert_leq(limit(&b), CEILING / 4, "%u", limit(&b));
}

Test(adaptive, the_floor_holds_whatever_the_latency)
{
	struct bench b = fresh();

	b.config.min_limit = 20;
	spend(&b, 30, CALM_US, CEILING);
	spend(&b, 100, 1000 * CALM_US, CEILING);
	cr_assert_eq(limit(&b), 20);
}

Test(adaptive, it_comes_back_when_the_overload_is_over)
{
	struct bench b = fresh();
	unsigned windows;

	spend(&b, 30, CALM_US, CEILING);
	spend(&b, 40, 40 * CALM_US, CEILING);
	cr_assert_lt(limit(&b), CEILING / 2);
	for (windows = 0; windows < 200 && limit(&b) < CEILING; windows++) {
		spend(&b, 1, CALM_US, limit(&b));
	}
	cr_assert_eq(limit(&b), CEILING);
	cr_assert_leq(windows, 100);
}

Test(adaptive, it_grows_only_while_it_is_in_use)
{
	struct bench b = fresh();
	uint32_t low;

	spend(&b, 30, CALM_US, CEILING);
	spend(&b, 40, 40 * CALM_US, CEILING);
	low = limit(&b);
	spend(&b, 500, CALM_US, low / 2 - 1);
	cr_assert_eq(limit(&b), low);
	spend(&b, 5, CALM_US, low / 2);
	cr_assert_gt(limit(&b), low);
}

Test(adaptive, a_slow_call_in_a_quiet_night_lowers_nothing)
{
	struct bench b = fresh();

	spend(&b, 30, CALM_US, CEILING);
	spend(&b, 50, 100 * CALM_US, 1);
	cr_assert_eq(limit(&b), CEILING);
}

Test(adaptive, an_origin_that_stays_slower_is_got_used_to)
{
	struct bench b = fresh();

	spend(&b, 30, CALM_US, CEILING);
	spend(&b, 30, 5 * CALM_US, CEILING);
	cr_assert_lt(limit(&b), CEILING);
	spend(&b, 600, 5 * CALM_US, CEILING);
	cr_assert_eq(limit(&b), CEILING);
}

Test(adaptive, failures_that_come_fast_do_not_pass_for_speed)
{
	struct bench b = fresh();
	uint64_t before;

	spend(&b, 30, CALM_US, CEILING);
	before = b.adaptive.long_us;
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert_not(adaptive_note(&b.adaptive, &b.config, 100,
		    true, CEILING, CEILING, b.now));
		b.now.ms += 50;
	}
	cr_assert_eq(b.adaptive.long_us, before);
	/* Those that timed out are slow calls like others. */
	for (unsigned i = 0; i < 1000; i++) {
		(void)adaptive_note(&b.adaptive, &b.config, 100 * CALM_US,
		    true, CEILING, CEILING, b.now);
		b.now.ms += 50;
	}
	cr_assert_lt(limit(&b), CEILING);
}

Test(adaptive, a_few_calls_in_a_long_time_are_no_window)
{
	struct bench b = fresh();

	spend(&b, 30, CALM_US, CEILING);
	for (unsigned i = 0; i < 1000; i++) {
		(void)adaptive_note(&b.adaptive, &b.config, 100 * CALM_US,
		    false, CEILING, CEILING, b.now);
		b.now.ms += 5000;
	}
	cr_assert_eq(limit(&b), CEILING);
}

Test(adaptive, it_says_when_it_changed)
{
	struct bench b = fresh();
	uint32_t before = limit(&b);
	unsigned changes = 0;

	spend(&b, 30, CALM_US, CEILING);
	for (unsigned i = 0; i < 2000; i++) {
		bool changed = adaptive_note(&b.adaptive, &b.config,
		    40 * CALM_US, false, CEILING, CEILING, b.now);

		cr_assert_eq(changed, limit(&b) != before, "call %u", i);
		before = limit(&b);
		changes += changed;
		b.now.ms += 50;
	}
	cr_assert_gt(changes, 4);
}

Test(adaptive, a_ceiling_that_is_lowered_or_raised_by_hand_is_kept_to)
{
	struct bench b = fresh();

	spend(&b, 30, CALM_US, CEILING);
	cr_assert_eq(adaptive_limit(&b.adaptive, &b.config, 4), 4,
	    "below the floor");
	cr_assert_eq(adaptive_limit(&b.adaptive, &b.config, 1), 1);
	cr_assert_eq(adaptive_limit(&b.adaptive, &b.config, 30), 30);
	cr_assert_leq(adaptive_limit(&b.adaptive, &b.config, 1000), 1000);
}

Test(adaptive, any_words_give_a_limit_within_floor_and_ceiling)
{
	struct prng random;

	prng_init(&random, 11);
	for (unsigned round = 0; round < 5000; round++) {
		struct bench b = fresh();
		uint64_t *words = (uint64_t *)&b.adaptive;
		uint32_t ceiling = 1 + (prng_below(&random, UINT32_MAX) >>
		    prng_below(&random, 32));
		uint32_t low = ceiling < b.config.min_limit ? ceiling :
		    b.config.min_limit;

		for (unsigned i = 0; i < sizeof(b.adaptive) / 8; i++) {
			words[i] = prng_next(&random) >>
			    prng_below(&random, 64);
		}
		for (unsigned i = 0; i < 30; i++) {
			uint32_t now = adaptive_limit(&b.adaptive, &b.config,
			    ceiling);

			cr_assert_leq(now, ceiling, "round %u", round);
			cr_assert_geq(now, low, "round %u", round);
			(void)adaptive_note(&b.adaptive, &b.config,
			    prng_next(&random) >> prng_below(&random, 64),
			    prng_one_in(&random, 4), now, ceiling, b.now);
			b.now.ms += prng_below(&random, 500);
		}
	}
}
