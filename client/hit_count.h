/* SPDX-License-Identifier: ISC */

/*
 * Hits that the daemon never sees, counted by partition for its detector of
 * floods of misses: a thread's next LEASE of that partition says how many
 * there were.
 *
 * One hit in HIT_COUNT_EVERY is counted, for all of them: the hash of a name
 * costs as much as all else that a fetch adds to a get.  Which ones is left to
 * chance, since programs have a rhythm of their own.
 *
 * A few rows to a lane.  A partition whose row is another's wears that one
 * down before it takes over, so that the heavy ones keep theirs; what is lost
 * makes a partition look as if it missed more, where many are as heavy.
 */
#ifndef HIT_COUNT_H
#define HIT_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "lane.h"
#include "weir.h"

/* A power of two, here its bits. */
#define HIT_COUNT_BITS	3
#define HIT_COUNT_EVERY	(1u << HIT_COUNT_BITS)

/* One that is counted. */
void	hit_count_add(struct lane *lane, const struct weir_origin *origin);

/* A value was served without asking. */
static inline void
hit_count_note(struct lane *lane, const struct weir_origin *origin)
{
	if (origin->partition_length == 0) {
		return;
	}
	lane->hits_draw = lane->hits_draw * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	if (__builtin_expect(lane->hits_draw >> (64 - HIT_COUNT_BITS) == 0,
	    0)) {
		hit_count_add(lane, origin);
	}
}

/* Of the bytes of a name, all of them. */
uint64_t hit_count_hash(const void *partition, size_t length);

/* Since the last time; they are told now. */
uint32_t hit_count_take(struct lane *lane, const struct weir_origin *origin);

/*
 * The same for a caller that reads by itself, with what knows of no origin:
 * all hits of the thread, which may be too many, and so hide a flood, but
 * never make one.
 */
uint32_t hit_count_take_all(struct lane *lane);

#endif
