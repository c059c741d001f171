/* SPDX-License-Identifier: ISC */

#include "size.h"

#include <stddef.h>

#include <criterion/criterion.h>

Test(size, reads_numbers_and_suffixes)
{
	static const struct {
		const char *text;
		uint64_t size;
	} good[] = {
		{ "1", 1 }, { "564", 564 }, { "007", 7 },
		{ "1k", 1024 }, { "3K", 3072 }, { "2m", 2u << 20 },
		{ "1g", 1u << 30 }, { "1T", 1ull << 40 },
		{ "18446744073709551615", UINT64_MAX },
		{ "16777215t", 16777215ull << 40 },
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t size = 0;

		cr_expect(size_parse(good[i].text, &size), "%s",
		    good[i].text);
		cr_expect_eq(size, good[i].size, "%s", good[i].text);
	}
}

Test(size, refuses_everything_else_and_changes_nothing)
{
	static const char *const bad[] = {
		"", "0", "0k", "k", "-1", "+1", " 1", "1 ", "1.5", "1kb",
		"1kk", "1x", "1p", "0x10", "18446744073709551616",
		"18446744073709551615k", "16777216t", "99999999999999999999",
		"\xff", "1\xff",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t size = 77;

		cr_expect_not(size_parse(bad[i], &size), "'%s'", bad[i]);
		cr_expect_eq(size, 77u, "'%s'", bad[i]);
	}
}

static void
expect_shown(uint64_t size, const char *want)
{
	char text[SIZE_TEXT_BYTES];

	size_format(text, size);
	cr_assert_str_eq(text, want, "%s, not %s", text, want);
}

Test(size, is_shown_in_the_largest_unit_that_fits)
{
	expect_shown(0, "0 B");
	expect_shown(1023, "1023 B");
	expect_shown(1024, "1.0 KiB");
	expect_shown(1536, "1.5 KiB");
	expect_shown(64 << 20, "64.0 MiB");
	expect_shown(UINT64_C(3) << 40, "3.0 TiB");
	expect_shown(UINT64_MAX, "16.0 EiB");
}
