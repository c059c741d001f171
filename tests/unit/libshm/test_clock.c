/* SPDX-License-Identifier: ISC */

/*
 * The clocks, held against the system's own.
 */
#include "clock.h"

#include <criterion/criterion.h>

static uint64_t
read_ns(clockid_t clock)
{
	struct timespec ts;

	cr_assert_eq(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * CLOCK_NS_PER_S + (uint64_t)ts.tv_nsec;
}

Test(clock, boot_now_lies_between_two_looks_at_the_boot_clock)
{
	uint64_t before = read_ns(CLOCK_BOOTTIME) / CLOCK_NS_PER_MS;
	struct boot_ms now = clock_boot_now();
	uint64_t after = read_ns(CLOCK_BOOTTIME) / CLOCK_NS_PER_MS;

	cr_assert(before <= now.ms && now.ms <= after,
	    "%ju <= %ju <= %ju", (uintmax_t)before, (uintmax_t)now.ms,
	    (uintmax_t)after);
}

Test(clock, wall_now_is_milliseconds_since_1970)
{
	int64_t before = (int64_t)time(NULL);
	struct wall_ms now = clock_wall_now();
	int64_t now_s = now.ms / CLOCK_MS_PER_S;

	/* A step of the wall clock may come between the two looks. */
	cr_assert(now_s >= before - 60 && now_s <= before + 60,
	    "time %jd, wall clock %jd ms", (intmax_t)before,
	    (intmax_t)now.ms);
}

Test(clock, cached_now_reads_the_boot_clock_at_its_first_use)
{
	struct clock_cache cache = { 0 };
	struct boot_ms before = clock_boot_now();
	struct boot_ms now = clock_cached_now(&cache);

	cr_assert_geq(now.ms, before.ms);
	cr_assert_eq(cache.boot.ms, now.ms);
	cr_assert_neq(cache.coarse_ns, 0);
}

Test(clock, cached_now_looks_again_when_the_coarse_clock_has_ticked)
{
	struct boot_ms before = clock_boot_now();
	struct clock_cache cache = { .coarse_ns = 1, .boot = { .ms = 7 } };

	cr_assert_geq(clock_cached_now(&cache).ms, before.ms);
}

Test(clock, cached_now_keeps_its_value_within_one_tick)
{
	bool same_tick = false;

	/* A tick may fall between the looks; it cannot do so every time. */
	for (int i = 0; i < 1000 && !same_tick; i++) {
		struct clock_cache cache = {
			.coarse_ns = read_ns(CLOCK_MONOTONIC_COARSE),
			.boot = { .ms = 7 },
		};
		uint64_t tick = cache.coarse_ns;
		struct boot_ms now = clock_cached_now(&cache);

		same_tick = cache.coarse_ns == tick;
		cr_assert_eq(now.ms == 7, same_tick, "at %ju ms",
		    (uintmax_t)now.ms);
	}
	cr_assert(same_tick);
}
