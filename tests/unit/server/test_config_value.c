/* SPDX-License-Identifier: ISC */

#include "config_value.h"

#include <criterion/criterion.h>

Test(config_value, sizes_take_their_units)
{
	static const struct {
		const char	*text;
		uint64_t	bytes;
	} cases[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "64K", 64u << 10 },
		{ "64k", 64u << 10 },
		{ "256M", 256u << 20 },
		{ "3G", 3ull << 30 },
		{ "1T", 1ull << 40 },
		{ "18446744073709551615", UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes = 1;

		cr_assert(config_value_parse_size(cases[i].text, &bytes),
		    "%s", cases[i].text);
		cr_assert_eq(bytes, cases[i].bytes, "%s", cases[i].text);
	}
}

Test(config_value, sizes_that_make_no_sense_are_refused)
{
	static const char *const cases[] = {
		"", "K", "-1", "+1", " 1", "1 ", "1.5M", "64KB", "64k5", "0x10",
		"18446744073709551616", "16777216T", "1E",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes;

		cr_assert_not(config_value_parse_size(cases[i], &bytes),
		    "%s", cases[i]);
	}
}

Test(config_value, times_need_a_unit)
{
	uint64_t ms = 1;

	cr_assert(config_value_parse_time("0", &ms));
	cr_assert_eq(ms, 0);
	cr_assert(config_value_parse_time("250ms", &ms));
	cr_assert_eq(ms, 250);
	cr_assert(config_value_parse_time("10s", &ms));
	cr_assert_eq(ms, 10000);
	cr_assert(config_value_parse_time("2m", &ms));
	cr_assert_eq(ms, 120000);
	cr_assert(config_value_parse_time("1h", &ms));
	cr_assert_eq(ms, 3600000);
	cr_assert_not(config_value_parse_time("10", &ms));
	cr_assert_not(config_value_parse_time("10 s", &ms));
	cr_assert_not(config_value_parse_time("s", &ms));
}

Test(config_value, what_is_formatted_parses_to_the_same)
{
	static const uint64_t numbers[] = {
		0, 1, 1000, 1024, 1536, 65536, 90000, 3600000, 1ull << 40,
		UINT64_MAX,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char text[32];
		uint64_t back = 1;

		cr_assert(config_value_parse_size(config_value_format_size(
		    numbers[i], text, sizeof(text)), &back), "%s", text);
		cr_assert_eq(back, numbers[i], "%s", text);
		cr_assert(config_value_parse_time(config_value_format_time(
		    numbers[i], text, sizeof(text)), &back), "%s", text);
		cr_assert_eq(back, numbers[i], "%s", text);
	}
}

Test(config_value, modes_are_octal)
{
	uint64_t mode;

	cr_assert(config_value_parse_mode("0660", &mode));
	cr_assert_eq(mode, 0660);
	cr_assert_not(config_value_parse_mode("0689", &mode));
	cr_assert_not(config_value_parse_mode("rw", &mode));
}

Test(config_value, levels_are_words)
{
	enum log_level level = LOG_LEVEL_ERROR;

	cr_assert(config_value_parse_level("debug", &level));
	cr_assert_eq(level, LOG_LEVEL_DEBUG);
	cr_assert_not(config_value_parse_level("loud", &level));
	cr_assert_not(config_value_parse_level("", &level));
}
