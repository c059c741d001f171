/* SPDX-License-Identifier: ISC */

#include "cmd_purge.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "arguments.h"
#include "byte_text.h"
#include "confirm.h"
#include "connect.h"
#include "daemon_names.h"

const char *const cmd_purge_options[] = {
	"--all", "--dry-run", "--how", "--key", "--pool", "--tag", "--yes",
	NULL,
};

static const char *const ways[] = { "hard", "invalid", "soft", NULL };

const char *
cmd_purge_value(const char *option, size_t number)
{
	if (strcmp(option, "--pool") == 0) {
		return daemon_names_pool(number);
	}
	return strcmp(option, "--how") == 0 &&
	    number < sizeof(ways) / sizeof(ways[0]) ? ways[number] : NULL;
}

/* The question, before the options are unescaped. */
static void
describe(const struct arguments *arguments, char *text, size_t room)
{
	const char *pool = arguments->values[ARGUMENT_POOL];
	const char *how = arguments->values[ARGUMENT_HOW];
	const char *key = arguments->values[ARGUMENT_KEY];
	const char *tag = arguments->values[ARGUMENT_TAG];
	const char *kind = key != NULL ? "key " : tag != NULL ? "tag " :
	    "everything";
	const char *name = key != NULL ? key : tag != NULL ? tag : "";

	(void)snprintf(text, room, "Purge %s%s of %s%s, %s", kind, name,
	    pool != NULL ? "pool " : "the pool", pool != NULL ? pool : "",
	    how != NULL ? how : ways[0]);	/* a cut text is still one */
}

static bool
check(const struct arguments *arguments,
    const struct command_context *context, const struct command *command)
{
	const char *how = arguments->values[ARGUMENT_HOW];
	int named = (arguments->values[ARGUMENT_ALL] != NULL) +
	    (arguments->values[ARGUMENT_KEY] != NULL) +
	    (int)arguments->tag_count;

	if (named != 1) {
		command_complain(context, command, "wants one of --all, --key "
		    "and --tag");
		return false;
	}
	for (size_t i = 0; how != NULL && ways[i] != NULL; i++) {
		if (strcmp(how, ways[i]) == 0) {
			return true;
		}
	}
	if (how != NULL) {
		command_complain(context, command, "--how is hard, invalid or "
		    "soft, not '%s'", how);
	}
	return how == NULL;
}

/* NULL if memory is short or an option's text is not UTF-8. */
static json_t *
make_args(const struct arguments *arguments)
{
	static const struct {
		enum argument	argument;
		const char	*name;
	} texts[] = {
		{ ARGUMENT_POOL, "pool" },
		{ ARGUMENT_HOW, "how" },
		{ ARGUMENT_TAG, "tag" },
	};
	json_t *args = json_object();
	char *key = arguments->values[ARGUMENT_KEY];
	bool fine = args != NULL && (key == NULL || byte_text_to_json(args,
	    "key", key, byte_text_unescape(key)));

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *text = arguments->values[texts[i].argument];

		fine = fine && (text == NULL || json_object_set_new(args,
		    texts[i].name, json_stringn(text,
		    byte_text_unescape(text))) == 0);
	}
	if (arguments->values[ARGUMENT_ALL] != NULL) {
		fine = fine && json_object_set_new(args, "all",
		    json_true()) == 0;
	}
	if (!fine) {
		json_decref(args);
		return NULL;
	}
	return args;
}

/*
 * The entries of a pool; if none is named, of the default or the only one,
 * as the daemon chooses.  -1 if there is no such pool.
 */
static int64_t
pool_entries(const json_t *pools, const char *pool)
{
	const char *wanted = pool != NULL ? pool : "default";
	bool only = pool == NULL && json_array_size(pools) == 1;
	size_t i;
	json_t *each;

	json_array_foreach(pools, i, each) {
		const char *name = json_string_value(json_object_get(each,
		    "name"));

		if (only || (name != NULL && strcmp(name, wanted) == 0)) {
			return (int64_t)answer_number(each, "entries", 0);
		}
	}
	return -1;
}

/*
 * How many entries are affected, -1 if nobody knows: a purge by tag is a
 * number that is compared at each read, and touches no entry.
 */
static enum ctl_exit
count_entries(const struct command_context *context,
    const struct command *command, const struct arguments *arguments,
    const json_t *args, int64_t *number)
{
	bool is_key = arguments->values[ARGUMENT_KEY] != NULL;
	struct command question = { .verb = is_key ? "get" : "pools" };
	json_t *answer;
	enum ctl_exit result = answer_ask(context, &question, is_key ?
	    json_deep_copy(args) : json_object(), &answer);

	if (result != CTL_OK) {
		return result;
	}
	*number = is_key ? answer_flag(answer, "found") :
	    pool_entries(json_object_get(answer, "pools"),
	    arguments->values[ARGUMENT_POOL]);
	json_decref(answer);
	if (*number < 0) {
		command_complain(context, command, "there is no such pool, "
		    "or several and none was named");
		return CTL_NOT_FOUND;
	}
	if (arguments->tag_count > 0) {
		*number = -1;
	}
	return CTL_OK;
}

/* In the form of the daemon's own answer, with dry_run in it. */
static json_t *
dry_answer(const struct arguments *arguments, int64_t number)
{
	return json_pack("{s:i, s:s, s:b, s:s, s:o}", "version", 1, "verb",
	    "purge", "dry_run", 1, "purged",
	    arguments->values[ARGUMENT_ALL] != NULL ? "all" :
	    arguments->values[ARGUMENT_KEY] != NULL ? "key" : "tag",
	    "entries", number < 0 ? json_null() :
	    json_integer((json_int_t)number));
}

static enum ctl_exit
print_answer(const struct command_context *context,
    const struct command *command, json_t *answer, bool dry)
{
	static const struct answer_column columns[] = {
		{ "purged", "purged", ANSWER_TEXT },
		{ "number", "number", ANSWER_COUNT },
	};
	static const struct answer_column dry_columns[] = {
		{ "would purge", "purged", ANSWER_TEXT },
		{ "entries", "entries", ANSWER_COUNT },
	};
	enum ctl_exit result = CTL_OK;

	if (answer == NULL) {
		command_complain(context, command, "out of memory");
		return CTL_FAILED;
	}
	if (!answer_print_document(context, command, answer, &result)) {
		result = answer_print_record(context, command, answer,
		    dry ? dry_columns : columns, 2);
	}
	json_decref(answer);
	return result;
}

enum ctl_exit
cmd_purge(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	struct arguments arguments;
	char what[CONNECT_TEXT_BYTES];
	json_t *args;
	json_t *answer = NULL;
	int64_t number;
	enum ctl_exit result = CTL_OK;
	bool dry;

	(void)argc;		/* argv ends in NULL */
	if (!arguments_parse(&arguments, context, command, argv, 0, 0) ||
	    !check(&arguments, context, command)) {
		return CTL_USAGE;
	}
	dry = arguments.values[ARGUMENT_DRY_RUN] != NULL;
	describe(&arguments, what, sizeof(what));
	if (!dry && arguments.values[ARGUMENT_YES] == NULL) {
		result = confirm_ask(context, command, what);
	}
	if (result != CTL_OK) {
		return result;
	}
	args = make_args(&arguments);
	if (args == NULL) {
		command_complain(context, command, "out of memory, or the "
		    "text of an option is not UTF-8");
		return CTL_FAILED;
	}
	if (!dry) {
		result = answer_ask(context, command, args, &answer);
	} else {
		result = count_entries(context, command, &arguments, args,
		    &number);
		json_decref(args);
		if (result == CTL_OK) {
			answer = dry_answer(&arguments, number);
		}
	}
	return result != CTL_OK ? result :
	    print_answer(context, command, answer, dry);
}
