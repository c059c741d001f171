/* SPDX-License-Identifier: ISC */

#include "cmd_limiter.h"

#include <jansson.h>
#include <string.h>

#include "arguments.h"
#include "origin_answer.h"

/* Of an array. */
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

const char *const cmd_limiter_set_options[] = { "--reason", NULL };

/* Why callers are refused, and what can be done; an unknown one has no text. */
static const struct {
	const char	*reason;
	const char	*text;
} refusals[] = {
	{ "queue_full", "no place left to wait: a slow origin, or a flood" },
	{ "partition_queue_full", "one partition had its share of the places" },
	{ "client_cap", "one process had client_limit calls" },
	{ "background_shed", "refreshes that made way: stale was served" },
	{ "no_wait", "the caller did not want to wait" },
	{ "queue_timeout", "waited in vain: raise limit, if the origin can" },
	{ "breaker_open", "the breaker was open" },
};

static void
prepare(json_t *row)
{
	json_t *upload = json_object_get(row, "upload");

	origin_answer_sum(row);
	origin_answer_sum(upload);
	if (answer_number(row, "partition_queue", 1) == 0) {
		/* Without memory 0 is shown. */
		(void)json_object_set_new(row, "partition_queue",
		    json_string("a quarter"));
	}
}

/* An object of counts as rows; NULL without memory. */
static json_t *
refusal_rows(json_t *refused)
{
	json_t *rows = json_array();
	const char *reason;
	json_t *each;

	json_object_foreach(refused, reason, each) {
		const char *text = "";

		for (size_t i = 0; i < COUNT(refusals); i++) {
			if (strcmp(refusals[i].reason, reason) == 0) {
				text = refusals[i].text;
			}
		}
		if (json_array_append_new(rows, json_pack("{s:O, s:s, s:s}",
		    "count", each, "reason", reason, "text", text)) != 0) {
			json_decref(rows);
			return NULL;
		}
	}
	return rows;
}

static enum ctl_exit
print_refusals(const struct command_context *context,
    const struct command *command, const json_t *row)
{
	static const struct answer_column columns[] = {
		{ "refused", "count", ANSWER_COUNT },
		{ "reason", "reason", ANSWER_TEXT },
		{ "what", "text", ANSWER_PROSE },
	};
	json_t *rows = refusal_rows(json_object_get(row, "refused"));
	enum ctl_exit result;

	if (rows == NULL) {
		command_complain(context, command, "out of memory");
		return CTL_FAILED;
	}
	output_gap(context->out);
	result = answer_print_table(context, command, rows, columns,
	    COUNT(columns));
	json_decref(rows);
	return result;
}

static enum ctl_exit
print_one(const struct command_context *context,
    const struct command *command, const json_t *row)
{
	static const struct answer_column columns[] = {
		{ "origin", "name", ANSWER_TEXT },
		{ "limit", "limit", ANSWER_COUNT },
		{ "limit now", "limit_now", ANSWER_COUNT },
		{ "may be set to", "limit_max", ANSWER_COUNT },
		{ "adaptive", "adaptive", ANSWER_YES_NO },
		{ "calls", "in_flight", ANSWER_COUNT },
		{ "waiting", "waiting", ANSWER_COUNT },
		{ "may wait", "queue", ANSWER_COUNT },
		{ "for at most", "queue_wait_ms", ANSWER_MS },
		{ "of a partition", "partition_limit", ANSWER_CAP },
		{ "may wait of it", "partition_queue", ANSWER_COUNT },
		{ "of a host", "host_limit", ANSWER_CAP },
		{ "of a client", "client_limit", ANSWER_CAP },
		{ "headroom", "headroom", ANSWER_COUNT },
		{ "reserve percent", "reserve", ANSWER_COUNT },
		{ "granted", "granted", ANSWER_COUNT },
		{ "waited", "waited", ANSWER_COUNT },
		{ "upload percent", "upload_share", ANSWER_COUNT },
		{ "upload limit", "upload.limit", ANSWER_COUNT },
		{ "uploads", "upload.in_flight", ANSWER_COUNT },
		{ "uploads waiting", "upload.waiting", ANSWER_COUNT },
		{ "uploads granted", "upload.granted", ANSWER_COUNT },
		{ "uploads refused", "upload.refused_sum", ANSWER_COUNT },
	};
	enum ctl_exit result;

	_Static_assert(COUNT(columns) <= ANSWER_COLUMNS_MAX, "all fit");
	result = answer_print_record(context, command, row, columns,
	    COUNT(columns));
	return result != CTL_OK || answer_flag(row, "locked") ? result :
	    print_refusals(context, command, row);
}

enum ctl_exit
cmd_limiter_show(struct command_context *context,
    const struct command *command, int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "origin", "name", ANSWER_TEXT },
		{ "limit", "limit", ANSWER_COUNT },
		{ "now", "limit_now", ANSWER_COUNT },
		{ "calls", "in_flight", ANSWER_COUNT },
		{ "waiting", "waiting", ANSWER_COUNT },
		{ "queue", "queue", ANSWER_COUNT },
		{ "for", "queue_wait_ms", ANSWER_MS },
		{ "granted", "granted", ANSWER_COUNT },
		{ "refused", "refused_sum", ANSWER_COUNT },
	};
	static const struct origin_listing listing = {
		.verb = "limiter_show",
		.member = "limiters",
		.prepare = prepare,
		.columns = columns,
		.count = COUNT(columns),
		.print_one = print_one,
	};

	(void)argc;		/* argv ends in NULL, here and below */
	return origin_answer_list(context, command, argv, &listing);
}

enum ctl_exit
cmd_limiter_set(struct command_context *context,
    const struct command *command, int argc, char **argv)
{
	struct arguments arguments;
	uint64_t limit;
	json_t *args;
	bool fine;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 2, 2) ||
	    !arguments_word_number(&arguments, context, command, 1,
	    "the limit", &limit)) {
		return CTL_USAGE;
	}
	args = origin_answer_args(&arguments, context, command);
	if (args == NULL) {
		return CTL_USAGE;
	}
	fine = json_object_set_new(args, "limit",
	    json_integer((json_int_t)limit)) == 0;
	return origin_answer_change(context, command, "limiter_set", args,
	    fine, NULL);
}
