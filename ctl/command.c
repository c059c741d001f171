/* SPDX-License-Identifier: ISC */

#include "command.h"

#include <stdarg.h>
#include <string.h>

#include "cmd_breaker.h"
#include "cmd_daemon.h"
#include "cmd_help.h"
#include "cmd_key.h"
#include "cmd_lease.h"
#include "cmd_limiter.h"
#include "cmd_mem.h"
#include "cmd_origin.h"
#include "cmd_purge.h"
#include "cmd_trace.h"
#include "daemon_names.h"
#include "words.h"

static const struct command commands[] = {
	{
		.verb = "breaker hold",
		.usage = "NAME (open|closed FOR | end) "
		    "[--reason TEXT] [--yes]",
		.help = "keep a breaker open or closed for a time",
		.example = "breaker hold default closed 10m",
		.run = cmd_breaker_hold,
		.options = cmd_breaker_options,
		.word_at = cmd_breaker_hold_word,
	},
	{
		.verb = "breaker list",
		.usage = "[NAME]",
		.help = "the breakers of the origins, or all of one",
		.example = "breaker list",
		.run = cmd_breaker_list,
		.word_at = daemon_names_word,
	},
	{
		.verb = "breaker reset",
		.usage = "NAME [--reason TEXT]",
		.help = "close a breaker and forget what failed",
		.example = "breaker reset default",
		.run = cmd_breaker_reset,
		.options = cmd_breaker_reset_options,
		.word_at = daemon_names_word,
	},
	{
		.verb = "breaker trip",
		.usage = "NAME [--reason TEXT] [--yes]",
		.help = "open a breaker as if the origin had failed",
		.example = "breaker trip default --reason 'a test' --yes",
		.run = cmd_breaker_trip,
		.options = cmd_breaker_options,
		.word_at = daemon_names_word,
	},
	{
		.verb = "clients",
		.usage = "",
		.help = "who is connected, and what each does",
		.example = "clients",
		.run = cmd_clients,
	},
	{
		.verb = "del",
		.usage = "KEY [--pool P]",
		.help = "remove a key",
		.example = "del user:7",
		.run = cmd_del,
		.options = cmd_pool_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "get",
		.usage = "KEY [--pool P]",
		.help = "show a value",
		.example = "get user:7",
		.run = cmd_get,
		.options = cmd_pool_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "help",
		.usage = "[VERB]",
		.help = "list the verbs, or explain one",
		.example = "help trace replay",
		.run = cmd_help,
	},
	{
		.verb = "inspect",
		.usage = "KEY [--pool P]",
		.help = "all of an entry but its value",
		.example = "inspect user:7",
		.run = cmd_inspect,
		.options = cmd_pool_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "leases",
		.usage = "[--limit N] [--pool P]",
		.help = "who computes which value, and who waits",
		.example = "leases --limit 20",
		.run = cmd_leases,
		.options = cmd_leases_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "limiter set",
		.usage = "NAME LIMIT [--reason TEXT]",
		.help = "how many calls an origin may have at once",
		.example = "limiter set default 32 --reason 'it is slow'",
		.run = cmd_limiter_set,
		.options = cmd_limiter_set_options,
		.word_at = daemon_names_word,
	},
	{
		.verb = "limiter show",
		.usage = "[NAME]",
		.help = "the limiters of the origins, or all of one",
		.example = "limiter show default",
		.run = cmd_limiter_show,
		.word_at = daemon_names_word,
	},
	{
		.verb = "mem",
		.usage = "",
		.help = "where the memory goes",
		.example = "mem",
		.run = cmd_mem,
	},
	{
		.verb = "mode",
		.usage = "NAME (stale-on-error|bypass FOR | normal) "
		    "[--reason TEXT] [--yes]",
		.help = "how an origin is treated during an incident",
		.example = "mode default stale-on-error 30m",
		.run = cmd_mode,
		.options = cmd_mode_options,
		.word_at = cmd_mode_word,
	},
	{
		.verb = "origins",
		.usage = "[NAME]",
		.help = "the origins and how they do, or all of one",
		.example = "origins",
		.run = cmd_origins,
		.word_at = daemon_names_word,
	},
	{
		.verb = "ping",
		.usage = "",
		.help = "ask whether the daemon answers",
		.example = "ping",
		.run = cmd_ping,
	},
	{
		.verb = "pools",
		.usage = "[--pool P]",
		.help = "the pools, or all of one",
		.example = "pools --pool default",
		.run = cmd_pools,
		.options = cmd_pool_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "purge",
		.usage = "(--all | --key K | --tag T) "
		    "[--how hard|invalid|soft] [--pool P] [--dry-run] [--yes]",
		.help = "make entries unusable: one key, a tag, or all",
		.example = "purge --tag product:17 --how soft --yes",
		.run = cmd_purge,
		.options = cmd_purge_options,
		.value_at = cmd_purge_value,
	},
	{
		.verb = "quit",
		.usage = "",
		.help = "leave the shell",
		.example = "quit",
		.run = cmd_quit,
	},
	{
		.verb = "scan",
		.usage = "[--prefix X] [--limit N] [--cursor C] [--pool P]",
		.help = "list keys",
		.example = "scan --prefix user: --limit 20",
		.run = cmd_scan,
		.options = cmd_scan_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "set",
		.usage = "KEY VALUE [--ttl D] [--soft-ttl D] [--tag T]... "
		    "[--if-absent | --if-version N] [--pool P]",
		.help = "store a value",
		.example = "set user:7 Ann --ttl 10m --tag users",
		.run = cmd_set,
		.options = cmd_set_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "stats",
		.usage = "[--all] [--pool P]",
		.help = "the counters of a pool",
		.example = "stats --all",
		.run = cmd_stats,
		.options = cmd_stats_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "status",
		.usage = "",
		.help = "whether all is well, at a glance",
		.example = "status",
		.run = cmd_status,
	},
	{
		.verb = "touch",
		.usage = "KEY --ttl D [--soft-ttl D] [--pool P]",
		.help = "set when a key expires",
		.example = "touch user:7 --ttl 1h",
		.run = cmd_touch,
		.options = cmd_touch_options,
		.value_at = daemon_names_value,
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
	{
		.verb = "verify",
		.usage = "[--pool P]",
		.help = "check every invariant of a pool",
		.example = "verify --pool default",
		.run = cmd_verify,
		.options = cmd_pool_options,
		.value_at = daemon_names_value,
	},
	{
		.verb = "version",
		.usage = "",
		.help = "versions of the shell and of the daemon",
		.example = "version",
		.run = cmd_version,
	},
	{
		.verb = "workers",
		.usage = "",
		.help = "the daemon's processes",
		.example = "workers",
		.run = cmd_workers,
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

/* A first word that needs a second one, or none that is known. */
static void
complain_unknown(const struct command_context *context,
    const struct words *words)
{
	size_t length = strlen(words->at[0]);
	bool is_half = false;

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strncmp(commands[i].verb, words->at[0], length) != 0 ||
		    commands[i].verb[length] != ' ') {
			continue;
		}
		if (!is_half) {
			command_complain(context, NULL, "'%s%s%s' is no verb, "
			    "but these are:", words->at[0],
			    words->count > 1 ? " " : "",
			    words->count > 1 ? words->at[1] : "");
		}
		fprintf(context->messages, "  %s\n", commands[i].verb);
		is_half = true;
	}
	if (!is_half) {
		command_complain(context, NULL, "no verb begins with '%s'; "
		    "'help' lists them", words->at[0]);
	}
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
		complain_unknown(context, &words);
		return CTL_USAGE;
	}
	return command->run(context, command, (int)(words.count - used),
	    words.at + used);
}
