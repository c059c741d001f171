/* SPDX-License-Identifier: ISC */

/*
 * The mechanism of eviction: takes the entries of an extent apart as the
 * policy (evict.h) says, and gives the extent back.  Workers alone, under
 * the shard's lock, which is let go every RECLAIM_STEP entries.
 *
 * One extent at a time is under reclaim in a shard.  Where it stands is kept
 * in the shard, so that whoever takes the lock next goes on there; entries
 * before that place are unlinked or moved, those behind it are untouched, so
 * that readers and other writers need not know.  A death in between loses
 * nothing but the place: a second walk finds the entries no longer linked.
 */
#ifndef RECLAIM_H
#define RECLAIM_H

#include "evict.h"
#include "pool.h"

/* Entries looked at between two looks of others at the lock. */
#define RECLAIM_STEP	256

enum reclaim_mode {
	RECLAIM_POLICY,		/* as the policy says */
	RECLAIM_FORCE,		/* drop all */
	RECLAIM_COMPACT,	/* keep what lives, in its own queue */
};

/*
 * Have bytes of room at the end of the shard's open extent of that queue,
 * reclaiming as long as needed.  OK: locked, and slots found before may have
 * moved if *moved is set.  FULL or BUSY: NOT locked any more.
 */
enum result reclaim_make_room(const struct pool *pool, uint32_t shard,
    enum evict_queue queue, uint32_t bytes, struct boot_ms now, bool *moved);

/*
 * An extent in role role for the caller, reclaiming as long as needed; the
 * lock as above.  With spare_first the shard's empty extent for moves is
 * refilled before the caller is served.
 */
enum result reclaim_take(const struct pool *pool, uint32_t shard,
    enum extent_role role, struct boot_ms now, uint32_t *extent, bool *moved);

/*
 * Go on with the reclaim under way, or take extent apart in that mode, or
 * (extent 0) the one the policy chooses.  OK: one extent came back (or waits
 * for its pins); MISS: nothing to reclaim; BUSY: NOT locked any more.
 */
enum result reclaim_pass(const struct pool *pool, uint32_t shard,
    uint32_t extent, enum reclaim_mode mode, struct boot_ms now);

/*
 * For a worker with nothing else to do: lock the shard, and reclaim one
 * extent if the pool has less than one free extent to a shard.  True if it
 * did something.
 */
bool	reclaim_ahead(const struct pool *pool, uint32_t shard,
    struct boot_ms now);

/* Pages for the index, if it wants one and an extent is to be had. */
enum result reclaim_index_pages(const struct pool *pool, uint32_t shard,
    struct boot_ms now);

#endif
