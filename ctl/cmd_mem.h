/* SPDX-License-Identifier: ISC */

/*
 * The verbs about a pool's memory: mem, which adds it up, and verify, which
 * checks it.  They need a daemon and change nothing.
 */
#ifndef CMD_MEM_H
#define CMD_MEM_H

#include "command.h"

enum ctl_exit cmd_mem(struct command_context *context,
    const struct command *command, int argc, char **argv);

/* CTL_PARTIAL if there are faults. */
enum ctl_exit cmd_verify(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
