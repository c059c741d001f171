/* SPDX-License-Identifier: ISC */

/*
 * Where lines come from: -c, a script, or a person at a terminal.
 */
#ifndef SHELL_H
#define SHELL_H

#include <stdbool.h>
#include <stdio.h>

#include "command.h"

struct shell_options {
	bool		keep_going;	/* past a line that failed */
	bool		keep_history;
};

/* Returns what the first failing line ended with, else CTL_OK. */
enum ctl_exit shell_run_lines(struct command_context *context,
    const struct shell_options *options, char *const *lines, size_t count);

/* As above, with the lines of a stream; name is for messages. */
enum ctl_exit shell_run_script(struct command_context *context,
    const struct shell_options *options, FILE *script, const char *name);

/* Prompt until end of file or quit.  Failures of lines do not count. */
enum ctl_exit shell_run_terminal(struct command_context *context,
    const struct shell_options *options);

#endif
