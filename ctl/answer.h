/* SPDX-License-Identifier: ISC */

/*
 * From the daemon's answer to what is printed: the object itself for
 * programs, and for people rows of chosen members.  A member that is missing
 * or of another type than expected is shown as '-': the daemon may be of
 * another version.  One thread.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"

struct json_t;

enum answer_kind {
	ANSWER_TEXT,
	ANSWER_PROSE,		/* a text that may be wrapped; the last */
	ANSWER_STATE,		/* a text whose tone says good or bad */
	ANSWER_COUNT,
	ANSWER_CAP,		/* a count; 0 is none */
	ANSWER_VERSION,		/* unsigned, in the bits of a signed number */
	ANSWER_BYTES,
	ANSWER_MS,
	ANSWER_LEFT_MS,		/* time left; above all others is never */
	ANSWER_PERCENT,
	ANSWER_YES_NO,
	ANSWER_DATA,		/* any bytes: NAME or NAME64 */
	ANSWER_LIST,		/* of texts or numbers */
};

struct answer_column {
	const char	*title;		/* for people */
	const char	*member;	/* or "object.member" */
	enum answer_kind kind;
};

#define ANSWER_COLUMNS_MAX	24u

/*
 * Ask the daemon what the verb is called, with args, which is taken over.
 * CTL_OK: the caller releases *answer.  Otherwise it was complained.
 */
enum ctl_exit answer_ask(const struct command_context *context,
    const struct command *command, struct json_t *args,
    struct json_t **answer);

/* The same, where the daemon calls it otherwise. */
enum ctl_exit answer_ask_as(const struct command_context *context,
    const struct command *command, const char *verb, struct json_t *args,
    struct json_t **answer);

/*
 * Print the object for a program that reads.  False, with nothing done, if
 * a person does.  *result becomes CTL_FAILED if it cannot be printed.
 */
bool	answer_print_document(const struct command_context *context,
	    const struct command *command, const struct json_t *answer,
	    enum ctl_exit *result);

/* The object as a record, or the objects of an array as rows of a table. */
enum ctl_exit answer_print_record(const struct command_context *context,
    const struct command *command, const struct json_t *object,
    const struct answer_column *columns, size_t count);
enum ctl_exit answer_print_table(const struct command_context *context,
    const struct command *command, const struct json_t *array,
    const struct answer_column *columns, size_t count);

/* Members of an answer: fallback if it is missing or of another type. */
bool	answer_flag(const struct json_t *object, const char *member);
uint64_t answer_number(const struct json_t *object, const char *member,
    uint64_t fallback);

#endif
