/* SPDX-License-Identifier: ISC */

/*
 * The supervisor: starts the children, restarts those that die, reloads,
 * stops.  It runs no request's code and waits for signals and time alone.
 */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include <stdbool.h>

#include "config_load.h"
#include "options.h"

/*
 * Run the daemon until it is stopped.  draft is a configuration without
 * errors; it and the options have to stay.  The exit status.
 */
int	supervisor_run(struct config_draft *draft,
    const struct options *options);

#endif
