/* SPDX-License-Identifier: ISC */

/*
 * Pins; the proof stands in pin.h.
 */
#include "pin.h"

#include "fault.h"
#include "point.h"
#include "shm_fence.h"

#define HOLD_PARTS	16

static _Atomic uint16_t *
pin_word(const struct pool *pool, uint32_t extent, uint32_t worker)
{
	return &pool->pins[(uint64_t)extent * pool->g.pin_stride + worker];
}

bool
pin_acquire(const struct pool *pool, uint32_t extent, uint64_t generation)
{
	_Atomic uint16_t *word;
	uint16_t count;

	if (pool->priv == NULL || pool->worker >= pool->g.worker_count ||
	    !pool_extent_exists(pool, extent)) {
		return false;
	}
	word = pin_word(pool, extent, pool->worker);
	/* Relaxed: this worker alone writes it. */
	count = atomic_load_explicit(word, memory_order_relaxed);
	if (count == UINT16_MAX) {
		stats_add(pool->stats, STAT_pins_refused, 1);
		return false;
	}
	/* Relaxed: the fence below orders it against r2 to r4. */
	atomic_store_explicit(word, count + 1, memory_order_relaxed);
	/* Pairs with the fence of extent_retire(). */
	shm_fence_seq_cst();
	SHM_POINT(pin_stored);
	/* Pairs with the release store of extent_open(). */
	if (atomic_load_explicit(&pool->generations[extent],
	    memory_order_acquire) != generation && !FAULT(pin_no_recheck)) {
		atomic_store_explicit(word, count, memory_order_release);
		stats_add(pool->stats, STAT_pins_refused, 1);
		return false;
	}
	stats_add(pool->stats, STAT_pins, 1);
	return true;
}

void
pin_release(const struct pool *pool, uint32_t extent)
{
	_Atomic uint16_t *word = pin_word(pool, extent, pool->worker);
	/* Relaxed: this worker alone writes it. */
	uint16_t count = atomic_load_explicit(word, memory_order_relaxed);

	/* After the reads of the pinned bytes; pairs with pin_any(). */
	atomic_store_explicit(word, count - 1, memory_order_release);
}

bool
pin_hold_begin(const struct pool *pool, uint32_t shard)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t most = geometry_fair_share(&pool->g) / HOLD_PARTS;
	uint32_t own, sum = 0;

	if (pool->worker >= pool->g.worker_count) {
		return false;
	}
	/* Relaxed: a bound, not an exclusion; it may be passed by a race. */
	for (uint32_t i = 0; i < pool->g.worker_count; i++) {
		sum += atomic_load_explicit(&sp->pins_held[i],
		    memory_order_relaxed);
	}
	if (sum >= most) {
		return false;
	}
	own = atomic_load_explicit(&sp->pins_held[pool->worker],
	    memory_order_relaxed);
	atomic_store_explicit(&sp->pins_held[pool->worker], own + 1,
	    memory_order_relaxed);
	return true;
}

void
pin_hold_end(const struct pool *pool, uint32_t shard)
{
	struct shard_private *sp = &pool->shards_private[shard];
	/* Relaxed: see pin_hold_begin(). */
	uint32_t own = atomic_load_explicit(&sp->pins_held[pool->worker],
	    memory_order_relaxed);

	atomic_store_explicit(&sp->pins_held[pool->worker], own - 1,
	    memory_order_relaxed);
}

bool
pin_any(const struct pool *pool, uint32_t extent)
{
	for (uint32_t w = 0; w < pool->g.worker_count; w++) {
		/* Pairs with pin_release(). */
		if (atomic_load_explicit(pin_word(pool, extent, w),
		    memory_order_acquire) != 0) {
			return true;
		}
	}
	return false;
}

void
pin_clear_worker(const struct pool *pool, uint32_t worker)
{
	if (worker >= pool->g.worker_count) {
		return;
	}
	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		/* Relaxed: the dead worker reads nothing any more. */
		atomic_store_explicit(pin_word(pool, e, worker), 0,
		    memory_order_relaxed);
	}
	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		atomic_store_explicit(
		    &pool->shards_private[s].pins_held[worker], 0,
		    memory_order_relaxed);
	}
}
