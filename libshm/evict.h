/* SPDX-License-Identifier: ISC */

/*
 * The S3-FIFO policy: which queue an entry enters, which queue gives up an
 * extent, and what happens to each entry of that extent.  Pure decisions;
 * nothing here touches memory, takes a lock or keeps state, so the
 * segment's reclaim and the trace simulator run the same code.  Any process
 * may call.
 *
 *	insert --> [ small, 10% of the extents ] --touched twice--> [ main ]
 *	    \              |                                       |     ^
 *	     \             v untouched or once             untouched     |
 *	      \       ghost filter                              |   touched:
 *	       `--- in the ghost filter: straight to main       v   moved again
 *	                                                     dropped
 *
 * A count is the 2-bit access counter of an entry: every insert starts at
 * EVICT_COUNT_NEW, every hit adds one up to EVICT_COUNT_MAX.  Counts come
 * from shared memory: out of range values are read as the maximum.
 */
#ifndef EVICT_H
#define EVICT_H

#include <stdbool.h>
#include <stdint.h>

#define EVICT_COUNT_NEW	0u	/* of an entry that was just stored */
#define EVICT_COUNT_MAX	3u	/* two bits */

enum evict_queue {
	EVICT_SMALL,
	EVICT_MAIN,
};

/*
 * What a shard's extents hold now, the open extents included and the empty
 * extent kept for moves left out.  An extent that is being reclaimed still
 * counts in its queue.
 */
struct evict_view {
	uint32_t	small_extents;
	uint32_t	main_extents;
	uint32_t	total_extents;	/* what the shard may use in all */
};

enum evict_action {
	EVICT_DROP,		/* unlink */
	EVICT_DROP_TO_GHOST,	/* unlink, and put the hash into the ghost */
	EVICT_MOVE,		/* append to main, with verdict.count */
};

struct evict_verdict {
	enum evict_action action;
	unsigned	count;	/* of the moved entry; 0 when dropped */
};

/* The queue a new entry enters; in_ghost is what ghost_take() said. */
enum evict_queue evict_admit(bool in_ghost);

/*
 * The queue whose oldest extent goes next.  Never names a queue without
 * extents while the other has some.
 */
enum evict_queue evict_victim(const struct evict_view *view);

/*
 * What becomes of one entry of a victim extent.  dead: expired or purged.
 * force: this pass must free the whole extent, whatever the counts say.
 */
struct evict_verdict evict_judge(enum evict_queue from, unsigned count,
    bool dead, bool force);

/*
 * True if a pass freed too little: less than half an extent, the moved
 * entries' bytes taken off.
 */
bool	evict_pass_is_poor(uint64_t freed_bytes, uint64_t extent_bytes);

/*
 * Whether the next pass of a reclaim must be forced, after that many poor
 * passes of the same reclaim.  Without it a shard whose every entry is
 * touched all the time would move entries for ever and refuse all sets.
 *
 *	poor = 0
 *	while no extent to hand out but the spare one:
 *		freed = pass(evict_must_force(poor))
 *		poor += evict_pass_is_poor(freed, extent_bytes)
 *
 * A forced pass frees a whole extent, so this ends.
 */
bool	evict_must_force(unsigned poor_passes);

/*
 * How many later insertions the ghost filter remembers an entry for, from
 * the entries linked in the shard: the limit of ghost_insert().
 */
uint64_t evict_ghost_limit(uint64_t small_entries, uint64_t main_entries);

#endif
