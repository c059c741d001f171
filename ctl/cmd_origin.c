/* SPDX-License-Identifier: ISC */

#include "cmd_origin.h"

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

#define MODE_NORMAL	"normal"
#define MODE_BYPASS	"bypass"

const char *const cmd_mode_options[] = { "--reason", "--yes", NULL };

static const char *const modes[] = {
	MODE_BYPASS, MODE_NORMAL, "stale-on-error", NULL,
};

const char *
cmd_mode_word(size_t position, size_t number)
{
	if (position == 0) {
		return daemon_names_origin(number);
	}
	return position == 1 && number < COUNT(modes) ? modes[number] : NULL;
}

static void
prepare(json_t *row)
{
	json_t *breaker = json_object_get(row, "breaker");

	origin_answer_sum(row);
	origin_answer_sum(json_object_get(row, "upload"));
	origin_answer_mark_off(breaker);
}

static enum ctl_exit
print_one(const struct command_context *context,
    const struct command *command, const json_t *row)
{
	static const struct answer_column columns[] = {
		{ "origin", "name", ANSWER_TEXT },
		{ "mode", "mode", ANSWER_STATE },
		{ "mode ends in", "mode_left_ms", ANSWER_MS },
		{ "breaker", "breaker.state", ANSWER_STATE },
		{ "held for", "breaker.hold_left_ms", ANSWER_MS },
		{ "tries again in", "breaker.open_left_ms", ANSWER_MS },
		{ "limit now", "limit_now", ANSWER_COUNT },
		{ "calls", "in_flight", ANSWER_COUNT },
		{ "waiting", "waiting", ANSWER_COUNT },
		{ "upload limit", "upload.limit", ANSWER_COUNT },
		{ "uploads", "upload.in_flight", ANSWER_COUNT },
		{ "uploads waiting", "upload.waiting", ANSWER_COUNT },
		{ "granted", "granted", ANSWER_COUNT },
		{ "waited", "waited", ANSWER_COUNT },
		{ "refused", "refused_sum", ANSWER_COUNT },
		{ "uploads refused", "upload.refused_sum", ANSWER_COUNT },
		{ "successes", "successes", ANSWER_COUNT },
		{ "failures", "failures", ANSWER_COUNT },
		{ "neutral", "neutral", ANSWER_COUNT },
		{ "overdue", "overdue", ANSWER_COUNT },
		{ "freed by death", "swept", ANSWER_COUNT },
		{ "miss floods", "miss_flood.floods", ANSWER_COUNT },
		{ "last flooded", "miss_flood.last_partition", ANSWER_TEXT },
		{ "repairs", "rebuilt", ANSWER_COUNT },
	};

	_Static_assert(COUNT(columns) <= ANSWER_COLUMNS_MAX, "all fit");
	return answer_print_record(context, command, row, columns,
	    COUNT(columns));
}

enum ctl_exit
cmd_origins(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "origin", "name", ANSWER_TEXT },
		{ "breaker", "breaker.state", ANSWER_STATE },
		{ "mode", "mode", ANSWER_STATE },
		{ "limit", "limit_now", ANSWER_COUNT },
		{ "calls", "in_flight", ANSWER_COUNT },
		{ "waiting", "waiting", ANSWER_COUNT },
		{ "refused", "refused_sum", ANSWER_COUNT },
		{ "failed", "failures", ANSWER_COUNT },
	};
	static const struct origin_listing listing = {
		.verb = "origins",
		.member = "origins",
		.prepare = prepare,
		.columns = columns,
		.count = COUNT(columns),
		.print_one = print_one,
	};

	(void)argc;		/* argv ends in NULL, here and below */
	return origin_answer_list(context, command, argv, &listing);
}

/* The mode is one that there is, and has an end unless it is normal. */
static bool
check_mode(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    uint64_t *for_ms)
{
	const char *mode = arguments->words[1];
	bool is_normal = strcmp(mode, MODE_NORMAL) == 0;
	bool has_end = arguments->word_count == 3;
	size_t i = 0;

	while (modes[i] != NULL && strcmp(modes[i], mode) != 0) {
		i++;
	}
	if (modes[i] == NULL) {
		command_complain(context, command, "the mode is normal, "
		    "stale-on-error or bypass, not '%s'", mode);
		return false;
	}
	if (is_normal == has_end) {
		command_complain(context, command, is_normal ?
		    "normal has no end" : "%s wants how long, such as 10m: "
		    "nobody has to remember to end it", mode);
		return false;
	}
	*for_ms = 0;
	return is_normal || arguments_word_duration(arguments, context,
	    command, 2, "its length", ORIGIN_FOR_MAX_MS, for_ms);
}

enum ctl_exit
cmd_mode(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	struct arguments arguments;
	char question[CONNECT_TEXT_BYTES];
	uint64_t for_ms;
	json_t *args;
	bool fine;
	enum ctl_exit result = CTL_OK;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 2, 3) ||
	    !check_mode(&arguments, context, command, &for_ms)) {
		return CTL_USAGE;
	}
	if (strcmp(arguments.words[1], MODE_BYPASS) == 0 &&
	    arguments.values[ARGUMENT_YES] == NULL) {
		(void)snprintf(question, sizeof(question), "Have each miss "
		    "of origin %s computed apart, and store none",
		    arguments.words[0]);	/* a cut text is still one */
		result = confirm_ask(context, command, question);
	}
	if (result != CTL_OK) {
		return result;
	}
	args = origin_answer_args(&arguments, context, command);
	if (args == NULL) {
		return CTL_USAGE;
	}
	fine = json_object_set_new(args, "mode",
	    json_string(arguments.words[1])) == 0 && (for_ms == 0 ||
	    json_object_set_new(args, "for_ms",
	    json_integer((json_int_t)for_ms)) == 0);
	return origin_answer_change(context, command, "mode_set", args, fine,
	    "mode_left_ms");
}
