/* SPDX-License-Identifier: ISC */

/*
 * The slow halves of a read: attach first, or look for the daemon.
 */
#include "reading.h"

/* A new attachment may go again before it is read. */
#define BEGIN_TRIES	3

int
reading_begin_slow(struct weir *handle, struct reading *reading)
{
	struct lane *lane = reading->lane;
	int result = CLOSED;

	for (int tries = 0; tries < BEGIN_TRIES; tries++) {
		if (reading->attachment != NULL && lane->depth > 1) {
			/* Inside a callback nothing is replaced. */
			return OK;
		}
		lane_leave(lane);
		if (reading->attachment != NULL) {
			attach_look(handle, lane);
			result = OK;
		} else {
			result = attach_for_read(handle, lane);
		}
		if (result != OK) {
			return result;
		}
		reading->attachment = lane_enter(handle, lane);
		if (reading->attachment != NULL) {
			reading_set_now(reading);
			return OK;
		}
	}
	lane_leave(lane);
	return lane_fail(lane, CLOSED, "attached and lost again");
}

int
reading_miss(const struct weir *handle, struct lane *lane)
{
	/* Relaxed: a hint of what the last look found. */
	if (atomic_load_explicit(&handle->absent, memory_order_relaxed)) {
		return lane_fail(lane, NO_SERVER, "not in what is still "
		    "mapped, and no daemon answers");
	}
	return MISS;
}
