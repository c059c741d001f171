/* SPDX-License-Identifier: ISC */

/*
 * What happened to an origin, told to the log once.  Workers.
 */
#ifndef ORIGIN_LOG_H
#define ORIGIN_LOG_H

#include "origin.h"

/* events are bits of enum origin_event, as an origin's function gave them. */
void	origin_log_events(struct origin *origin, unsigned events,
    struct boot_ms now);

#endif
