/* SPDX-License-Identifier: ISC */

/*
 * The verbs about whole origins: origins, which shows them, and mode, which
 * sets an incident mode.  They need a daemon.
 */
#ifndef CMD_ORIGIN_H
#define CMD_ORIGIN_H

#include "command.h"

extern const char *const cmd_mode_options[];

/* The values of the words of mode. */
const char *cmd_mode_word(size_t position, size_t number);

enum ctl_exit cmd_origins(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_mode(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
