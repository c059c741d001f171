/* SPDX-License-Identifier: ISC */

#include "arguments.h"

#include <string.h>

#include "duration.h"

static const struct {
	const char	*name;
	bool		has_value;
} known[ARGUMENT_COUNT] = {
	[ARGUMENT_ALL] = { "--all", false },
	[ARGUMENT_CURSOR] = { "--cursor", true },
	[ARGUMENT_DRY_RUN] = { "--dry-run", false },
	[ARGUMENT_HOW] = { "--how", true },
	[ARGUMENT_IF_ABSENT] = { "--if-absent", false },
	[ARGUMENT_IF_VERSION] = { "--if-version", true },
	[ARGUMENT_KEY] = { "--key", true },
	[ARGUMENT_LIMIT] = { "--limit", true },
	[ARGUMENT_POOL] = { "--pool", true },
	[ARGUMENT_PREFIX] = { "--prefix", true },
	[ARGUMENT_REASON] = { "--reason", true },
	[ARGUMENT_SOFT_TTL] = { "--soft-ttl", true },
	[ARGUMENT_TAG] = { "--tag", true },
	[ARGUMENT_TTL] = { "--ttl", true },
	[ARGUMENT_YES] = { "--yes", false },
};

bool
arguments_has_value(const char *option)
{
	for (size_t i = 0; i < ARGUMENT_COUNT; i++) {
		if (strcmp(known[i].name, option) == 0) {
			return known[i].has_value;
		}
	}
	return false;
}

static bool
takes(const struct command *command, const char *word, size_t length)
{
	for (size_t i = 0; command->options != NULL &&
	    command->options[i] != NULL; i++) {
		if (strlen(command->options[i]) == length &&
		    memcmp(command->options[i], word, length) == 0) {
			return true;
		}
	}
	return false;
}

/* ARGUMENT_COUNT if the command takes no such option. */
static enum argument
find(const struct command *command, const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; takes(command, word, length) &&
	    i < ARGUMENT_COUNT; i++) {
		if (strlen(known[i].name) == length &&
		    memcmp(known[i].name, word, length) == 0) {
			return (enum argument)i;
		}
	}
	return ARGUMENT_COUNT;
}

/* The option at *argv, which is moved to its value if that is apart. */
static bool
parse_option(struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    char ***argv)
{
	char *word = **argv;
	enum argument argument = find(command, word);
	char *equals = strchr(word, '=');

	if (argument == ARGUMENT_COUNT) {
		command_complain(context, command, "no option '%s'; usage: "
		    "%s %s", word, command->verb, command->usage);
		return false;
	}
	if (!known[argument].has_value) {
		arguments->values[argument] = word;
		if (equals != NULL) {
			command_complain(context, command, "%s takes no "
			    "value", known[argument].name);
		}
		return equals == NULL;
	}
	if (equals == NULL && (*argv)[1] == NULL) {
		command_complain(context, command, "%s wants a value", word);
		return false;
	}
	if (equals == NULL) {
		++*argv;
	}
	arguments->values[argument] = equals != NULL ? equals + 1 : **argv;
	if (argument == ARGUMENT_TAG) {
		if (arguments->tag_count == ARGUMENTS_TAGS_MAX) {
			command_complain(context, command, "more than %u "
			    "tags", ARGUMENTS_TAGS_MAX);
			return false;
		}
		arguments->tags[arguments->tag_count++] =
		    arguments->values[argument];
	}
	return true;
}

bool
arguments_parse(struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    char **argv, size_t min, size_t max)
{
	bool only_words = false;	/* after "--" */

	memset(arguments, 0, sizeof(*arguments));
	for (; *argv != NULL; argv++) {
		if (!only_words && strcmp(*argv, "--") == 0) {
			only_words = true;
		} else if (!only_words && strncmp(*argv, "--", 2) == 0) {
			if (!parse_option(arguments, context, command,
			    &argv)) {
				return false;
			}
		} else if (arguments->word_count == max) {
			command_complain(context, command, "'%s' is too much; "
			    "usage: %s %s", *argv, command->verb,
			    command->usage);
			return false;
		} else {
			arguments->words[arguments->word_count++] = *argv;
		}
	}
	if (arguments->word_count < min) {
		command_complain(context, command, "something is missing; "
		    "usage: %s %s", command->verb, command->usage);
		return false;
	}
	return true;
}

static bool
parse_number(const char *text, uint64_t *value)
{
	const char *at = text;

	*value = 0;
	while (*at >= '0' && *at <= '9' &&
	    !__builtin_mul_overflow(*value, 10u, value) &&
	    !__builtin_add_overflow(*value, (uint64_t)(*at - '0'), value)) {
		at++;
	}
	return at != text && *at == '\0';
}

bool
arguments_word_number(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    size_t word, const char *what, uint64_t *value)
{
	/* JSON's integers are signed here. */
	if (!parse_number(arguments->words[word], value) ||
	    *value > INT64_MAX) {
		command_complain(context, command, "%s is a whole number, not "
		    "'%s'", what, arguments->words[word]);
		return false;
	}
	return true;
}

bool
arguments_word_duration(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    size_t word, const char *what, uint64_t most_ms, uint64_t *ms)
{
	char most[DURATION_TEXT_BYTES];

	if (!duration_parse(arguments->words[word], ms) || *ms == 0 ||
	    *ms > most_ms) {
		duration_format(most, most_ms);
		command_complain(context, command, "%s is a duration such as "
		    "30s, 10m or 2h, at most %s, not '%s'", what, most,
		    arguments->words[word]);
		return false;
	}
	return true;
}

bool
arguments_number(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    enum argument argument, uint64_t fallback, uint64_t *value)
{
	const char *text = arguments->values[argument];

	*value = fallback;
	/* JSON's integers are signed here. */
	if (text != NULL && (!parse_number(text, value) ||
	    *value > INT64_MAX)) {
		command_complain(context, command, "%s wants a whole number, "
		    "not '%s'", known[argument].name, text);
		return false;
	}
	return true;
}

bool
arguments_version(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    uint64_t *version)
{
	const char *text = arguments->values[ARGUMENT_IF_VERSION];
	bool negative = text != NULL && text[0] == '-';

	*version = 0;
	if (text != NULL && !parse_number(text + negative, version)) {
		command_complain(context, command, "%s wants a version, not "
		    "'%s'", known[ARGUMENT_IF_VERSION].name, text);
		return false;
	}
	if (negative) {
		*version = -*version;	/* the same bits */
	}
	return true;
}

bool
arguments_duration(const struct arguments *arguments,
    const struct command_context *context, const struct command *command,
    enum argument argument, uint64_t fallback, uint64_t *ms)
{
	const char *text = arguments->values[argument];

	*ms = fallback;
	if (text != NULL && (!duration_parse(text, ms) || *ms > INT64_MAX)) {
		command_complain(context, command, "%s wants a duration such "
		    "as 250ms, 10s, 5m, 2h, 1d, or 0, not '%s'",
		    known[argument].name, text);
		return false;
	}
	return true;
}
