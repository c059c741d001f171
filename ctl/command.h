/* SPDX-License-Identifier: ISC */

/*
 * The verbs of weir-ctl: one table, from which dispatch, help and completion
 * are all made.  Handlers print results through the renderer and complain on
 * the message stream; they never exit.  One thread.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "output.h"

struct connect;

/* What a verb, and weir-ctl, ends with. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_FAILED = 1,
	CTL_USAGE = 2,
	CTL_NOT_FOUND = 3,
	CTL_NO_CONNECTION = 4,
	CTL_REFUSED = 5,
	CTL_TIMEOUT = 6,
	CTL_PARTIAL = 7,
};

struct command_context {
	struct output	*out;
	FILE		*messages;
	struct connect	*link;		/* to the daemon */
	const atomic_bool *stop;	/* set by Ctrl-C: end the verb */
	bool		quit;		/* set by a verb: run no more */
};

struct command {
	const char	*verb;		/* one or more words */
	const char	*usage;		/* what follows the verb */
	const char	*help;		/* one line */
	const char	*example;

	/* argv holds what follows the verb, and ends in NULL. */
	enum ctl_exit	(*run)(struct command_context *context,
			    const struct command *command, int argc,
			    char **argv);

	/* NULL-ended; NULL if there is none. */
	const char *const *options;

	/*
	 * The number-th known value of an option, NULL past the last; NULL
	 * if no option has known values.
	 */
	const char	*(*value_at)(const char *option, size_t number);

	/*
	 * The same of the words that follow the verb, which are numbered
	 * from 0, options left out.
	 */
	const char	*(*word_at)(size_t position, size_t number);
};

/* NULL past the last. */
const struct command *command_at(size_t number);

/*
 * The command whose verb begins words, the longest if several do; *used is
 * set to its count of words.  NULL if there is none.
 */
const struct command *command_find(char *const *words, size_t count,
    size_t *used);

/*
 * Run one line, which is cut up in place.  An empty one and a comment are
 * CTL_OK.
 */
enum ctl_exit command_run_line(struct command_context *context, char *line);

/* "weir-ctl: VERB: ..." on the message stream. */
void	command_complain(const struct command_context *context,
	    const struct command *command, const char *format, ...)
	    __attribute__((format(printf, 3, 4)));

#endif
