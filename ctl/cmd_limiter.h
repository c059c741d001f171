/* SPDX-License-Identifier: ISC */

/*
 * The verbs about limiters: limiter show and limiter set.  They need a
 * daemon.
 */
#ifndef CMD_LIMITER_H
#define CMD_LIMITER_H

#include "command.h"

extern const char *const cmd_limiter_set_options[];

enum ctl_exit cmd_limiter_show(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_limiter_set(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
