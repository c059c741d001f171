/* SPDX-License-Identifier: ISC */

/*
 * The verb purge.  It asks before it does what cannot be taken back: at a
 * terminal the person there, elsewhere for --yes.
 */
#ifndef CMD_PURGE_H
#define CMD_PURGE_H

#include "command.h"

extern const char *const cmd_purge_options[];

/* The ways, for --how. */
const char *cmd_purge_value(const char *option, size_t number);

enum ctl_exit cmd_purge(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
