/* SPDX-License-Identifier: ISC */

/*
 * What of a new configuration a running daemon takes.  The supervisor
 * alone.
 */
#ifndef SUPERVISOR_RELOAD_H
#define SUPERVISOR_RELOAD_H

#include "config.h"

/*
 * Copy the options that a reload may change.  Pools and origins are matched
 * by name; one that wanted does not have stays as it is.
 */
void	supervisor_merge_config(struct config *current,
    const struct config *wanted);

#endif
