/* SPDX-License-Identifier: ISC */

/*
 * An fsck of a pool: every invariant of layout.h.  Workers and tests, with
 * the private segment mapped; each shard is locked while it is looked at.
 *
 *	I1  headers, geometry and layout hash are ours
 *	I2  index pages have role INDEX, this owner and an odd generation
 *	I3  a slot points into an extent of its own shard that holds entries,
 *	    is even, at a whole entry below the committed length
 *	I4  that entry's hash belongs to this shard, bucket and tag
 *	I5  no place and no key is linked twice
 *	I6  an overflow line belongs to one bucket; marks are those in use, and
 *	    lines not in use are empty
 *	I7  checksums are right
 *	I8  live bytes and entries of each extent, entries of the shard and of
 *	    main are what the index says
 *	I9  each extent is in the list that its state names, births in order
 *	I10 free, index and limbo extents are odd; others but the spare even
 *	I11 entries follow each other from 0 to the committed length
 *	I12 parts of a chained value carry its id, their index, right sums,
 *	    and a whole one has all its bytes
 *	I13 no epoch row or cell is above newest (or the number being written)
 *	I14 flights are in the lists of their states and hashes, one of a key
 *	    for newcomers, and their counts are right
 *	I15 a slot with the refresh bit has a flight of its hash under way
 */
#ifndef VERIFY_H
#define VERIFY_H

#include "pool.h"

/* One call for each fault found: which invariant, in which shard, where. */
typedef void (*verify_fn)(void *arg, unsigned invariant, uint32_t shard,
    uint64_t where, const char *text);

/* The scratch memory that verify_pool() wants, in bytes. */
size_t	verify_scratch_bytes(const struct pool *pool);

/*
 * Look at the whole pool.  scratch holds verify_scratch_bytes().  Returns
 * the number of faults; BUSY shards are reported as faults of invariant 0.
 */
uint64_t verify_pool(const struct pool *pool, void *scratch, verify_fn fn,
    void *arg);

#endif
