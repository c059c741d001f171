/* SPDX-License-Identifier: ISC */

/*
 * The detector of floods of misses.
 */
#include "missrate.h"

#include "prng.h"

#include <criterion/criterion.h>

#define FLOODED	77u

struct bench {
	struct missrate	missrate;
	struct missrate_config config;
	struct boot_ms	now;
};

static struct bench
fresh(void)
{
	struct bench b = {
		.config = MISSRATE_CONFIG_INIT,
		/* at the beginning of a window */
		.now = { .ms = 100 * MISSRATE_WINDOW_MS },
	};

	return b;
}

static unsigned
miss(struct bench *b, uint64_t partition, unsigned count, uint32_t hits)
{
	unsigned told = 0;

	for (unsigned i = 0; i < count; i++) {
		told += missrate_note(&b->missrate, &b->config, partition,
		    hits, 1, b->now);
	}
	return told;
}

static uint32_t
cap(const struct bench *b, uint64_t partition)
{
	return missrate_cap(&b->missrate, &b->config, partition, b->now);
}

Test(missrate, the_last_of_enough_misses_tells_once)
{
	struct bench b = fresh();

	cr_assert_eq(miss(&b, FLOODED, b.config.min_misses - 1, 0), 0);
	cr_assert_eq(miss(&b, FLOODED, 1, 0), 1);
	cr_assert_eq(miss(&b, FLOODED, 10000, 0), 0);
	cr_assert_eq(b.missrate.floods, 1);
	cr_assert_eq(b.missrate.last_flood, FLOODED);
}

Test(missrate, each_window_tells_anew)
{
	struct bench b = fresh();

	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(miss(&b, FLOODED, 3000, 0), 1, "window %u", i);
		b.now.ms += b.config.window_ms;
	}
	cr_assert_eq(miss(&b, FLOODED, b.config.min_misses - 1, 0), 0);
}

Test(missrate, a_partition_that_also_hits_is_no_flood)
{
	struct bench b = fresh();

	/* One hit for each miss: half of them. */
	cr_assert_eq(miss(&b, FLOODED, 5000, 1), 0);
	/* A tenth of hits is still one, a little more is none. */
	b = fresh();
	(void)missrate_note(&b.missrate, &b.config, FLOODED, 100, 0, b.now);
	cr_assert_eq(miss(&b, FLOODED, 899, 0), 0);
	cr_assert_eq(miss(&b, FLOODED, 1, 0), 1);
}

Test(missrate, misses_spread_over_windows_are_no_flood)
{
	struct bench b = fresh();

	for (unsigned i = 0; i < 5000; i++) {
		cr_assert_eq(miss(&b, FLOODED, 1, 0), 0);
		b.now.ms += b.config.window_ms / b.config.min_misses + 1;
	}
}

Test(missrate, a_flood_is_found_among_many_partitions)
{
	struct bench b = fresh();
	struct prng random;
	unsigned told = 0, others = 0;

	prng_init(&random, 5);
	/* A tenth of all; the rest are a hundred thousand others. */
	for (unsigned i = 0; i < 20000; i++) {
		bool flood = prng_one_in(&random, 10);
		uint64_t partition = flood ? FLOODED :
		    1000 + prng_below(&random, 100000);
		bool now = miss(&b, partition, 1, 0) != 0;

		told += now && flood;
		others += now && !flood;
	}
	cr_assert_eq(told, 1);
	cr_assert_eq(others, 0);
}

Test(missrate, a_row_taken_over_makes_no_flood)
{
	struct bench b = fresh();

	/* Each newcomer takes the weight of a row, not its misses. */
	for (unsigned i = 0; i < MISSRATE_ROWS; i++) {
		cr_assert_eq(miss(&b, 1 + i, b.config.min_misses - 1, 0), 0);
	}
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert_eq(miss(&b, 1000 + i, 400, 0), 0);
	}
}

Test(missrate, calls_without_a_partition_are_not_noted)
{
	struct bench b = fresh();

	b.config.throttle = 1;
	cr_assert_eq(miss(&b, 0, 10000, 0), 0);
	cr_assert_eq(cap(&b, 0), 0);
}

Test(missrate, switched_off_it_notes_nothing)
{
	struct bench b = fresh();

	b.config.enabled = 0;
	cr_assert_eq(miss(&b, FLOODED, 10000, 0), 0);
}

Test(missrate, only_where_it_is_asked_for_is_a_flood_capped)
{
	struct bench b = fresh();

	cr_assert_eq(miss(&b, FLOODED, 1000, 0), 1);
	cr_assert_eq(cap(&b, FLOODED), 0);
	b.config.throttle = 1;
	cr_assert_eq(cap(&b, FLOODED), 1);
	cr_assert_eq(cap(&b, FLOODED + 1), 0);
}

Test(missrate, the_cap_ends_with_the_next_window_unless_it_goes_on)
{
	struct bench b = fresh();

	b.config.throttle = 1;
	cr_assert_eq(miss(&b, FLOODED, 1000, 0), 1);
	b.now.ms += 2 * b.config.window_ms - 1;
	cr_assert_eq(cap(&b, FLOODED), 1);
	b.now.ms++;
	cr_assert_eq(cap(&b, FLOODED), 0);
	cr_assert_eq(miss(&b, FLOODED, 1000, 0), 1);
	b.now.ms += b.config.window_ms;
	cr_assert_eq(miss(&b, FLOODED, 1000, 0), 1);
	b.now.ms += b.config.window_ms;
	cr_assert_eq(cap(&b, FLOODED), 1);
}

Test(missrate, a_clock_a_tick_behind_at_the_turn_does_not_tell_twice)
{
	struct bench b = fresh();
	unsigned told = 0;

	for (unsigned i = 0; i < 4000; i++) {
		struct boot_ms behind = { .ms = b.now.ms - i % 2 };

		told += missrate_note(&b.missrate, &b.config, FLOODED, 0, 1,
		    behind);
	}
	cr_assert_eq(told, 1);
}

Test(missrate, scribbled_words_cap_nobody_for_longer_than_two_windows)
{
	struct prng random;

	prng_init(&random, 9);
	for (unsigned round = 0; round < 500; round++) {
		struct bench b = fresh();
		uint64_t *words = (uint64_t *)&b.missrate;

		b.config.throttle = 1;
		for (unsigned i = 0; i < sizeof(b.missrate) / 8; i++) {
			words[i] = prng_one_in(&random, 2) ?
			    1 + prng_below(&random, 90) :
			    prng_next(&random) >> prng_below(&random, 64);
		}
		(void)miss(&b, FLOODED, 3, 5);
		b.now.ms += 3 * b.config.window_ms;
		cr_assert_eq(cap(&b, FLOODED), 0, "round %u", round);
		cr_assert_eq(miss(&b, FLOODED, 1000, 0), 1);
		cr_assert_eq(cap(&b, FLOODED), 1);
	}
}
