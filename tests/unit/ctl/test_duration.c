/* SPDX-License-Identifier: ISC */

#include "duration.h"

#include <stdio.h>

#include <criterion/criterion.h>

static void
expect_parsed(const char *text, uint64_t want_ms)
{
	uint64_t ms = 99;

	cr_assert(duration_parse(text, &ms), "%s", text);
	cr_assert_eq(ms, want_ms, "%s is %ju", text, (uintmax_t)ms);
}

Test(duration, parses_each_unit)
{
	expect_parsed("0", 0);
	expect_parsed("0s", 0);
	expect_parsed("250ms", 250);
	expect_parsed("10s", 10000);
	expect_parsed("5m", 300000);
	expect_parsed("2h", 7200000);
	expect_parsed("1d", 86400000);
	expect_parsed("18446744073709551615ms", UINT64_MAX);
}

Test(duration, refuses_what_is_none)
{
	static const char *const bad[] = {
		"", "10", "s", "-1s", "1.5s", "1 s", "1sec", "1S", "1ss",
		"18446744073709551616ms", "18446744073709551615s",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t ms = 99;

		cr_assert_not(duration_parse(bad[i], &ms), "%s", bad[i]);
		cr_assert_eq(ms, 99u, "%s", bad[i]);
	}
}

static void
expect_shown(uint64_t ms, const char *want)
{
	char text[DURATION_TEXT_BYTES];

	duration_format(text, ms);
	cr_assert_str_eq(text, want, "%s, not %s", text, want);
}

Test(duration, shows_two_units_at_most)
{
	expect_shown(0, "0 ms");
	expect_shown(999, "999 ms");
	expect_shown(1000, "1.0 s");
	expect_shown(59999, "59.9 s");
	expect_shown(60000, "1 min 0 s");
	expect_shown(3600000 - 1, "59 min 59 s");
	expect_shown(3600000, "1 h 0 min");
	expect_shown(93784000, "1 d 2 h");
	expect_shown(UINT64_MAX, "213503982334 d 14 h");
}
