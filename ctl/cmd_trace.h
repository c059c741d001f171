/* SPDX-License-Identifier: ISC */

/*
 * The verb trace replay: a request trace through the simulator.  It needs
 * no daemon.
 */
#ifndef CMD_TRACE_H
#define CMD_TRACE_H

#include "command.h"

extern const char *const cmd_trace_replay_options[];

/* The policies, for --policy. */
const char *cmd_trace_replay_value(const char *option, size_t number);

enum ctl_exit cmd_trace_replay(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
