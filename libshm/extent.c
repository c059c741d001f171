/* SPDX-License-Identifier: ISC */

/*
 * Extents and the pool's free list.  Lock order: shard, then pool.
 */
#include "extent.h"

#include "fault.h"
#include "pin.h"
#include "point.h"
#include "shm_fence.h"

/*
 * Free extents that a rich shard leaves for poor ones: one for each of them,
 * but no more than it can reclaim in one go.
 */
#define KEPT_MAX	8u

static void
store_state(const struct pool *pool, uint32_t extent, uint32_t owner,
    enum extent_role role, uint64_t birth)
{
	/* Relaxed: read by others under a lock, or after the writer died. */
	atomic_store_explicit(&pool->infos[extent].state,
	    (uint64_t)owner << STATE_OWNER_SHIFT |
	    (uint64_t)role << STATE_ROLE_SHIFT | (birth & STATE_BIRTH_MASK),
	    memory_order_relaxed);
}

static void
set_free_count(const struct pool *pool, uint32_t count)
{
	/* Relaxed: under the pool's lock; others read it as a hint. */
	atomic_store_explicit(&pool->priv->free_count, count,
	    memory_order_relaxed);
}

uint32_t
extent_free_count(const struct pool *pool)
{
	/* Relaxed: under the pool's lock, or a hint. */
	return atomic_load_explicit(&pool->priv->free_count,
	    memory_order_relaxed);
}

void
extent_init_all(struct pool *pool)
{
	struct private_header *priv = pool->priv;

	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		/* Relaxed: no other process has the pool yet. */
		atomic_store_explicit(&pool->generations[e], 1,
		    memory_order_relaxed);
		store_state(pool, e, 0, EXTENT_FREE, 0);
		pool->infos[e].next = e < pool->g.extent_count ? e + 1 : 0;
	}
	priv->free_head = 1;
	set_free_count(pool, pool->g.extent_count);
}

/* After a holder of the pool's lock died: all lists from the states. */
static void
rebuild_free_list(const struct pool *pool)
{
	struct private_header *priv = pool->priv;
	uint32_t wanted = 0, count = 0;

	priv->free_head = 0;
	for (uint32_t e = pool->g.extent_count; e >= 1; e--) {
		if (extent_role_of(extent_state(pool, e)) == EXTENT_FREE) {
			pool->infos[e].next = priv->free_head;
			priv->free_head = e;
			count++;
		}
	}
	set_free_count(pool, count);
	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		wanted += atomic_load_explicit(
		    &pool->shards_private[s].wanted, memory_order_relaxed);
	}
	atomic_store_explicit(&priv->wanted_count, wanted,
	    memory_order_relaxed);
}

static bool
lock_pool(const struct pool *pool, uint32_t timeout_ms)
{
	switch (lock_acquire(&pool->priv->pool_lock, timeout_ms)) {
	case LOCK_HELD:
		return true;
	case LOCK_HELD_OWNER_DIED:
		if (!FAULT(free_list_unrepaired)) {
			rebuild_free_list(pool);
		}
		stats_add(pool->stats, STAT_recoveries, 1);
		lock_mark_consistent(&pool->priv->pool_lock);
		return true;
	case LOCK_BUSY:
	case LOCK_BROKEN:
		break;
	}
	stats_add(pool->stats, STAT_lock_timeouts, timeout_ms != 0);
	return false;
}

bool
extent_pool_lock(const struct pool *pool)
{
	return lock_pool(pool, LOCK_TIMEOUT_MS);
}

void
extent_pool_unlock(const struct pool *pool)
{
	lock_release(&pool->priv->pool_lock);
}

void
extent_set_role(const struct pool *pool, uint32_t shard, uint32_t extent,
    enum extent_role role)
{
	store_state(pool, extent, shard, role,
	    ++pool->shards_private[shard].birth);
}

static void
set_wanted(const struct pool *pool, uint32_t shard, uint32_t wanted)
{
	_Atomic uint32_t *own = &pool->shards_private[shard].wanted;
	/* Relaxed: under the pool's lock; others read it as a hint. */
	uint32_t before = atomic_load_explicit(own, memory_order_relaxed);
	uint32_t sum = atomic_load_explicit(&pool->priv->wanted_count,
	    memory_order_relaxed);

	if (before != wanted) {
		atomic_store_explicit(own, wanted, memory_order_relaxed);
		atomic_store_explicit(&pool->priv->wanted_count,
		    wanted != 0 ? sum + 1 : sum - 1, memory_order_relaxed);
	}
}

/* Pop under the pool's lock; the list is input. */
static uint32_t
pop_free(const struct pool *pool, uint32_t shard, enum extent_role role)
{
	struct private_header *priv = pool->priv;
	uint32_t extent = priv->free_head;

	if (extent_free_count(pool) == 0) {
		return 0;
	}
	if (!pool_extent_exists(pool, extent) ||
	    extent_role_of(extent_state(pool, extent)) != EXTENT_FREE) {
		rebuild_free_list(pool);
		extent = priv->free_head;
		if (extent == 0) {
			return 0;
		}
	}
	extent_set_role(pool, shard, extent, role);
	SHM_POINT(extent_taken);
	priv->free_head = pool->infos[extent].next;
	set_free_count(pool, extent_free_count(pool) - 1);
	pool->infos[extent].next = 0;
	SHM_POINT(extent_popped);
	return extent;
}

enum result
extent_acquire(const struct pool *pool, uint32_t shard,
    enum extent_role role, uint32_t *taken)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct private_header *priv = pool->priv;
	bool poor = sp->owned + sp->index_pages <
	    geometry_fair_share(&pool->g);
	uint32_t extent = 0, kept;

	*taken = 0;
	if (!extent_pool_lock(pool)) {
		return BUSY;
	}
	/* Relaxed: changed under this lock. */
	kept = atomic_load_explicit(&priv->wanted_count,
	    memory_order_relaxed);
	if (poor || extent_free_count(pool) >
	    (kept < KEPT_MAX ? kept : KEPT_MAX)) {
		extent = pop_free(pool, shard, role);
	}
	/*
	 * Also when it got one: a poor shard that lives on what it reclaims
	 * itself would else never be given any.
	 */
	set_wanted(pool, shard, poor && extent_free_count(pool) == 0 &&
	    !(FAULT(poor_stops_wanting) && extent != 0));
	extent_pool_unlock(pool);
	if (extent == 0) {
		return FULL;
	}
	*(role == EXTENT_INDEX ? &sp->index_pages : &sp->owned) += 1;
	*taken = extent;
	return OK;
}

uint32_t
extent_take(const struct pool *pool, uint32_t shard, enum extent_role role)
{
	uint32_t extent;

	/* Why there is none does not matter: the caller does without. */
	(void)extent_acquire(pool, shard, role, &extent);
	return extent;
}

void
extent_list_append(const struct pool *pool, struct extent_list *list,
    uint32_t extent)
{
	pool->infos[extent].next = 0;
	if (list->tail == 0) {
		list->head = extent;
	} else {
		pool->infos[list->tail].next = extent;
	}
	list->tail = extent;
	list->count++;
}

void
extent_list_remove(const struct pool *pool, struct extent_list *list,
    uint32_t extent)
{
	uint32_t before = 0;
	uint32_t at = list->head;

	while (at != 0 && at != extent) {
		before = at;
		at = pool->infos[at].next;
	}
	if (at == 0) {
		return;
	}
	if (before == 0) {
		list->head = pool->infos[extent].next;
	} else {
		pool->infos[before].next = pool->infos[extent].next;
	}
	if (list->tail == extent) {
		list->tail = before;
	}
	pool->infos[extent].next = 0;
	list->count--;
}

void
extent_open(const struct pool *pool, uint32_t shard, uint32_t extent,
    enum extent_role role)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct extent_info *info = &pool->infos[extent];
	_Atomic uint64_t *generation = &pool->generations[extent];
	/* Relaxed: under the lock of its owner, the one who writes it. */
	uint64_t g = atomic_load_explicit(generation, memory_order_relaxed);

	/* Relaxed: no slot points here, so nobody relies on it yet. */
	atomic_store_explicit(&info->committed, 0, memory_order_relaxed);
	info->live_bytes = 0;
	info->live_entries = 0;
	info->earliest_ms = UINT64_MAX;
	info->chain_head = 0;
	info->chain_next = 0;
	info->chain_last = 0;
	info->swept_epoch = 0;
	extent_set_role(pool, shard, extent, role);
	SHM_POINT(extent_opening);
	/*
	 * Even before any entry is linked.  Pairs with the acquire load of
	 * step 2 of the read protocol and of pin_acquire().
	 */
	atomic_store_explicit(generation, g + (g & 1), memory_order_release);
	if (role == EXTENT_SMALL) {
		extent_list_append(pool, &sp->small, extent);
	} else if (role == EXTENT_MAIN || role == EXTENT_CHAIN_HEAD) {
		extent_list_append(pool, &sp->main, extent);
	}
}

void
extent_generation_odd(const struct pool *pool, uint32_t extent)
{
	_Atomic uint64_t *generation = &pool->generations[extent];
	/* Relaxed: written by the owner alone; the caller's fence orders. */
	uint64_t g = atomic_load_explicit(generation, memory_order_relaxed);

	atomic_store_explicit(generation, g | 1, memory_order_relaxed);
}

/*
 * Into the pool's free list.  The extent is odd and nobody looks at it.
 * False: it went into limbo, as the list's lock was not to be had.
 */
static bool
make_free(const struct pool *pool, uint32_t shard, uint32_t extent)
{
	struct private_header *priv = pool->priv;
	struct extent_list *limbo = &pool->shards_private[shard].limbo;

	/*
	 * With others in limbo already this one may join them: whoever gives
	 * back many extents behind a stopped holder waits once, not for each.
	 */
	if (!lock_pool(pool, limbo->count == 0 ? LOCK_TIMEOUT_MS : 0)) {
		/* Limbo is looked at again; nothing is lost. */
		extent_set_role(pool, shard, extent, EXTENT_LIMBO);
		extent_list_append(pool, limbo, extent);
		return false;
	}
	store_state(pool, extent, 0, EXTENT_FREE, 0);
	SHM_POINT(extent_freed);
	pool->infos[extent].next = priv->free_head;
	priv->free_head = extent;
	set_free_count(pool, extent_free_count(pool) + 1);
	extent_pool_unlock(pool);
	pool->shards_private[shard].owned--;
	return true;
}

bool
extent_retire(const struct pool *pool, uint32_t shard, uint32_t extent)
{
	struct shard_private *sp = &pool->shards_private[shard];
	bool early = FAULT(pins_before_odd) && pin_any(pool, extent);
	bool pinned;

	SHM_POINT(extent_retiring);
	if (!FAULT(generation_odd_late)) {
		/* Relaxed: the fence below orders it before pins and reuse. */
		extent_generation_odd(pool, extent);
	}
	/*
	 * Pairs with the fence of pin_acquire(), and with the acquire fence
	 * of step 7: whoever reads a byte of the reuse sees odd or later.
	 */
	shm_fence_seq_cst();
	SHM_POINT(extent_odd);
	pinned = FAULT(pins_before_odd) ? early : pin_any(pool, extent);
	if (pinned) {
		extent_set_role(pool, shard, extent, EXTENT_LIMBO);
		extent_list_append(pool, &sp->limbo, extent);
		stats_add(pool->stats, STAT_extents_limbo, 1);
		return false;
	}
	return make_free(pool, shard, extent);
}

uint32_t
extent_settle_limbo(const struct pool *pool, uint32_t shard)
{
	struct extent_list *limbo = &pool->shards_private[shard].limbo;
	uint32_t freed = 0;

	for (uint32_t extent = limbo->head, next; extent != 0;
	    extent = next) {
		next = pool->infos[extent].next;
		if (pin_any(pool, extent)) {
			continue;
		}
		extent_list_remove(pool, limbo, extent);
		SHM_POINT(limbo_settling);
		if (!make_free(pool, shard, extent)) {
			break;
		}
		freed++;
	}
	return freed;
}

bool
extent_should_give(const struct pool *pool, uint32_t shard)
{
	const struct shard_private *sp = &pool->shards_private[shard];

	/* Relaxed: a hint; a late look gives at the next reclaim. */
	return sp->owned + sp->index_pages > geometry_fair_share(&pool->g) &&
	    atomic_load_explicit(&pool->priv->wanted_count,
	    memory_order_relaxed) != 0;
}

void *
extent_reserve(const struct pool *pool, uint32_t extent, uint32_t bytes,
    uint32_t *offset)
{
	uint32_t at = extent_committed(pool, extent);

	if (at > pool_extent_bytes(pool) ||
	    bytes > pool_extent_bytes(pool) - at) {
		return NULL;
	}
	*offset = at;
	return (uint8_t *)pool_extent(pool, extent) + at;
}

void
extent_commit(const struct pool *pool, uint32_t extent, uint32_t end)
{
	if (FAULT(generation_odd_late) && extent_committed(pool, extent) == 0) {
		atomic_fetch_add_explicit(&pool->generations[extent], 2,
		    memory_order_release);
	}
	/* After the entry's bytes; pairs with extent_committed(). */
	atomic_store_explicit(&pool->infos[extent].committed, end,
	    memory_order_release);
}
