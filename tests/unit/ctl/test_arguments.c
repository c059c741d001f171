/* SPDX-License-Identifier: ISC */

#include "arguments.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "words.h"

static const char *const options[] = { "--pool", "--tag", "--yes",
	"--limit", "--ttl", NULL };
static const struct command command = {
	.verb = "verb",
	.usage = "WORD",
	.options = options,
};

struct fixture {
	struct command_context context;
	char		line[1024];
	struct words	words;
	struct arguments arguments;
	char		*said;
	size_t		said_length;
};

static bool
parse(struct fixture *f, const char *line, size_t min, size_t max)
{
	bool fine;

	memset(f, 0, sizeof(*f));
	f->context.messages = open_memstream(&f->said, &f->said_length);
	cr_assert_not_null(f->context.messages);
	cr_assert_lt(strlen(line), sizeof(f->line));
	(void)strcpy(f->line, line);
	cr_assert_eq(words_split(&f->words, f->line), WORDS_FINE);
	fine = arguments_parse(&f->arguments, &f->context, &command,
	    f->words.at, min, max);
	(void)fflush(f->context.messages);	/* to memory */
	cr_assert_eq(fine, f->said_length == 0, "%s: %s", line, f->said);
	return fine;
}

static void
end(struct fixture *f)
{
	cr_assert_eq(fclose(f->context.messages), 0);
	free(f->said);
}

Test(arguments, parts_options_from_words_in_any_order)
{
	struct fixture f;

	cr_assert(parse(&f, "--pool=p one --tag a --yes two --tag=b", 2, 2));
	cr_assert_str_eq(f.arguments.words[0], "one");
	cr_assert_str_eq(f.arguments.words[1], "two");
	cr_assert_str_eq(f.arguments.values[ARGUMENT_POOL], "p");
	cr_assert_not_null(f.arguments.values[ARGUMENT_YES]);
	cr_assert_null(f.arguments.values[ARGUMENT_LIMIT]);
	cr_assert_eq(f.arguments.tag_count, 2u);
	cr_assert_str_eq(f.arguments.tags[0], "a");
	cr_assert_str_eq(f.arguments.tags[1], "b");
	end(&f);

	cr_assert(parse(&f, "-- --yes", 1, 1));
	cr_assert_str_eq(f.arguments.words[0], "--yes");
	cr_assert_null(f.arguments.values[ARGUMENT_YES]);
	end(&f);
	cr_assert(parse(&f, "--pool=", 0, 0));
	cr_assert_str_eq(f.arguments.values[ARGUMENT_POOL], "");
	end(&f);
}

Test(arguments, are_refused_with_a_text)
{
	/* --key is known, but not to this command. */
	static const char *const bad[] = {
		"a b", "--pool", "--key k a", "--po p a", "--yes=1 a", "",
		"--poolx=1 a",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fixture f;

		cr_assert_not(parse(&f, bad[i], 1, 1), "%s", bad[i]);
		end(&f);
	}
}

Test(arguments, hold_as_many_tags_as_an_entry)
{
	char line[ARGUMENTS_TAGS_MAX * 10 + 16] = "";
	struct fixture f;

	for (size_t i = 0; i < ARGUMENTS_TAGS_MAX; i++) {
		strcat(line, " --tag t");
	}
	cr_assert(parse(&f, line, 0, 0));
	end(&f);
	strcat(line, " --tag t");
	cr_assert_not(parse(&f, line, 0, 0));
	end(&f);
}

static void
expect_number(const char *line, bool want_fine, uint64_t want)
{
	struct fixture f;
	uint64_t value;

	cr_assert(parse(&f, line, 0, 0));
	cr_assert_eq(arguments_number(&f.arguments, &f.context, &command,
	    ARGUMENT_LIMIT, 5, &value), want_fine, "%s", line);
	if (want_fine) {
		cr_assert_eq(value, want, "%s", line);
	}
	end(&f);
}

Test(arguments, read_numbers)
{
	expect_number("", true, 5);
	expect_number("--limit 0", true, 0);
	expect_number("--limit=9223372036854775807", true, INT64_MAX);
	expect_number("--limit 9223372036854775808", false, 0);
	expect_number("--limit 18446744073709551616", false, 0);
	expect_number("--limit -1", false, 0);
	expect_number("--limit 1k", false, 0);
	expect_number("--limit ''", false, 0);
}

Test(arguments, read_durations)
{
	struct fixture f;
	uint64_t ms;

	cr_assert(parse(&f, "--ttl 2s", 0, 0));
	cr_assert(arguments_duration(&f.arguments, &f.context, &command,
	    ARGUMENT_TTL, 7, &ms));
	cr_assert_eq(ms, 2000u);
	end(&f);
	cr_assert(parse(&f, "", 0, 0));
	cr_assert(arguments_duration(&f.arguments, &f.context, &command,
	    ARGUMENT_TTL, 7, &ms));
	cr_assert_eq(ms, 7u);
	end(&f);
	cr_assert(parse(&f, "--ttl 18446744073709551615ms", 0, 0));
	cr_assert_not(arguments_duration(&f.arguments, &f.context, &command,
	    ARGUMENT_TTL, 7, &ms));
	end(&f);
}

Test(arguments, know_which_options_have_a_value)
{
	cr_assert(arguments_has_value("--reason"));
	cr_assert(arguments_has_value("--limit"));
	cr_assert_not(arguments_has_value("--yes"));
	cr_assert_not(arguments_has_value("--nope"));
	cr_assert_not(arguments_has_value("reason"));
}

static void
expect_word_number(const char *line, bool want_fine, uint64_t want)
{
	struct fixture f;
	uint64_t value;

	cr_assert(parse(&f, line, 1, 1));
	cr_assert_eq(arguments_word_number(&f.arguments, &f.context, &command,
	    0, "the number", &value), want_fine, "%s", line);
	(void)fflush(f.context.messages);	/* to memory */
	if (want_fine) {
		cr_assert_eq(value, want, "%s", line);
	} else {
		cr_assert_not_null(strstr(f.said, "the number"), "%s", line);
	}
	end(&f);
}

Test(arguments, read_words_that_are_numbers)
{
	expect_word_number("0", true, 0);
	expect_word_number("9223372036854775807", true, INT64_MAX);
	expect_word_number("9223372036854775808", false, 0);
	expect_word_number("-1", false, 0);
	expect_word_number("7x", false, 0);
	expect_word_number("''", false, 0);
}

static void
expect_word_duration(const char *line, bool want_fine, uint64_t want)
{
	struct fixture f;
	uint64_t ms;

	cr_assert(parse(&f, line, 1, 1));
	cr_assert_eq(arguments_word_duration(&f.arguments, &f.context,
	    &command, 0, "the time", 60000, &ms), want_fine, "%s", line);
	(void)fflush(f.context.messages);	/* to memory */
	if (want_fine) {
		cr_assert_eq(ms, want, "%s", line);
	} else {
		cr_assert_not_null(strstr(f.said, "at most 1 min"), "%s",
		    line);
	}
	end(&f);
}

Test(arguments, read_words_that_are_durations_with_an_end)
{
	expect_word_duration("1ms", true, 1);
	expect_word_duration("1m", true, 60000);
	expect_word_duration("60001ms", false, 0);
	expect_word_duration("0", false, 0);
	expect_word_duration("0s", false, 0);
	expect_word_duration("10", false, 0);
	expect_word_duration("18446744073709551617ms", false, 0);
}
