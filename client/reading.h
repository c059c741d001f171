/* SPDX-License-Identifier: ISC */

/*
 * What stands around every read of the pool: the lane, the attachment, the
 * time of the daemon's clock; afterwards the hint and the tick.  Inline, as
 * it is the hit path: no lock, no system call, no allocation.
 */
#ifndef READING_H
#define READING_H

#include <stdbool.h>

#include "clock.h"
#include "handle.h"
#include "lane.h"
#include "read.h"

struct reading {
	struct lane	*lane;
	const struct attachment *attachment;
	struct boot_ms	now;		/* of the daemon's clock */
};

/* Nothing is attached, or the heartbeat is old.  As reading_begin(). */
int	reading_begin_slow(struct weir *handle, struct reading *reading);

/* What a miss is called: NO_SERVER when there is no daemon to fill it. */
int	reading_miss(const struct weir *handle, struct lane *lane);

static inline void
reading_set_now(struct reading *reading)
{
	reading->now = clock_cached_now(&reading->lane->clock);
	reading->now.ms += (uint64_t)reading->attachment->clock_offset_ms;
}

static inline bool
reading_heartbeat_is_old(const struct reading *reading)
{
	/* Relaxed: a time to compare, which orders nothing. */
	return reading->now.ms > ATTACH_HEARTBEAT_OLD_MS +
	    atomic_load_explicit(
	    &reading->attachment->pool.header->heartbeat_ms,
	    memory_order_relaxed);
}

/* OK: read with lane->pool, then reading_end().  Else it is the result. */
static inline int
reading_begin(struct weir *handle, struct reading *reading)
{
	if (__builtin_expect(handle->disabled, 0)) {
		return MISS;
	}
	reading->lane = lane_of(handle);
	if (__builtin_expect(reading->lane == NULL, 0)) {
		return NO_MEMORY;
	}
	reading->attachment = lane_enter(handle, reading->lane);
	if (__builtin_expect(reading->attachment == NULL, 0)) {
		return reading_begin_slow(handle, reading);
	}
	reading_set_now(reading);
	if (__builtin_expect(reading_heartbeat_is_old(reading), 0)) {
		return reading_begin_slow(handle, reading);
	}
	return OK;
}

/* hit: what was found and used, or NULL. */
static inline void
reading_end(struct weir *handle, struct reading *reading,
    const struct read_hit *hit)
{
	struct lane *lane = reading->lane;

	lane_leave(lane);
	if (!handle->hints || lane->depth > 0) {
		return;
	}
	if (hit != NULL && slot_count(hit->slot_word) < SLOT_COUNT_MAX) {
		ring_out_hint(handle, lane, hit);
	}
	/* Relaxed: the tick looks again. */
	if (lane->clock.boot.ms >= atomic_load_explicit(
	    &handle->next_tick_ms, memory_order_relaxed)) {
		ring_out_tick(handle, lane);
	}
}

#endif
