/* SPDX-License-Identifier: ISC */

/*
 * How the daemon is, and why: from the table of processes and the origins.
 * Workers, and whoever else maps the control segment.
 */
#ifndef HEALTH_H
#define HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "clock.h"
#include "control.h"
#include "origin.h"

/* A process that was not heard of for longer is reported. */
#define HEALTH_SILENCE_MS	3000u

enum health_state {
	HEALTH_READY,
	HEALTH_DEGRADED,	/* serves, but something is missing */
	HEALTH_DRAINING,	/* takes no new clients */
};

/* One call for each reason; the text is valid during the call. */
typedef void (health_reason_fn)(void *arg, const char *text);

/* origins are bound by the caller, as many as there are in count. */
enum health_state health_look(const struct control *control,
    struct origin *origins, uint32_t count, struct boot_ms now,
    health_reason_fn *fn, void *arg);

const char *health_name(enum health_state state);

/* The answer of /readyz.  False: new clients are not welcome. */
bool	health_write(FILE *out, const struct control *control,
    struct origin *origins, uint32_t count, struct boot_ms now);

#endif
