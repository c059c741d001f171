/* SPDX-License-Identifier: ISC */

/*
 * Values too large for a part of an extent: a chain of whole extents, in the
 * main queue as one unit, readable while it grows.
 *
 *	head extent: | chain_part | entry, tags, key | value ...        |
 *	next:        | chain_part | value ...                           |
 *
 * Every part but the last is full, so that the place of a byte follows from
 * the lengths in the entry.  Workers write, any process reads.
 *
 *	writer, shard's lock held for each step   reader
 *	c1 take an extent (odd), id and index     k1 head under the read
 *	   in it, then generation even               protocol (generation g0)
 *	c2 entry in the head
 *	c3 bytes of a part                        k2 published (acquire)
 *	c4 part k+1 ready, then next (release)    k3 part: generation g, even;
 *	c5 published (release)                       id and index are right;
 *	c6 total, checksum                           head: g0 unchanged
 *	c7 link (at c2 if it may be read early)   k4 copy, fence, g unchanged
 *	                                          k5 next (acquire) of it
 *
 * 1. The head turns odd before any part of its chain is given back.  Were g
 *    of a later life of the extent, its acquire load would bring that odd
 *    number with it, and k3 would see the head changed; so g is the part's
 *    own, and k4 says that its bytes are.  The id alone does not do: in an
 *    extent that was opened for small entries it lies until the first of
 *    them is written over it, and g stays the same meanwhile and after.
 *    What is opened as a part has its own id before its generation is even
 *    (c1), and ids are never used twice; so parts of two values never mix.
 * 2. k2 pairs with c5: bytes below published are whole.
 * 3. A chain is freed as one unit, head first unlinked.  A reader in the
 *    middle meets an odd generation or another id: the value is gone, a miss.
 * 4. The writer holds no extent between its steps: each of them looks under
 *    the lock whether the head still is this chain, and answers FULL if the
 *    pool has dropped it meanwhile.
 *
 * Writer dies before c7: no slot leads to the chain, reclaim frees it when
 * its turn comes.  After an early c7: readers see GROWING until it has stood
 * still for CHAIN_STALL_MS, when the sweep drops it.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include "read.h"

#define CHAIN_STALL_MS	60000

/*
 * From a hit on a chained entry: hit->value_bytes (all, or published so far)
 * and whether it still grows.  False: the value is gone.
 */
bool	chain_extent_of_value(const struct pool *pool, struct read_hit *hit,
    bool *growing);

/* read_view() for a chained value. */
enum result chain_view(const struct pool *pool, const struct read_hit *hit,
    uint64_t from, struct read_view *view);

/* Value bytes that part index of a chain holds when full. */
static inline uint64_t
chain_part_room(const struct pool *pool, const struct entry_head *head,
    uint32_t index)
{
	uint64_t used = sizeof(struct chain_part);

	if (index == 0) {
		used += entry_value_at(head);
	}
	return pool_extent_bytes(pool) - used;
}

static inline struct chain_part *
chain_part_of(const struct pool *pool, uint32_t extent)
{
	return pool_extent(pool, extent);
}

#endif
