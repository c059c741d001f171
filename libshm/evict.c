/* SPDX-License-Identifier: ISC */

#include "evict.h"

/* The small queue's share of a shard. */
#define SMALL_SHARE_PCT		10u

/* Touches that carry an entry from small to main, and keep one in main. */
#define SMALL_MIN_TOUCHES	2u
#define MAIN_MIN_TOUCHES	1u

/*
 * The ghost's memory, as a share of the entries linked in the shard.  From
 * 100 to 120 the sample traces' miss ratios hardly change (at 90 and at 130
 * single rows lose 0.015): an extent's entries enter the ghost all at once,
 * so the last of them are an extent older than in a queue of objects.
 */
#define GHOST_SHARE_PCT		110u

/*
 * Forcing at the first poor pass costs up to 0.05 of miss ratio on traces
 * whose working set fits main (all of main is touched, and a forced extent
 * drops hot entries); at 16 it costs less than 0.001.  Entries are moved
 * less than once for each one stored even so, and one reclaim moves at most
 * 16 extents before it must drop one.
 */
#define POOR_PASSES_MAX		16u

enum evict_queue
evict_admit(bool in_ghost)
{
	return in_ghost ? EVICT_MAIN : EVICT_SMALL;
}

enum evict_queue
evict_victim(const struct evict_view *view)
{
	uint64_t small_pct = (uint64_t)view->small_extents * 100;
	uint64_t share_pct = (uint64_t)view->total_extents * SMALL_SHARE_PCT;

	if (view->main_extents == 0) {
		return EVICT_SMALL;
	}
	if (view->small_extents == 0) {
		return EVICT_MAIN;
	}
	return small_pct > share_pct ? EVICT_SMALL : EVICT_MAIN;
}

static struct evict_verdict
judge_small(unsigned count)
{
	/*
	 * A moved entry starts in main as if new: its touches in small have
	 * paid for the move, and main asks for fresh ones.
	 */
	if (count >= SMALL_MIN_TOUCHES) {
		return (struct evict_verdict){ EVICT_MOVE, EVICT_COUNT_NEW };
	}
	return (struct evict_verdict){ EVICT_DROP_TO_GHOST, 0 };
}

static struct evict_verdict
judge_main(unsigned count)
{
	if (count >= MAIN_MIN_TOUCHES) {
		return (struct evict_verdict){ EVICT_MOVE, count - 1 };
	}
	return (struct evict_verdict){ EVICT_DROP, 0 };
}

struct evict_verdict
evict_judge(enum evict_queue from, unsigned count, bool dead, bool force)
{
	if (count > EVICT_COUNT_MAX) {
		count = EVICT_COUNT_MAX;
	}
	if (dead || force) {
		return (struct evict_verdict){ EVICT_DROP, 0 };
	}
	return from == EVICT_SMALL ? judge_small(count) : judge_main(count);
}

bool
evict_pass_is_poor(uint64_t freed_bytes, uint64_t extent_bytes)
{
	/* Not freed * 2 < extent: that overflows for absurd input. */
	return freed_bytes < extent_bytes - extent_bytes / 2;
}

bool
evict_must_force(unsigned poor_passes)
{
	return poor_passes >= POOR_PASSES_MAX;
}

uint64_t
evict_ghost_limit(uint64_t small_entries, uint64_t main_entries)
{
	uint64_t limit;

	/*
	 * Not main_entries alone: while a pool fills for the first time all
	 * of it is in small, and a filter sized by the empty main would
	 * forget every key before it can come back.
	 */
	if (__builtin_add_overflow(small_entries, main_entries, &limit) ||
	    __builtin_mul_overflow(limit, GHOST_SHARE_PCT, &limit)) {
		return UINT64_MAX;
	}
	return limit / 100;
}
