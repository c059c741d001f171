/* SPDX-License-Identifier: ISC */

/*
 * The verb that shows who computes which key now: leases.  It needs a daemon.
 */
#ifndef CMD_LEASE_H
#define CMD_LEASE_H

#include "command.h"

extern const char *const cmd_leases_options[];

enum ctl_exit cmd_leases(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
