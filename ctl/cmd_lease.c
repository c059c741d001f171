/* SPDX-License-Identifier: ISC */

#include "cmd_lease.h"

#include <inttypes.h>
#include <jansson.h>

#include "answer.h"
#include "arguments.h"
#include "origin_answer.h"

const char *const cmd_leases_options[] = { "--limit", "--pool", NULL };

static enum ctl_exit
print_leases(const struct command_context *context,
    const struct command *command, const json_t *answer)
{
	static const struct answer_column columns[] = {
		{ "state", "state", ANSWER_STATE },
		{ "leader", "leader_text", ANSWER_TEXT },
		{ "age", "age_ms", ANSWER_MS },
		{ "left", "left_ms", ANSWER_MS },
		{ "waiters", "waiters", ANSWER_COUNT },
		{ "failed", "failures", ANSWER_COUNT },
		{ "code", "code_text", ANSWER_TEXT },
		{ "key hash", "key_hash", ANSWER_TEXT },
	};
	const json_t *rows = json_object_get(answer, "leases");
	size_t i;
	json_t *each;

	json_array_foreach(rows, i, each) {
		const json_t *code = json_object_get(each, "code");

		origin_answer_name_holder(each, "leader", "leader_text");
		/* It is the caller's, and may be below 0. */
		if (json_is_integer(code)) {
			(void)json_object_set_new(each, "code_text",
			    json_sprintf("%" JSON_INTEGER_FORMAT,
			    json_integer_value(code)));
		}
	}
	return answer_print_table(context, command, rows, columns,
	    sizeof(columns) / sizeof(columns[0]));
}

/* What is not in the list. */
static enum ctl_exit
complain_of_rest(const struct command_context *context,
    const struct command *command, const json_t *answer)
{
	uint64_t locked = answer_number(answer, "shards_locked", 0);

	if (locked > 0) {
		command_complain(context, command, "%" PRIu64 " shards could "
		    "not be looked at: a process that is stopped holds their "
		    "locks", locked);
		return CTL_PARTIAL;
	}
	if (answer_flag(answer, "more")) {
		command_complain(context, command, "there are more; --limit "
		    "shows them");
	}
	return CTL_OK;
}

enum ctl_exit
cmd_leases(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	struct arguments arguments;
	json_t *args = json_object();
	const char *pool;
	uint64_t limit;
	json_t *answer;
	bool fine = true;
	enum ctl_exit result;

	(void)argc;		/* argv ends in NULL */
	if (!arguments_parse(&arguments, context, command, argv, 0, 0) ||
	    !arguments_number(&arguments, context, command, ARGUMENT_LIMIT, 0,
	    &limit)) {
		json_decref(args);
		return CTL_USAGE;
	}
	pool = arguments.values[ARGUMENT_POOL];
	if (pool != NULL) {
		fine = json_object_set_new(args, "pool",
		    json_string(pool)) == 0;
	}
	if (arguments.values[ARGUMENT_LIMIT] != NULL) {
		fine = fine && json_object_set_new(args, "limit",
		    json_integer((json_int_t)limit)) == 0;
	}
	if (!fine) {
		json_decref(args);
		command_complain(context, command, "out of memory, or the "
		    "name is not UTF-8");
		return CTL_FAILED;
	}
	result = answer_ask(context, command, args, &answer);
	if (result == CTL_OK && !answer_print_document(context, command,
	    answer, &result)) {
		result = print_leases(context, command, answer);
	}
	if (result == CTL_OK) {
		result = complain_of_rest(context, command, answer);
	}
	json_decref(answer);
	return result;
}
