/* SPDX-License-Identifier: ISC */

/*
 * Windows of a fixed length, one an event.  A window begins with the first
 * line after the last one's end.
 */
#include "log_limit.h"

#include <stdio.h>
#include <string.h>

static bool
window_is_over(const struct log_limit_event *row, struct boot_ms now)
{
	return now.ms - row->window_ms >= LOG_LIMIT_WINDOW_MS;
}

static struct log_limit_event *
find_row(struct log_limit *limit, const char *event, struct boot_ms now)
{
	struct log_limit_event *unused = NULL;

	for (int i = 0; i < LOG_LIMIT_EVENTS; i++) {
		struct log_limit_event *row = &limit->events[i];

		if (strncmp(row->name, event, LOG_EVENT_BYTES - 1) == 0) {
			return row;
		}
		if (unused == NULL && (row->name[0] == '\0' ||
		    (row->held == 0 && window_is_over(row, now)))) {
			unused = row;
		}
	}
	if (unused != NULL) {
		(void)snprintf(unused->name, sizeof(unused->name), "%s",
		    event);
		unused->window_ms = now.ms;
		unused->lines = 0;
		unused->held = 0;
	}
	return unused;
}

bool
log_limit_take(struct log_limit *limit, const char *event,
    struct boot_ms now)
{
	struct log_limit_event *row = find_row(limit, event, now);

	/* More kinds of events than rows at once: rather written than lost. */
	if (row == NULL) {
		return true;
	}
	if (row->held == 0 && window_is_over(row, now)) {
		row->window_ms = now.ms;
		row->lines = 0;
	}
	if (row->lines < LOG_LIMIT_LINES) {
		row->lines++;
		return true;
	}
	row->held++;
	return false;
}

uint32_t
log_limit_collect(struct log_limit *limit, struct boot_ms now, bool all,
    char *name)
{
	for (int i = 0; i < LOG_LIMIT_EVENTS; i++) {
		struct log_limit_event *row = &limit->events[i];

		if (row->held != 0 && (all || window_is_over(row, now))) {
			uint32_t held = row->held;

			memcpy(name, row->name, LOG_EVENT_BYTES);
			row->held = 0;
			row->lines = 0;
			row->window_ms = now.ms;
			return held;
		}
	}
	return 0;
}
