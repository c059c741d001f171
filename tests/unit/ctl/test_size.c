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
