/* SPDX-License-Identifier: ISC */

/*
 * The verbs that show the daemon, and change nothing: ping, version, status,
 * pools, workers, clients and stats.  They need a daemon.
 */
#ifndef CMD_DAEMON_H
#define CMD_DAEMON_H

#include "command.h"

extern const char *const cmd_pool_options[];
extern const char *const cmd_stats_options[];

enum ctl_exit cmd_ping(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_version(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_status(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_pools(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_workers(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_clients(struct command_context *context,
    const struct command *command, int argc, char **argv);
enum ctl_exit cmd_stats(struct command_context *context,
    const struct command *command, int argc, char **argv);

#endif
