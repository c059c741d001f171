/* SPDX-License-Identifier: ISC */

/*
 * The second half of a recovery (steps 3 and 4 of recovery.c): every extent
 * of the shard into the list that its state word names, in birth order.
 */
#include "recovery.h"

#include "chain.h"
#include "extent.h"
#include "fault.h"
#include "index.h"
#include "point.h"

static uint64_t
load(const _Atomic uint64_t *word)
{
	/* Relaxed: under the lock. */
	return atomic_load_explicit(word, memory_order_relaxed);
}

static bool
holds_entries(enum extent_role role)
{
	return role == EXTENT_SMALL || role == EXTENT_MAIN ||
	    role == EXTENT_CHAIN_HEAD;
}

/*
 * Pages: an extent with role INDEX that is in no directory was being added
 * by the dead one.  It holds no reader yet, and becomes the next overflow
 * page; where that directory is full it stays unused.
 */
static void
adopt_page(const struct pool *pool, uint32_t shard, uint32_t extent)
{
	for (unsigned dir = DIR_PRIMARY; dir <= DIR_OVERFLOW; dir++) {
		_Atomic uint32_t *pages = &pool->shards[shard].dir_pages[dir];
		/* Relaxed: under the lock. */
		uint32_t used = atomic_load_explicit(pages,
		    memory_order_relaxed);

		for (uint32_t p = 0; p < pool->g.dir_capacity; p++) {
			if (atomic_load_explicit(&index_dir(pool, shard,
			    dir)[p], memory_order_relaxed) != extent) {
				continue;
			}
			if (p == used) {
				/* Died before it was counted. */
				atomic_store_explicit(pages, used + 1,
				    memory_order_relaxed);
			}
			return;
		}
	}
	if (atomic_load_explicit(&pool->shards[shard].dir_pages[DIR_OVERFLOW],
	    memory_order_relaxed) < pool->g.dir_capacity) {
		index_add_page(pool, shard, DIR_OVERFLOW, extent);
	}
}

/*
 * A part whose chain is linked or still being written.  The last one is
 * written down again: the writer may have died before that.
 */
static bool
part_has_head(const struct pool *pool, uint32_t shard, uint32_t extent)
{
	uint32_t head = pool->infos[extent].chain_head;
	uint32_t at = head;

	if (!pool_extent_exists(pool, head) ||
	    extent_owner_of(extent_state(pool, head)) != shard ||
	    extent_role_of(extent_state(pool, head)) != EXTENT_CHAIN_HEAD ||
	    (load(&pool->generations[head]) & 1) != 0) {
		return false;
	}
	for (uint32_t i = 0; i < pool->g.extent_count &&
	    pool_extent_exists(pool, at); i++) {
		if (at == extent) {
			if (pool->infos[at].chain_next == 0) {
				pool->infos[head].chain_last = at;
			}
			return true;
		}
		at = pool->infos[at].chain_next;
	}
	return false;
}

/* Heads first, so that the parts of a head that goes are found headless. */
static void
sort_extent(const struct pool *pool, uint32_t shard, uint32_t extent,
    bool parts)
{
	struct shard_private *sp = &pool->shards_private[shard];
	enum extent_role role = extent_role_of(extent_state(pool, extent));
	bool odd = (load(&pool->generations[extent]) & 1) != 0;

	if (parts != (role == EXTENT_CHAIN_PART)) {
		return;
	}
	if (role == EXTENT_INDEX) {
		sp->index_pages++;
		adopt_page(pool, shard, extent);
		return;
	}
	sp->owned++;
	if (role == EXTENT_SPARE && sp->spare == 0) {
		sp->spare = extent;
	} else if (role == EXTENT_LIMBO) {
		extent_list_append(pool, &sp->limbo, extent);
	} else if (role == EXTENT_SMALL && !odd) {
		extent_list_append(pool, &sp->small, extent);
	} else if (holds_entries(role) && !odd) {
		extent_list_append(pool, &sp->main, extent);
	} else if (role != EXTENT_CHAIN_PART || odd ||
	    !part_has_head(pool, shard, extent)) {
		(void)extent_retire(pool, shard, extent);
	}
}

/* Merge two lists in the order of births; returns the head. */
static uint32_t
merge(const struct pool *pool, uint32_t a, uint32_t b)
{
	uint32_t head = 0, tail = 0;

	while (a != 0 || b != 0) {
		uint32_t *from = b == 0 || (a != 0 && !extent_born_before(
		    extent_state(pool, b), extent_state(pool, a))) ? &a : &b;
		uint32_t extent = *from;

		*from = pool->infos[extent].next;
		if (tail == 0) {
			head = extent;
		} else {
			pool->infos[tail].next = extent;
		}
		tail = extent;
	}
	if (tail != 0) {
		pool->infos[tail].next = 0;
	}
	return head;
}

/* Bottom-up merge sort on the links: no memory is needed. */
static void
sort_list(const struct pool *pool, struct extent_list *list)
{
	uint32_t run[32] = { 0 };
	uint32_t at = list->head;
	uint32_t sorted = 0;

	while (at != 0) {
		uint32_t carry = at;
		unsigned i = 0;

		at = pool->infos[at].next;
		pool->infos[carry].next = 0;
		for (; i < 31 && run[i] != 0; i++) {
			carry = merge(pool, run[i], carry);
			run[i] = 0;
		}
		run[i] = run[i] == 0 ? carry : merge(pool, run[i], carry);
	}
	for (unsigned i = 0; i < 32; i++) {
		sorted = merge(pool, run[i], sorted);
	}
	list->head = sorted;
	list->tail = sorted;
	while (sorted != 0) {
		list->tail = sorted;
		sorted = pool->infos[sorted].next;
	}
}

void
recovery_rebuild_lists(const struct pool *pool, uint32_t shard)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct extent_list empty = { 0, 0, 0 };

	sp->small = empty;
	sp->main = empty;
	sp->limbo = empty;
	sp->spare = 0;
	sp->owned = 0;
	sp->index_pages = 0;
	for (int parts = 0; parts <= 1; parts++) {
		for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
			uint64_t state = extent_state(pool, e);

			if (extent_owner_of(state) == shard &&
			    extent_role_of(state) != EXTENT_FREE) {
				sort_extent(pool, shard, e, parts == 1);
			}
		}
	}
	SHM_POINT(recovery_listed);
	if (!FAULT(recovery_unsorted)) {
		sort_list(pool, &sp->small);
		sort_list(pool, &sp->main);
		sort_list(pool, &sp->limbo);
	}
	/* The youngest go on; what lies above their committed is nothing. */
	sp->open_small = sp->small.tail;
	sp->open_main = sp->main.tail != 0 && extent_role_of(extent_state(
	    pool, sp->main.tail)) == EXTENT_MAIN ? sp->main.tail : 0;
	sp->reclaim_extent = 0;
	sp->poor_passes = 0;
	sp->sweep_extent = 0;
}
