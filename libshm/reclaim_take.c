/* SPDX-License-Identifier: ISC */

/*
 * Room for a writer: an extent from the pool, or from a reclaim of the
 * shard's own; see reclaim.h.
 */
#include "reclaim.h"

#include "extent.h"
#include "fault.h"
#include "index.h"
#include "point.h"
#include "shard.h"

/* Every round frees an extent or moves one; past this the pool is stuck. */
#define TAKE_ROUNDS_MAX		64

/* An extent from the free list, after the spare one is there again. */
static enum result
acquire(const struct pool *pool, uint32_t shard, enum extent_role role,
    uint32_t *extent)
{
	struct shard_private *sp = &pool->shards_private[shard];

	if (sp->spare == 0 && extent_acquire(pool, shard, EXTENT_SPARE,
	    &sp->spare) == BUSY) {
		return BUSY;
	}
	return extent_acquire(pool, shard, role, extent);
}

enum result
reclaim_take(const struct pool *pool, uint32_t shard, enum extent_role role,
    struct boot_ms now, uint32_t *extent, bool *moved)
{
	struct shard_private *sp = &pool->shards_private[shard];

	for (int round = 0; round < TAKE_ROUNDS_MAX; round++) {
		enum reclaim_mode mode;
		enum result result = acquire(pool, shard, role, extent);

		if (result == OK) {
			sp->poor_passes = 0;
			return OK;
		}
		if (result == BUSY && !FAULT(take_waits_again)) {
			/* A reclaim would give nothing back either. */
			shard_leave(pool, shard);
			return BUSY;
		}
		*moved = true;
		if (extent_settle_limbo(pool, shard) > 0) {
			continue;
		}
		mode = evict_must_force(sp->poor_passes) &&
		    !FAULT(reclaim_never_forces) ?
		    RECLAIM_FORCE : RECLAIM_POLICY;
		result = reclaim_pass(pool, shard, 0, mode, now);
		if (result == BUSY) {
			return BUSY;
		}
		if (result == MISS) {
			break;
		}
	}
	if (sp->spare != 0 && role != EXTENT_INDEX) {
		/*
		 * All the shard has, as others hold the pool: better a shard
		 * that cannot move than one that refuses all sets until they
		 * give.  Its next reclaim frees this one.
		 */
		*extent = sp->spare;
		sp->spare = 0;
		return OK;
	}
	shard_leave(pool, shard);
	return FULL;
}

enum result
reclaim_make_room(const struct pool *pool, uint32_t shard,
    enum evict_queue queue, uint32_t bytes, struct boot_ms now, bool *moved)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t extent, offset;
	enum result result;

	for (;;) {
		extent = queue == EVICT_SMALL ? sp->open_small :
		    sp->open_main;
		if (extent != 0 && extent_reserve(pool, extent, bytes,
		    &offset) != NULL) {
			return OK;
		}
		result = reclaim_take(pool, shard, EXTENT_SPARE, now, &extent,
		    moved);
		if (result != OK) {
			return result;
		}
		if (queue == EVICT_SMALL) {
			extent_open(pool, shard, extent, EXTENT_SMALL);
			sp->open_small = extent;
		} else {
			extent_open(pool, shard, extent, EXTENT_MAIN);
			sp->open_main = extent;
		}
		SHM_POINT(extent_opened);
	}
}

enum result
reclaim_index_pages(const struct pool *pool, uint32_t shard,
    struct boot_ms now)
{
	const struct shard_private *sp = &pool->shards_private[shard];

	for (unsigned dir = DIR_PRIMARY; dir <= DIR_OVERFLOW; dir++) {
		uint32_t extent;
		bool moved;
		enum result result;

		if (!index_wants_page(pool, shard, dir)) {
			continue;
		}
		if (sp->small.count + sp->main.count < 2 &&
		    extent_free_count(pool) == 0) {
			continue;	/* not for the only entries it has */
		}
		result = reclaim_take(pool, shard, EXTENT_INDEX, now, &extent,
		    &moved);
		if (result != OK) {
			return result;
		}
		if (!index_wants_page(pool, shard, dir)) {
			/* Somebody added one while the lock was let go. */
			pool->shards_private[shard].index_pages--;
			pool->shards_private[shard].owned++;
			(void)extent_retire(pool, shard, extent);
			continue;
		}
		index_add_page(pool, shard, dir, extent);
	}
	return OK;
}

bool
reclaim_ahead(const struct pool *pool, uint32_t shard, struct boot_ms now)
{
	bool low = extent_free_count(pool) < pool->g.shard_count;
	bool done = false;

	if (!low || shard_enter(pool, shard) != OK) {
		return false;
	}
	if (extent_settle_limbo(pool, shard) == 0) {
		switch (reclaim_pass(pool, shard, 0, RECLAIM_POLICY, now)) {
		case OK:
			done = true;
			break;
		case BUSY:
			return false;
		default:
			break;
		}
	}
	shard_leave(pool, shard);
	return done;
}
