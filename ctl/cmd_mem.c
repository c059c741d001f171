/* SPDX-License-Identifier: ISC */

#include "cmd_mem.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "arguments.h"

#define TITLE_BYTES	48u
#define BYTES_SUFFIX	"_bytes"

/* Columns for whatever an object says in bytes. */
struct memory_columns {
	size_t		count;
	struct answer_column at[ANSWER_COLUMNS_MAX];
	char		titles[ANSWER_COLUMNS_MAX][TITLE_BYTES];
};

/* "page_table_bytes_estimate": "page table estimate". */
static bool
make_title(char title[TITLE_BYTES], const char *member)
{
	const char *suffix = strstr(member, BYTES_SUFFIX);

	if (suffix == NULL) {
		return false;
	}
	(void)snprintf(title, TITLE_BYTES, "%.*s%s", (int)(suffix - member),
	    member, suffix + strlen(BYTES_SUFFIX));	/* cut is fine */
	for (char *at = title; *at != '\0'; at++) {
		if (*at == '_') {
			*at = ' ';
		}
	}
	return true;
}

/* They live as long as the object. */
static void
make_columns(struct memory_columns *columns, json_t *object)
{
	const char *member;
	json_t *value;

	columns->count = 0;
	if (json_object_get(object, "name") != NULL) {
		columns->at[columns->count++] = (struct answer_column){
			.title = "pool", .member = "name",
			.kind = ANSWER_TEXT,
		};
	}
	json_object_foreach(object, member, value) {
		char *title = columns->titles[columns->count];

		if (columns->count + 1 < ANSWER_COLUMNS_MAX &&
		    json_is_number(value) && make_title(title, member)) {
			columns->at[columns->count++] =
			    (struct answer_column){
				.title = title, .member = member,
				.kind = ANSWER_BYTES,
			};
		}
	}
}

static enum ctl_exit
print_memory(const struct command_context *context,
    const struct command *command, json_t *object)
{
	struct memory_columns columns;

	make_columns(&columns, object);
	return answer_print_record(context, command, object, columns.at,
	    columns.count);
}

enum ctl_exit
cmd_mem(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	struct arguments arguments;
	json_t *answer;
	json_t *each;
	size_t i;
	enum ctl_exit result;

	(void)argc;		/* argv ends in NULL */
	if (!arguments_parse(&arguments, context, command, argv, 0, 0)) {
		return CTL_USAGE;
	}
	result = answer_ask(context, command, json_object(), &answer);
	if (result == CTL_OK && !answer_print_document(context, command,
	    answer, &result)) {
		json_array_foreach(json_object_get(answer, "pools"), i, each) {
			result = result != CTL_OK ? result :
			    print_memory(context, command, each);
			output_gap(context->out);
		}
		result = result != CTL_OK ? result :
		    print_memory(context, command, answer);
	}
	json_decref(answer);
	return result;
}

static enum ctl_exit
print_faults(const struct command_context *context,
    const struct command *command, const json_t *answer)
{
	static const struct answer_column columns[] = {
		{ "faults", "faults", ANSWER_COUNT },
	};
	static const struct answer_column list_columns[] = {
		{ "invariant", "invariant", ANSWER_TEXT },
		{ "shard", "shard", ANSWER_COUNT },
		{ "where", "where", ANSWER_COUNT },
		{ "what", "text", ANSWER_PROSE },
	};
	const json_t *list = json_object_get(answer, "list");
	enum ctl_exit result = answer_print_record(context, command, answer,
	    columns, sizeof(columns) / sizeof(columns[0]));

	if (result != CTL_OK || json_array_size(list) == 0) {
		return result;
	}
	output_gap(context->out);
	return answer_print_table(context, command, list, list_columns,
	    sizeof(list_columns) / sizeof(list_columns[0]));
}

enum ctl_exit
cmd_verify(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	struct arguments arguments;
	json_t *args = json_object();
	const char *pool;
	json_t *answer;
	enum ctl_exit result;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 0, 0)) {
		json_decref(args);
		return CTL_USAGE;
	}
	pool = arguments.values[ARGUMENT_POOL];
	if (pool != NULL) {
		/* Without memory the default pool is checked: it is named. */
		(void)json_object_set_new(args, "pool", json_string(pool));
	}
	result = answer_ask(context, command, args, &answer);
	if (result == CTL_OK && !answer_print_document(context, command,
	    answer, &result)) {
		result = print_faults(context, command, answer);
	}
	if (result == CTL_OK && answer_number(answer, "faults", 1) != 0) {
		result = CTL_PARTIAL;
	}
	json_decref(answer);
	return result;
}
