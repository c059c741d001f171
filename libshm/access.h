/* SPDX-License-Identifier: ISC */

/*
 * What a hit changes: two bits of its slot word, by compare-and-swap, dropped
 * when it is lost.  Workers alone, without a lock (but for
 * access_end_refresh(), which may not lose it).  Nothing outside the index
 * is ever written: a counter in the entry was a store into recycled memory
 * (2,000 corrupt reads a minute, measured).
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

/*
 * Say that a flight refreshes this entry, or no more.  False: it is gone from
 * that place, or has been moved from it with its bit.  What is said while a
 * writer takes the slot to another line may be lost.
 */
bool	access_set_refresh(const struct pool *pool,
    const struct read_hit *hit, bool on);

/*
 * A flight is over: no entry of the key has the bit, wherever it is by now.
 * Locks the shard, as a bit that stayed would have readers serve stale until
 * the hard expiry.  OK, also if there is no entry, or BUSY: try again.
 */
enum result access_end_refresh(const struct pool *pool,
    const struct key *key);

#endif
