/* SPDX-License-Identifier: ISC */

/*
 * How often an event may be logged.  Pure but for its own state, which is
 * one process's.
 */
#ifndef LOG_LIMIT_H
#define LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* A restart of all 64 workers at once still shows whole twice. */
#define LOG_LIMIT_LINES		128
#define LOG_LIMIT_WINDOW_MS	10000
#define LOG_LIMIT_EVENTS	64
#define LOG_EVENT_BYTES		40

struct log_limit_event {
	char		name[LOG_EVENT_BYTES];	/* "" is a free row */
	uint64_t	window_ms;	/* boot clock, begin of its window */
	uint32_t	lines;		/* written in the window */
	uint32_t	held;		/* not written */
};

struct log_limit {
	struct log_limit_event events[LOG_LIMIT_EVENTS];
};

/* True if a line of the event may be written now. */
bool	log_limit_take(struct log_limit *limit, const char *event,
    struct boot_ms now);

/*
 * A row whose window is over, or any row if all is set, that held lines
 * back: its event is copied to name (LOG_EVENT_BYTES) and the row begins
 * anew.  Answers how many lines, 0 when there is no such row.
 */
uint32_t log_limit_collect(struct log_limit *limit, struct boot_ms now,
    bool all, char *name);

#endif
