/* SPDX-License-Identifier: ISC */

/*
 * The verbs about breakers: breaker list, trip, reset and hold.  They need a
 * daemon.
 */
#ifndef CMD_BREAKER_H
#define CMD_BREAKER_H

#include "command.h"

extern const char *const cmd_breaker_options[];
extern const char *const cmd_breaker_reset_options[];

/* The values of the words of breaker hold. */
const char *cmd_breaker_hold_word(size_t position, size_t number);

enum ctl_exit cmd_breaker_list(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_breaker_trip(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_breaker_reset(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_breaker_hold(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
