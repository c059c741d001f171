/* SPDX-License-Identifier: ISC */

#include "cmd_daemon.h"

#include <jansson.h>
#include <string.h>

#include "answer.h"
#include "arguments.h"
#include "weir.h"

/* Of an array. */
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

const char *const cmd_pool_options[] = { "--pool", NULL };
const char *const cmd_stats_options[] = { "--all", "--pool", NULL };

/* An object with the pool in it if one was named. */
static json_t *
pool_args(const struct arguments *arguments)
{
	const char *pool = arguments->values[ARGUMENT_POOL];

	return pool == NULL ? json_object() :
	    json_pack("{s:s}", "pool", pool);
}

/* Ask without arguments, and show the object or leave it to the caller. */
static enum ctl_exit
ask_plainly(const struct command_context *context,
    const struct command *command, char **argv, json_t **answer, bool *shown)
{
	struct arguments arguments;
	enum ctl_exit result;

	*answer = NULL;
	*shown = false;
	if (!arguments_parse(&arguments, context, command, argv, 0, 0)) {
		return CTL_USAGE;
	}
	result = answer_ask(context, command, json_object(), answer);
	if (result == CTL_OK) {
		*shown = answer_print_document(context, command, *answer,
		    &result);
	}
	return result;
}

static enum ctl_exit
show_record(const struct command_context *context,
    const struct command *command, char **argv,
    const struct answer_column *columns, size_t count)
{
	json_t *answer;
	bool shown;
	enum ctl_exit result = ask_plainly(context, command, argv, &answer,
	    &shown);

	if (result == CTL_OK && !shown) {
		result = answer_print_record(context, command, answer,
		    columns, count);
	}
	json_decref(answer);
	return result;
}

static enum ctl_exit
show_table(const struct command_context *context,
    const struct command *command, char **argv, const char *member,
    const struct answer_column *columns, size_t count)
{
	json_t *answer;
	bool shown;
	enum ctl_exit result = ask_plainly(context, command, argv, &answer,
	    &shown);

	if (result == CTL_OK && !shown) {
		result = answer_print_table(context, command,
		    json_object_get(answer, member), columns, count);
	}
	json_decref(answer);
	return result;
}

enum ctl_exit
cmd_ping(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "answer to", "verb", ANSWER_TEXT },
	};

	(void)argc;		/* argv ends in NULL, here and below */
	return show_record(context, command, argv, columns, COUNT(columns));
}

enum ctl_exit
cmd_version(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "weir-ctl", "weir_ctl", ANSWER_TEXT },
		{ "weird", "weird", ANSWER_TEXT },
		{ "layout", "layout", ANSWER_TEXT },
		{ "protocol", "protocol", ANSWER_TEXT },
	};
	struct arguments arguments;
	json_t *answer;
	enum ctl_exit result;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 0, 0)) {
		return CTL_USAGE;
	}
	result = answer_ask(context, command, json_object(), &answer);
	if (result != CTL_OK) {
		return result;
	}
	if (json_object_set_new(answer, "weir_ctl",
	    json_string(WEIR_VERSION_STRING)) != 0) {
		command_complain(context, command, "out of memory");
		result = CTL_FAILED;
	} else if (!answer_print_document(context, command, answer,
	    &result)) {
		result = answer_print_record(context, command, answer,
		    columns, COUNT(columns));
	}
	json_decref(answer);
	return result;
}

static enum ctl_exit
print_status(const struct command_context *context,
    const struct command *command, const json_t *answer)
{
	static const struct answer_column columns[] = {
		{ "state", "state", ANSWER_STATE },
		{ "reasons", "reasons", ANSWER_LIST },
		{ "up for", "uptime_ms", ANSWER_MS },
		{ "supervisor", "supervisor_pid", ANSWER_COUNT },
		{ "workers", "workers", ANSWER_COUNT },
		{ "clients", "clients", ANSWER_COUNT },
		{ "most clients", "max_clients", ANSWER_COUNT },
		{ "reloads", "reloads", ANSWER_COUNT },
		{ "failed", "reloads_failed", ANSWER_COUNT },
		{ "boot id", "boot_id", ANSWER_TEXT },
	};
	static const struct answer_column pool_columns[] = {
		{ "pool", "name", ANSWER_TEXT },
		{ "entries", "entries", ANSWER_COUNT },
		{ "memory", "memory_bytes", ANSWER_BYTES },
	};
	enum ctl_exit result = answer_print_record(context, command, answer,
	    columns, COUNT(columns));

	output_gap(context->out);
	return result != CTL_OK ? result : answer_print_table(context,
	    command, json_object_get(answer, "pools"), pool_columns,
	    COUNT(pool_columns));
}

enum ctl_exit
cmd_status(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	json_t *answer;
	const char *state;
	bool shown;
	enum ctl_exit result = ask_plainly(context, command, argv, &answer,
	    &shown);

	(void)argc;
	if (result == CTL_OK && !shown) {
		result = print_status(context, command, answer);
	}
	state = json_string_value(json_object_get(answer, "state"));
	if (result == CTL_OK && (state == NULL ||
	    strcmp(state, "ready") != 0)) {
		result = CTL_PARTIAL;
	}
	json_decref(answer);
	return result;
}

/* All of one pool; the caller has shown what a table has room for. */
static enum ctl_exit
print_pool(const struct command_context *context,
    const struct command *command, const json_t *pools, const char *name)
{
	static const struct answer_column columns[] = {
		{ "name", "name", ANSWER_TEXT },
		{ "entries", "entries", ANSWER_COUNT },
		{ "hit ratio", "hit_ratio", ANSWER_PERCENT },
		{ "memory", "memory_bytes", ANSWER_BYTES },
		{ "segment", "segment_bytes", ANSWER_BYTES },
		{ "private", "private_bytes", ANSWER_BYTES },
		{ "extent", "extent_bytes", ANSWER_BYTES },
		{ "extents", "extents", ANSWER_COUNT },
		{ "free extents", "extents_free", ANSWER_COUNT },
		{ "shards", "shards", ANSWER_COUNT },
		{ "largest value", "value_max_bytes", ANSWER_BYTES },
		{ "largest inline", "inline_max_bytes", ANSWER_BYTES },
		{ "epoch", "epoch", ANSWER_COUNT },
	};
	size_t i;
	json_t *each;

	json_array_foreach(pools, i, each) {
		const char *its = json_string_value(json_object_get(each,
		    "name"));

		if (its != NULL && strcmp(its, name) == 0) {
			return answer_print_record(context, command, each,
			    columns, COUNT(columns));
		}
	}
	command_complain(context, command, "there is no pool '%s'", name);
	return CTL_NOT_FOUND;
}

enum ctl_exit
cmd_pools(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "pool", "name", ANSWER_TEXT },
		{ "entries", "entries", ANSWER_COUNT },
		{ "hit ratio", "hit_ratio", ANSWER_PERCENT },
		{ "memory", "memory_bytes", ANSWER_BYTES },
		{ "extents", "extents", ANSWER_COUNT },
		{ "free", "extents_free", ANSWER_COUNT },
		{ "largest value", "value_max_bytes", ANSWER_BYTES },
	};
	struct arguments arguments;
	const char *name;
	json_t *answer;
	enum ctl_exit result;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 0, 0)) {
		return CTL_USAGE;
	}
	name = arguments.values[ARGUMENT_POOL];
	result = answer_ask(context, command, pool_args(&arguments), &answer);
	if (result == CTL_OK && !answer_print_document(context, command,
	    answer, &result)) {
		const json_t *pools = json_object_get(answer, "pools");

		result = name != NULL ? print_pool(context, command, pools,
		    name) : answer_print_table(context, command, pools,
		    columns, COUNT(columns));
	}
	json_decref(answer);
	return result;
}

enum ctl_exit
cmd_workers(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "", "index", ANSWER_COUNT },
		{ "role", "role", ANSWER_TEXT },
		{ "pid", "pid", ANSWER_COUNT },
		{ "state", "state", ANSWER_STATE },
		{ "up for", "started_ms_ago", ANSWER_MS },
		{ "beat", "heartbeat_ms_ago", ANSWER_MS },
		{ "deaths", "restarts", ANSWER_COUNT },
		{ "conns", "connections", ANSWER_COUNT },
		{ "requests", "requests", ANSWER_COUNT },
		{ "bad", "hangups", ANSWER_COUNT },
	};

	(void)argc;
	return show_table(context, command, argv, "workers", columns,
	    COUNT(columns));
}

enum ctl_exit
cmd_clients(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "pid", "pid", ANSWER_COUNT },
		{ "uid", "uid", ANSWER_COUNT },
		{ "on", "worker", ANSWER_COUNT },
		{ "here for", "connected_ms", ANSWER_MS },
		{ "requests", "requests", ANSWER_COUNT },
		{ "hits", "hits", ANSWER_COUNT },
		{ "misses", "misses", ANSWER_COUNT },
		{ "stale", "stale", ANSWER_COUNT },
		{ "pool", "pool", ANSWER_TEXT },
	};

	(void)argc;
	return show_table(context, command, argv, "clients", columns,
	    COUNT(columns));
}

/* Drops the counters that are 0. */
static void
drop_zeros(json_t *counters)
{
	size_t i = 0;

	while (i < json_array_size(counters)) {
		if (answer_number(json_array_get(counters, i), "value",
		    1) == 0) {
			(void)json_array_remove(counters, i);	/* is there */
		} else {
			i++;
		}
	}
}

enum ctl_exit
cmd_stats(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column derived_columns[] = {
		{ "hit ratio", "hit_ratio", ANSWER_PERCENT },
	};
	static const struct answer_column columns[] = {
		{ "value", "value", ANSWER_COUNT },
		{ "counter", "name", ANSWER_TEXT },
		{ "what", "help", ANSWER_PROSE },
	};
	struct arguments arguments;
	json_t *answer;
	json_t *counters;
	enum ctl_exit result;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 0, 0)) {
		return CTL_USAGE;
	}
	result = answer_ask(context, command, pool_args(&arguments), &answer);
	if (result == CTL_OK && !answer_print_document(context, command,
	    answer, &result)) {
		counters = json_object_get(answer, "counters");
		if (arguments.values[ARGUMENT_ALL] == NULL) {
			drop_zeros(counters);
		}
		result = answer_print_record(context, command,
		    json_object_get(answer, "derived"), derived_columns,
		    COUNT(derived_columns));
		output_gap(context->out);
		result = result != CTL_OK ? result : answer_print_table(
		    context, command, counters, columns, COUNT(columns));
	}
	json_decref(answer);
	return result;
}
