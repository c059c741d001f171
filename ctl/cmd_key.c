/* SPDX-License-Identifier: ISC */

#include "cmd_key.h"

#include <jansson.h>
#include <string.h>

#include "answer.h"
#include "arguments.h"
#include "byte_text.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))	/* entries */

#define SCAN_LIMIT	50u	/* keys of one scan: a screen or two */

const char *const cmd_set_options[] = {
	"--if-absent", "--if-version", "--pool", "--soft-ttl", "--tag",
	"--ttl", NULL,
};
const char *const cmd_touch_options[] = {
	"--pool", "--soft-ttl", "--ttl", NULL,
};
const char *const cmd_scan_options[] = {
	"--cursor", "--limit", "--pool", "--prefix", NULL,
};

static bool
put_data(json_t *args, const char *name, char *text)
{
	size_t length = byte_text_unescape(text);

	return byte_text_to_json(args, name, text, length);
}

static bool
put_number(json_t *args, const char *name, uint64_t value)
{
	return json_object_set_new(args, name,
	    json_integer((json_int_t)value)) == 0;
}

/* The arguments that all these verbs share; NULL if memory is short. */
static json_t *
start_args(const struct arguments *arguments)
{
	json_t *args = json_object();
	const char *pool = arguments->values[ARGUMENT_POOL];
	bool fine = pool == NULL || json_object_set_new(args, "pool",
	    json_string(pool)) == 0;

	if (arguments->word_count > 0) {
		fine = fine && put_data(args, "key", arguments->words[0]);
	}
	if (!fine) {
		json_decref(args);
		return NULL;
	}
	return args;
}

/* Ask with the finished args; fine tells whether they are. */
static enum ctl_exit
ask(const struct command_context *context, const struct command *command,
    json_t *args, bool fine, json_t **answer)
{
	*answer = NULL;
	if (args == NULL || !fine) {
		json_decref(args);
		command_complain(context, command, "out of memory, or the "
		    "text of an option is not UTF-8");
		return CTL_FAILED;
	}
	return answer_ask(context, command, args, answer);
}

/*
 * Show the answer, and release it.  flag names its member that says whether
 * there was such a key; NULL if there is none.
 */
static enum ctl_exit
show(const struct command_context *context, const struct command *command,
    json_t *answer, const char *flag, const struct answer_column *columns,
    size_t count)
{
	bool found = flag == NULL || answer_flag(answer, flag);
	enum ctl_exit result = CTL_OK;

	if (!answer_print_document(context, command, answer, &result)) {
		if (found) {
			result = answer_print_record(context, command, answer,
			    columns, count);
		} else {
			command_complain(context, command, "there is no such "
			    "key");
		}
	}
	if (result == CTL_OK && !found) {
		result = CTL_NOT_FOUND;
	} else if (result == CTL_OK && answer_flag(answer, "truncated")) {
		result = CTL_PARTIAL;
	}
	json_decref(answer);
	return result;
}

static enum ctl_exit
ask_and_show(const struct command_context *context,
    const struct command *command, char **argv, const char *flag,
    const struct answer_column *columns, size_t count)
{
	struct arguments arguments;
	json_t *answer;
	enum ctl_exit result;

	if (!arguments_parse(&arguments, context, command, argv, 1, 1)) {
		return CTL_USAGE;
	}
	result = ask(context, command, start_args(&arguments), true, &answer);
	return result != CTL_OK ? result :
	    show(context, command, answer, flag, columns, count);
}

enum ctl_exit
cmd_get(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "value", "value", ANSWER_DATA },
		{ "bytes", "value_bytes", ANSWER_COUNT },
		{ "version", "version_id", ANSWER_VERSION },
		{ "age", "age_ms", ANSWER_MS },
		{ "expires in", "ttl_ms", ANSWER_LEFT_MS },
		{ "stale in", "soft_ttl_ms", ANSWER_LEFT_MS },
		{ "stale", "stale", ANSWER_YES_NO },
		{ "counter", "is_counter", ANSWER_YES_NO },
		{ "cut", "truncated", ANSWER_YES_NO },
	};

	(void)argc;		/* argv ends in NULL, here and below */
	return ask_and_show(context, command, argv, "found", columns,
	    COUNT(columns));
}

enum ctl_exit
cmd_del(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "deleted", "deleted", ANSWER_YES_NO },
	};

	(void)argc;
	return ask_and_show(context, command, argv, "deleted", columns,
	    COUNT(columns));
}

enum ctl_exit
cmd_inspect(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "version", "version_id", ANSWER_VERSION },
		{ "freshness", "freshness", ANSWER_TEXT },
		{ "age", "age_ms", ANSWER_MS },
		{ "expires in", "ttl_ms", ANSWER_LEFT_MS },
		{ "stale in", "soft_ttl_ms", ANSWER_LEFT_MS },
		{ "key bytes", "bytes.key", ANSWER_COUNT },
		{ "value bytes", "bytes.value", ANSWER_COUNT },
		{ "overhead", "bytes.overhead", ANSWER_COUNT },
		{ "queue", "queue", ANSWER_TEXT },
		{ "count", "count", ANSWER_COUNT },
		{ "refreshing", "refresh", ANSWER_YES_NO },
		{ "counter", "is_counter", ANSWER_YES_NO },
		{ "shard", "shard", ANSWER_COUNT },
		{ "sequence", "sequence", ANSWER_COUNT },
		{ "extent", "extent", ANSWER_COUNT },
		{ "offset", "offset", ANSWER_COUNT },
		{ "epoch", "epoch", ANSWER_COUNT },
		{ "flags", "flags", ANSWER_COUNT },
		{ "tag hashes", "tags", ANSWER_LIST },
	};

	(void)argc;
	return ask_and_show(context, command, argv, "found", columns,
	    COUNT(columns));
}

/* --ttl and --soft-ttl, where given. */
static bool
put_times(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    json_t *args, bool *fine)
{
	uint64_t ttl_ms, soft_ttl_ms;

	if (!arguments_duration(arguments, context, command, ARGUMENT_TTL, 0,
	    &ttl_ms) || !arguments_duration(arguments, context, command,
	    ARGUMENT_SOFT_TTL, 0, &soft_ttl_ms)) {
		return false;
	}
	*fine = *fine && put_number(args, "ttl_ms", ttl_ms) &&
	    put_number(args, "soft_ttl_ms", soft_ttl_ms);
	return true;
}

static bool
put_condition(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    json_t *args, bool *fine)
{
	bool absent = arguments->values[ARGUMENT_IF_ABSENT] != NULL;
	bool has_version = arguments->values[ARGUMENT_IF_VERSION] != NULL;
	uint64_t version;

	if (absent && has_version) {
		command_complain(context, command, "--if-absent and "
		    "--if-version exclude each other");
		return false;
	}
	if (!arguments_version(arguments, context, command, &version)) {
		return false;
	}
	if (absent || has_version) {
		*fine = *fine && json_object_set_new(args, "when",
		    json_string(absent ? "absent" : "version")) == 0;
	}
	if (has_version) {
		*fine = *fine && put_number(args, "version_id", version);
	}
	return true;
}

/* The daemon takes tags as texts: those that are none are refused here. */
static bool
put_tags(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    json_t *args, bool *fine)
{
	json_t *tags = json_array();

	for (size_t i = 0; i < arguments->tag_count; i++) {
		size_t length = byte_text_unescape(arguments->tags[i]);
		json_t *tag = json_stringn(arguments->tags[i], length);

		if (tag == NULL) {
			command_complain(context, command, "a tag is not "
			    "UTF-8: only programs can use that");
			json_decref(tags);
			return false;
		}
		*fine = json_array_append_new(tags, tag) == 0 && *fine;
	}
	*fine = json_object_set_new(args, "tags", tags) == 0 && *fine;
	return true;
}

enum ctl_exit
cmd_set(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "version", "version_id", ANSWER_VERSION },
	};
	struct arguments arguments;
	json_t *args;
	json_t *answer;
	bool fine;
	enum ctl_exit result;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 2, 2)) {
		return CTL_USAGE;
	}
	args = start_args(&arguments);
	fine = args != NULL &&
	    put_data(args, "value", arguments.words[1]);
	if (!put_times(&arguments, context, command, args, &fine) ||
	    !put_condition(&arguments, context, command, args, &fine) ||
	    !put_tags(&arguments, context, command, args, &fine)) {
		json_decref(args);
		return CTL_USAGE;
	}
	result = ask(context, command, args, fine, &answer);
	return result != CTL_OK ? result : show(context, command, answer,
	    NULL, columns, COUNT(columns));
}

enum ctl_exit
cmd_touch(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const struct answer_column columns[] = {
		{ "touched", "touched", ANSWER_YES_NO },
	};
	struct arguments arguments;
	json_t *args;
	json_t *answer;
	bool fine = true;
	enum ctl_exit result;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 1, 1)) {
		return CTL_USAGE;
	}
	if (arguments.values[ARGUMENT_TTL] == NULL) {
		command_complain(context, command, "--ttl is missing; 0 is "
		    "never");
		return CTL_USAGE;
	}
	args = start_args(&arguments);
	if (!put_times(&arguments, context, command, args, &fine)) {
		json_decref(args);
		return CTL_USAGE;
	}
	result = ask(context, command, args, fine, &answer);
	return result != CTL_OK ? result : show(context, command, answer,
	    "touched", columns, COUNT(columns));
}

static enum ctl_exit
print_scan(const struct command_context *context,
    const struct command *command, const json_t *answer)
{
	static const struct answer_column columns[] = {
		{ "bytes", "value_bytes", ANSWER_BYTES },
		{ "age", "age_ms", ANSWER_MS },
		{ "expires in", "ttl_ms", ANSWER_LEFT_MS },
		{ "count", "count", ANSWER_COUNT },
		{ "key", "key", ANSWER_DATA },
	};
	static const struct answer_column more_columns[] = {
		{ "more with --cursor", "cursor", ANSWER_COUNT },
	};
	enum ctl_exit result = answer_print_table(context, command,
	    json_object_get(answer, "items"), columns, COUNT(columns));

	if (result != CTL_OK || answer_number(answer, "cursor", 0) == 0) {
		return result;
	}
	output_gap(context->out);
	return answer_print_record(context, command, answer, more_columns,
	    COUNT(more_columns));
}

enum ctl_exit
cmd_scan(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	struct arguments arguments;
	uint64_t limit, cursor;
	json_t *args;
	json_t *answer;
	bool fine;
	enum ctl_exit result;

	(void)argc;
	if (!arguments_parse(&arguments, context, command, argv, 0, 0) ||
	    !arguments_number(&arguments, context, command, ARGUMENT_LIMIT,
	    SCAN_LIMIT, &limit) || !arguments_number(&arguments, context,
	    command, ARGUMENT_CURSOR, 0, &cursor)) {
		return CTL_USAGE;
	}
	args = start_args(&arguments);
	fine = args != NULL && put_number(args, "limit", limit) &&
	    put_number(args, "cursor", cursor);
	if (arguments.values[ARGUMENT_PREFIX] != NULL) {
		fine = fine && put_data(args, "prefix",
		    arguments.values[ARGUMENT_PREFIX]);
	}
	result = ask(context, command, args, fine, &answer);
	if (result == CTL_OK && !answer_print_document(context, command,
	    answer, &result)) {
		result = print_scan(context, command, answer);
	}
	json_decref(answer);
	return result;
}
