/* SPDX-License-Identifier: ISC */

#include "origin_answer.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "arguments.h"

#define COLUMNS_OF_CHANGE	4u

/* Says which could not be looked at.  CTL_PARTIAL if there was one. */
static enum ctl_exit
complain_locked(const struct command_context *context,
    const struct command *command, const json_t *rows)
{
	enum ctl_exit result = CTL_OK;
	size_t i;
	json_t *each;

	json_array_foreach(rows, i, each) {
		const char *name = json_string_value(json_object_get(each,
		    "name"));

		if (answer_flag(each, "locked")) {
			command_complain(context, command, "%s: a process "
			    "that is stopped holds its lock: no numbers",
			    name != NULL ? name : "an origin");
			result = CTL_PARTIAL;
		}
	}
	return result;
}

static enum ctl_exit
show(const struct command_context *context, const struct command *command,
    const struct origin_listing *listing, const json_t *rows, bool one)
{
	size_t i;
	json_t *each;

	json_array_foreach(rows, i, each) {
		if (listing->prepare != NULL) {
			listing->prepare(each);
		}
	}
	return one && json_array_size(rows) == 1 ?
	    listing->print_one(context, command, json_array_get(rows, 0)) :
	    answer_print_table(context, command, rows, listing->columns,
	    listing->count);
}

enum ctl_exit
origin_answer_list(const struct command_context *context,
    const struct command *command, char **argv,
    const struct origin_listing *listing)
{
	struct arguments arguments;
	const json_t *rows;
	json_t *args;
	json_t *answer;
	bool one;
	enum ctl_exit result;

	if (!arguments_parse(&arguments, context, command, argv, 0, 1)) {
		return CTL_USAGE;
	}
	one = arguments.word_count == 1;
	args = one ? origin_answer_args(&arguments, context, command) :
	    json_object();
	if (args == NULL) {
		return CTL_USAGE;
	}
	result = answer_ask_as(context, command, listing->verb, args,
	    &answer);
	if (result != CTL_OK) {
		return result;
	}
	rows = json_object_get(answer, listing->member);
	if (!answer_print_document(context, command, answer, &result)) {
		result = show(context, command, listing, rows, one);
	}
	if (result == CTL_OK) {
		result = complain_locked(context, command, rows);
	}
	json_decref(answer);
	return result;
}

json_t *
origin_answer_args(const struct arguments *arguments,
    const struct command_context *context, const struct command *command)
{
	const char *reason = arguments->values[ARGUMENT_REASON];
	json_t *args = json_object();

	if (json_object_set_new(args, "origin",
	    json_string(arguments->words[0])) != 0 || (reason != NULL &&
	    json_object_set_new(args, "reason", json_string(reason)) != 0)) {
		json_decref(args);
		command_complain(context, command, "out of memory, or a text "
		    "is not UTF-8");
		return NULL;
	}
	return args;
}

enum ctl_exit
origin_answer_change(const struct command_context *context,
    const struct command *command, const char *verb, json_t *args, bool fine,
    const char *left_member)
{
	const struct answer_column columns[COLUMNS_OF_CHANGE] = {
		{ "origin", "origin", ANSWER_TEXT },
		{ "was", "old", ANSWER_STATE },
		{ "is", "new", ANSWER_STATE },
		{ "ends in", left_member, ANSWER_MS },
	};
	size_t count = COLUMNS_OF_CHANGE - (left_member == NULL);
	json_t *answer;
	enum ctl_exit result;

	if (!fine) {
		json_decref(args);
		command_complain(context, command, "out of memory");
		return CTL_FAILED;
	}
	result = answer_ask_as(context, command, verb, args, &answer);
	if (result != CTL_OK) {
		return result;
	}
	if (!answer_print_document(context, command, answer, &result)) {
		result = answer_print_record(context, command, answer,
		    columns, count);
	}
	json_decref(answer);
	return result;
}

/* Of what cannot be made without memory '-' is shown. */
static void
put_for_people(json_t *row, const char *member, json_t *value)
{
	(void)json_object_set_new(row, member, value);
}

void
origin_answer_sum(json_t *limiter)
{
	json_t *refused = json_object_get(limiter, "refused");
	uint64_t sum = 0;
	const char *reason;
	json_t *each;

	if (refused == NULL) {
		return;
	}
	json_object_foreach(refused, reason, each) {
		sum += answer_number(refused, reason, 0);
	}
	put_for_people(limiter, "refused_sum", json_integer((json_int_t)sum));
}

void
origin_answer_mark_off(json_t *breaker)
{
	if (json_is_false(json_object_get(breaker, "enabled")) &&
	    !answer_flag(breaker, "held")) {
		put_for_people(breaker, "state", json_string("off"));
	}
}

void
origin_answer_name_holder(json_t *row, const char *member,
    const char *text_member)
{
	const json_t *holder = json_object_get(row, member);
	json_t *text = NULL;

	if (answer_flag(holder, "gone")) {
		text = json_string("gone");
	} else if (json_object_get(holder, "worker") != NULL) {
		text = json_sprintf("worker %" PRIu64, answer_number(holder,
		    "worker", 0));
	} else if (json_object_get(holder, "pid") != NULL) {
		text = json_sprintf("pid %" PRIu64, answer_number(holder,
		    "pid", 0));
	}
	if (text != NULL) {
		put_for_people(row, text_member, text);
	}
}
