/* SPDX-License-Identifier: ISC */

/*
 * The verbs about entries: get, set, del, touch, inspect, scan.  They need a
 * daemon.  In keys, values, tags and prefixes \xHH stands for a byte.
 */
#ifndef CMD_KEY_H
#define CMD_KEY_H

#include "command.h"

extern const char *const cmd_set_options[];
extern const char *const cmd_touch_options[];
extern const char *const cmd_scan_options[];

enum ctl_exit cmd_get(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_set(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_del(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_touch(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_inspect(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_scan(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
