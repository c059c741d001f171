/* SPDX-License-Identifier: ISC */

/*
 * What a hit changes: the count in its slot word, by compare-and-swap, dropped
 * when it is lost.  Workers alone, without a lock.  Nothing outside the index
 * is ever written without one: a counter in the entry was a store into
 * recycled memory (2,000 corrupt reads a minute, measured).  Sliding expiries
 * are stored under the shard's lock.
 */
#ifndef ACCESS_H
#define ACCESS_H

#include "read.h"

/* Count a hit that this worker just had. */
void	access_touch(const struct pool *pool, const struct read_hit *hit);

/*
 * Count a hit that a client says it had: untrusted.  The slot is looked up
 * by the hash; a place that is not linked there changes nothing.
 */
void	access_hint(const struct pool *pool, uint64_t hash, uint32_t extent,
    uint32_t offset);

/* One of several that come next: their lines are fetched side by side. */
void	access_prefetch_hint(const struct pool *pool, uint64_t hash);

/*
 * A hit whose entry lives for longer by it: what is linked at that place
 * (untrusted) with that hash and is alive gets these expiries, each only if it
 * is later than its own.  Locks the shard.  OK, MISS, BUSY.
 */
enum result access_slide(const struct pool *pool, uint64_t hash,
    uint32_t extent, uint32_t offset, uint64_t soft_ms, uint64_t hard_ms,
    struct boot_ms now);

#endif
