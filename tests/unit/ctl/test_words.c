/* SPDX-License-Identifier: ISC */

#include "words.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

/* The words of text, in brackets one after the other. */
static const char *
split(const char *text)
{
	static char shown[256];
	char line[256];
	struct words words;
	size_t used = 0;

	cr_assert_lt(strlen(text), sizeof(line));
	(void)snprintf(line, sizeof(line), "%s", text);	/* fits */
	if (words_split(&words, line) != WORDS_FINE) {
		return "fault";
	}
	shown[0] = '\0';
	for (size_t i = 0; i < words.count; i++) {
		used += (size_t)snprintf(shown + used, sizeof(shown) - used,
		    "[%s]", words.at[i]);
	}
	cr_assert_null(words.at[words.count]);
	return shown;
}

Test(words, are_parted_by_blanks)
{
	cr_assert_str_eq(split("a  bc\td\n"), "[a][bc][d]");
	cr_assert_str_eq(split("  a"), "[a]");
	cr_assert_str_eq(split(""), "");
	cr_assert_str_eq(split(" \t\r\n"), "");
}

Test(words, are_held_together_by_quotes)
{
	cr_assert_str_eq(split("'a b' \"c d\"e"), "[a b][c de]");
	cr_assert_str_eq(split("'' \"\""), "[][]");
	cr_assert_str_eq(split("'a\"b' \"c'd\""), "[a\"b][c'd]");
	cr_assert_str_eq(split("x='1 2'"), "[x=1 2]");
}

Test(words, take_a_byte_after_a_backslash_as_it_is)
{
	cr_assert_str_eq(split("a\\ b \\\"c \"d\\\"e\" 'f\\g'"),
	    "[a b][\"c][d\"e][f\\g]");
	cr_assert_str_eq(split("a\\"), "[a\\]");
}

Test(words, leave_the_hex_escape_of_a_byte_as_it_is)
{
	cr_assert_str_eq(split("a\\x00b '\\x01' \"\\xfF\""),
	    "[a\\x00b][\\x01][\\xfF]");
	cr_assert_str_eq(split("\\x0g \\x1 \\x"), "[x0g][x1][x]");
}

Test(words, end_at_a_comment)
{
	cr_assert_str_eq(split("a # b"), "[a]");
	cr_assert_str_eq(split("# a"), "");
	cr_assert_str_eq(split("a#b '#c'"), "[a#b][#c]");
}

Test(words, report_an_open_quote)
{
	cr_assert_str_eq(split("a 'b"), "fault");
	cr_assert_str_eq(split("a \"b'"), "fault");
	cr_assert_str_eq(split("\"a\\\""), "fault");
}

Test(words, report_too_many)
{
	char line[2 * (WORDS_MAX + 1) + 1];
	struct words words;

	for (size_t i = 0; i <= WORDS_MAX; i++) {
		line[2 * i] = 'w';
		line[2 * i + 1] = ' ';
	}
	line[sizeof(line) - 1] = '\0';
	cr_assert_eq(words_split(&words, line), WORDS_TOO_MANY);

	for (size_t i = 0; i < WORDS_MAX; i++) {
		line[2 * i] = 'w';
		line[2 * i + 1] = ' ';
	}
	line[2 * WORDS_MAX] = '\0';
	cr_assert_eq(words_split(&words, line), WORDS_FINE);
	cr_assert_eq(words.count, WORDS_MAX);
}
