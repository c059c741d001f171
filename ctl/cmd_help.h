/* SPDX-License-Identifier: ISC */

/*
 * The verbs about the shell itself: help and quit.
 */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "command.h"

enum ctl_exit cmd_help(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_quit(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
