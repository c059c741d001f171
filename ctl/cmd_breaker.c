/* SPDX-License-Identifier: ISC */

#include "cmd_breaker.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "confirm.h"
#include "connect.h"
#include "daemon_names.h"
#include "origin_answer.h"

/* Of an array. */
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

#define HOLD_OPEN	"open"
#define HOLD_CLOSED	"closed"
#define HOLD_END	"end"

const char *const cmd_breaker_options[] = { "--reason", "--yes", NULL };
const char *const cmd_breaker_reset_options[] = { "--reason", NULL };

static const char *const holds[] = { HOLD_CLOSED, HOLD_END, HOLD_OPEN };

const char *
cmd_breaker_hold_word(size_t position, size_t number)
{
	if (position == 0) {
		return daemon_names_origin(number);
	}
	return position == 1 && number < COUNT(holds) ? holds[number] : NULL;
}

static void
prepare(json_t *row)
{
	origin_answer_mark_off(row);
	origin_answer_name_holder(row, "probe", "probe_text");
	/* Without memory '-' is shown. */
	(void)json_object_set_new(row, "window_calls", json_integer(
	    (json_int_t)(answer_number(row, "window_successes", 0) +
	    answer_number(row, "window_failures", 0))));
}

static enum ctl_exit
print_one(const struct command_context *context,
    const struct command *command, const json_t *row)
{
	static const struct answer_column columns[] = {
		{ "origin", "name", ANSWER_TEXT },
		{ "breaker", "state", ANSWER_STATE },
		{ "since", "changed_ms_ago", ANSWER_MS },
		{ "held for", "hold_left_ms", ANSWER_MS },
		{ "tries again in", "open_left_ms", ANSWER_MS },
		{ "probe", "probe_text", ANSWER_TEXT },
		{ "generation", "generation", ANSWER_COUNT },
		{ "opened", "opened", ANSWER_COUNT },
		{ "scope", "scope", ANSWER_TEXT },
		{ "partitions open", "partitions_open", ANSWER_COUNT },
		{ "window", "window_ms", ANSWER_MS },
		{ "successes in it", "window_successes", ANSWER_COUNT },
		{ "failures in it", "window_failures", ANSWER_COUNT },
		{ "opens at calls", "calls", ANSWER_COUNT },
		{ "failed percent", "failures_percent", ANSWER_COUNT },
		{ "in partitions", "partitions", ANSWER_COUNT },
		{ "open for", "open_ms", ANSWER_MS },
		{ "at most", "open_max_ms", ANSWER_MS },
	};

	_Static_assert(COUNT(columns) <= ANSWER_COLUMNS_MAX, "all fit");
	return answer_print_record(context, command, row, columns,
	    COUNT(columns));
}

enum ctl_exit
cmd_breaker_list(struct command_context *context,
    const struct command *command, int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "origin", "name", ANSWER_TEXT },
		{ "breaker", "state", ANSWER_STATE },
		{ "since", "changed_ms_ago", ANSWER_MS },
		{ "held for", "hold_left_ms", ANSWER_MS },
		{ "tries in", "open_left_ms", ANSWER_MS },
		{ "failed", "window_failures", ANSWER_COUNT },
		{ "of", "window_calls", ANSWER_COUNT },
		{ "opened", "opened", ANSWER_COUNT },
	};
	static const struct origin_listing listing = {
		.verb = "breaker_list",
		.member = "breakers",
		.prepare = prepare,
		.columns = columns,
		.count = COUNT(columns),
		.print_one = print_one,
	};

	(void)argc;		/* argv ends in NULL, here and below */
	return origin_answer_list(context, command, argv, &listing);
}

/* A change that cuts callers off is asked for, unless --yes was given. */
static enum ctl_exit
confirm(const struct arguments *arguments,
    const struct command_context *context, const struct command *command)
{
	char question[CONNECT_TEXT_BYTES];

	if (arguments->values[ARGUMENT_YES] != NULL) {
		return CTL_OK;
	}
	(void)snprintf(question, sizeof(question), "Refuse all calls of "
	    "origin %s", arguments->words[0]);	/* a cut text is still one */
	return confirm_ask(context, command, question);
}

/* trip and reset: nothing but the origin. */
static enum ctl_exit
change(const struct command_context *context, const struct command *command,
    char **argv, const char *verb, bool asks)
{
	struct arguments arguments;
	enum ctl_exit result = CTL_OK;
	json_t *args;

	if (!arguments_parse(&arguments, context, command, argv, 1, 1)) {
		return CTL_USAGE;
	}
	if (asks) {
		result = confirm(&arguments, context, command);
	}
	if (result != CTL_OK) {
		return result;
	}
	args = origin_answer_args(&arguments, context, command);
	return args == NULL ? CTL_USAGE : origin_answer_change(context,
	    command, verb, args, true, NULL);
}

enum ctl_exit
cmd_breaker_trip(struct command_context *context,
    const struct command *command, int argc, char **argv)
{
	(void)argc;
	return change(context, command, argv, "breaker_trip", true);
}

enum ctl_exit
cmd_breaker_reset(struct command_context *context,
    const struct command *command, int argc, char **argv)
{
	(void)argc;
	return change(context, command, argv, "breaker_reset", false);
}

/* open and closed have a length, end has none: 0. */
static bool
check_hold(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    uint64_t *for_ms)
{
	const char *state = arguments->words[1];
	bool is_end = strcmp(state, HOLD_END) == 0;
	bool has_length = arguments->word_count == 3;

	if (!is_end && strcmp(state, HOLD_OPEN) != 0 &&
	    strcmp(state, HOLD_CLOSED) != 0) {
		command_complain(context, command, "the state is open, closed "
		    "or end, not '%s'", state);
		return false;
	}
	if (is_end == has_length) {
		command_complain(context, command, is_end ?
		    "end has no length" : "%s wants how long, such as 10m: "
		    "nobody has to remember to end it", state);
		return false;
	}
	*for_ms = 0;
	return is_end || arguments_word_duration(arguments, context, command,
	    2, "its length", ORIGIN_FOR_MAX_MS, for_ms);
}

enum ctl_exit
cmd_breaker_hold(struct command_context *context,
    const struct command *command, int argc, char **argv)
{
	struct arguments arguments;
	uint64_t for_ms;
	json_t *args;
	bool fine;
	enum ctl_exit result = CTL_OK;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 2, 3) ||
	    !check_hold(&arguments, context, command, &for_ms)) {
		return CTL_USAGE;
	}
	if (strcmp(arguments.words[1], HOLD_OPEN) == 0) {
		result = confirm(&arguments, context, command);
	}
	if (result != CTL_OK) {
		return result;
	}
	args = origin_answer_args(&arguments, context, command);
	if (args == NULL) {
		return CTL_USAGE;
	}
	fine = json_object_set_new(args, "for_ms",
	    json_integer((json_int_t)for_ms)) == 0 && (for_ms == 0 ||
	    json_object_set_new(args, "state",
	    json_string(arguments.words[1])) == 0);
	return origin_answer_change(context, command, "breaker_hold", args,
	    fine, "hold_left_ms");
}
