/* SPDX-License-Identifier: ISC */

/*
 * What follows a verb that asks the daemon: options, in any place, and other
 * words.  All such verbs share one set of options; which of them a verb
 * takes is in its row of the command table.  One thread.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"

#define ARGUMENTS_WORDS_MAX	3u
#define ARGUMENTS_TAGS_MAX	32u

enum argument {
	ARGUMENT_ALL,
	ARGUMENT_CURSOR,
	ARGUMENT_DRY_RUN,
	ARGUMENT_HOW,
	ARGUMENT_IF_ABSENT,
	ARGUMENT_IF_VERSION,
	ARGUMENT_KEY,
	ARGUMENT_LIMIT,
	ARGUMENT_POOL,
	ARGUMENT_PREFIX,
	ARGUMENT_REASON,
	ARGUMENT_SOFT_TTL,
	ARGUMENT_TAG,
	ARGUMENT_TTL,
	ARGUMENT_YES,
	ARGUMENT_COUNT,
};

/* They point into the words of the line. */
struct arguments {
	char		*words[ARGUMENTS_WORDS_MAX];
	size_t		word_count;
	char		*values[ARGUMENT_COUNT];	/* NULL: not given */
	char		*tags[ARGUMENTS_TAGS_MAX];
	size_t		tag_count;
};

/* Whether the option, without its "=", has a value behind it. */
bool	arguments_has_value(const char *option);

/*
 * False, after a complaint, for an option that the command does not take, a
 * missing value, or not between min and max other words.
 */
bool	arguments_parse(struct arguments *arguments,
	    const struct command_context *context,
	    const struct command *command, char **argv, size_t min,
	    size_t max);

/*
 * The number that a word has to be, or the duration of 1 ms to most_ms; what
 * it is called.  False, after a complaint, if it is none.
 */
bool	arguments_word_number(const struct arguments *arguments,
	    const struct command_context *context,
	    const struct command *command, size_t word, const char *what,
	    uint64_t *value);
bool	arguments_word_duration(const struct arguments *arguments,
	    const struct command_context *context,
	    const struct command *command, size_t word, const char *what,
	    uint64_t most_ms, uint64_t *ms);

/*
 * The number or duration of an option, fallback if it was not given.  False,
 * after a complaint, if it is none.
 */
bool	arguments_number(const struct arguments *arguments,
	    const struct command_context *context,
	    const struct command *command, enum argument argument,
	    uint64_t fallback, uint64_t *value);
bool	arguments_duration(const struct arguments *arguments,
	    const struct command_context *context,
	    const struct command *command, enum argument argument,
	    uint64_t fallback, uint64_t *ms);

/*
 * The value of --if-version, 0 if it was not given.  A version is unsigned;
 * in JSON it is the signed number of the same bits, and both are taken.
 */
bool	arguments_version(const struct arguments *arguments,
	    const struct command_context *context,
	    const struct command *command, uint64_t *version);

#endif
