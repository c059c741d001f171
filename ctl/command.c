/* SPDX-License-Identifier: ISC */

#include "command.h"

#include <stdarg.h>
#include <string.h>

#include "cmd_help.h"
#include "cmd_trace.h"
#include "words.h"

static const struct command commands[] = {
	{
		.verb = "help",
		.usage = "[VERB]",
		.help = "list the verbs, or explain one",
		.example = "help trace replay",
		.run = cmd_help,
	},
	{
		.verb = "quit",
		.usage = "",
		.help = "leave the shell",
		.example = "quit",
		.run = cmd_quit,
	},
	{
		.verb = "trace replay",
		.usage = "FILE --size N[,N...] [--policy P[,P...]]",
		.help = "miss ratios of a request trace by policy and size",
		.example = "trace replay web.zst --policy weir,lru --size 64m",
		.run = cmd_trace_replay,
		.options = cmd_trace_replay_options,
		.value_at = cmd_trace_replay_value,
	},
};

#define COMMAND_COUNT	(sizeof(commands) / sizeof(commands[0]))

const struct command *
command_at(size_t number)
{
	return number < COMMAND_COUNT ? &commands[number] : NULL;
}

/* How many words the verb has if words begin with all of them, else 0. */
static size_t
match_verb(const char *verb, char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strcspn(verb, " ");

		if (strlen(words[i]) != length ||
		    memcmp(words[i], verb, length) != 0) {
			return 0;
		}
		verb += length;
		if (*verb == '\0') {
			return i + 1;
		}
		verb++;
	}
	return 0;
}

const struct command *
command_find(char *const *words, size_t count, size_t *used)
{
	const struct command *best = NULL;

	*used = 0;
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		size_t matched = match_verb(commands[i].verb, words, count);

		if (matched > *used) {
			best = &commands[i];
			*used = matched;
		}
	}
	return best;
}

void
command_complain(const struct command_context *context,
    const struct command *command, const char *format, ...)
{
	va_list args;

	fputs("weir-ctl: ", context->messages);
	if (command != NULL) {
		fprintf(context->messages, "%s: ", command->verb);
	}
	va_start(args, format);
	vfprintf(context->messages, format, args);
	va_end(args);
	fputc('\n', context->messages);
}

enum ctl_exit
command_run_line(struct command_context *context, char *line)
{
	struct words words;
	enum words_fault fault = words_split(&words, line);
	const struct command *command;
	size_t used;

	if (fault != WORDS_FINE) {
		command_complain(context, NULL, "%s",
		    words_fault_text(fault));
		return CTL_USAGE;
	}
	if (words.count == 0) {
		return CTL_OK;
	}
	command = command_find(words.at, words.count, &used);
	if (command == NULL) {
		command_complain(context, NULL, "no verb begins with '%s%s%s'"
		    "; 'help' lists them", words.at[0],
		    words.count > 1 ? " " : "",
		    words.count > 1 ? words.at[1] : "");
		return CTL_USAGE;
	}
	return command->run(context, command, (int)(words.count - used),
	    words.at + used);
}
