/* SPDX-License-Identifier: ISC */

/*
 * Taking extents apart; see reclaim.h.
 */
#include "reclaim.h"

#include "chain_write.h"
#include "extent.h"
#include "fault.h"
#include "index.h"
#include "point.h"
#include "racy_copy.h"
#include "shard.h"

static uint32_t *
ghosts_of(const struct pool *pool, uint32_t shard)
{
	return pool->ghosts + (uint64_t)shard * pool->g.ghost_words;
}

static void
remember(const struct pool *pool, uint32_t shard, uint64_t hash)
{
	struct shard_private *sp = &pool->shards_private[shard];
	/* Relaxed: under the lock. */
	uint64_t entries = atomic_load_explicit(
	    &pool->shards[shard].entry_count, memory_order_relaxed);
	uint64_t small = entries - sp->main_entries;

	ghost_insert(&sp->ghost, ghosts_of(pool, shard), pool->g.ghost_words,
	    hash, evict_ghost_limit(small, sp->main_entries));
}

/* The spare becomes the open extent of a queue.  False if there is none. */
static bool
open_spare(const struct pool *pool, uint32_t shard, enum evict_queue queue)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t extent = extent_take(pool, shard, EXTENT_SPARE);

	if (extent == 0 && !FAULT(reclaim_no_spare)) {
		extent = sp->spare;
		sp->spare = 0;
	}
	if (extent == 0) {
		return false;
	}
	if (queue == EVICT_SMALL) {
		extent_open(pool, shard, extent, EXTENT_SMALL);
		sp->open_small = extent;
	} else {
		extent_open(pool, shard, extent, EXTENT_MAIN);
		sp->open_main = extent;
	}
	return true;
}

static uint32_t
open_of(const struct shard_private *sp, enum evict_queue queue)
{
	return queue == EVICT_SMALL ? sp->open_small : sp->open_main;
}

static void *
reserve_open(const struct pool *pool, uint32_t shard, enum evict_queue queue,
    uint32_t bytes, uint32_t *extent, uint32_t *offset)
{
	*extent = open_of(&pool->shards_private[shard], queue);
	return *extent == 0 ? NULL :
	    extent_reserve(pool, *extent, bytes, offset);
}

/*
 * Append a copy of a linked entry and point its slot there.  False if there
 * is no room to be had: the caller drops it.
 */
static bool
move_entry(const struct pool *pool, uint32_t shard, _Atomic uint64_t *slot,
    const struct entry *entry, const struct entry_head *head,
    enum evict_queue to, unsigned count)
{
	uint32_t bytes = (uint32_t)entry_bytes(head);
	uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);
	uint32_t extent, offset;
	uint64_t word;
	void *room = reserve_open(pool, shard, to, bytes, &extent, &offset);

	if (room == NULL) {
		if (!open_spare(pool, shard, to)) {
			return false;
		}
		room = reserve_open(pool, shard, to, bytes, &extent, &offset);
	}
	if (room == NULL) {
		return false;
	}
	racy_fill(room, entry, bytes);
	SHM_POINT(move_copied);
	extent_commit(pool, extent, offset + bytes);
	word = slot_make(head->hash, count, extent, offset) |
	    (old & SLOT_REFRESH);
	SHM_POINT(move_committed);
	if (FAULT(move_clears_first)) {
		atomic_store_explicit(slot, 0, memory_order_release);
		SHM_POINT(move_linked);
	}
	/* After the copy; pairs with step 1 of read.c.  One store: the key
	 * is never without a slot. */
	atomic_store_explicit(slot, word, memory_order_release);
	SHM_POINT(move_linked);
	shard_count_linked(pool, shard, word, head);
	shard_count_unlinked(pool, shard, old, head);
	pool->shards_private[shard].reclaim_moved += bytes;
	return true;
}

static void
drop_entry(const struct pool *pool, uint32_t shard, _Atomic uint64_t *slot,
    const struct entry_head *head, enum evict_queue from,
    enum evict_action action, bool expired)
{
	shard_unlink(pool, shard, slot);
	if (expired) {
		stats_add(pool->stats, STAT_expired, 1);
		return;
	}
	stats_add(pool->stats, from == EVICT_SMALL ? STAT_evicted_small :
	    STAT_evicted_main, 1);
	if (action == EVICT_DROP_TO_GHOST) {
		remember(pool, shard, head->hash);
	}
}

static void
take_apart(const struct pool *pool, uint32_t shard, uint32_t victim,
    uint32_t offset, const struct entry *entry,
    const struct entry_head *head, struct boot_ms now)
{
	struct shard_private *sp = &pool->shards_private[shard];
	enum reclaim_mode mode = (enum reclaim_mode)sp->reclaim_mode;
	enum evict_queue from = extent_role_of(extent_state(pool, victim)) ==
	    EXTENT_SMALL ? EVICT_SMALL : EVICT_MAIN;
	_Atomic uint64_t *slot = index_find_place(pool, shard, head->hash,
	    victim, offset);
	struct evict_verdict verdict;
	unsigned count;
	bool dead;

	if (slot == NULL) {
		return;
	}
	dead = shard_entry_dead(pool, entry, head, now);
	/* Relaxed: a count that is swapped now is lost, which is allowed. */
	count = slot_count(atomic_load_explicit(slot, memory_order_relaxed));
	if (mode == RECLAIM_COMPACT && !dead) {
		verdict = (struct evict_verdict){ EVICT_MOVE, count };
	} else {
		verdict = evict_judge(from, count, dead,
		    mode == RECLAIM_FORCE);
	}
	if (verdict.action == EVICT_MOVE && move_entry(pool, shard, slot,
	    entry, head, mode == RECLAIM_COMPACT ? from : EVICT_MAIN,
	    verdict.count)) {
		if (mode != RECLAIM_COMPACT) {
			stats_add(pool->stats, from == EVICT_SMALL ?
			    STAT_moved_to_main : STAT_moved_again, 1);
		}
		return;
	}
	drop_entry(pool, shard, slot, head, from, verdict.action, dead);
}

/*
 * An entry's header lied, so that it was not unlinked: no slot may be left
 * behind, and nothing in the books.
 */
static void
unlink_rest(const struct pool *pool, uint32_t shard, uint32_t victim)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct extent_info *info = &pool->infos[victim];
	_Atomic uint64_t *entries = &pool->shards[shard].entry_count;

	if (info->live_entries == 0) {
		return;
	}
	stats_add(pool->stats, STAT_recovery_slots_dropped,
	    index_unlink_extent(pool, shard, victim));
	/* Relaxed: under the lock; others read it for people. */
	atomic_store_explicit(entries, atomic_load_explicit(entries,
	    memory_order_relaxed) - info->live_entries, memory_order_relaxed);
	if (extent_role_of(extent_state(pool, victim)) != EXTENT_SMALL) {
		sp->main_entries -= info->live_entries;
	}
	info->live_entries = 0;
	info->live_bytes = 0;
}

/* All entries are gone: out of its queue and back to the pool. */
static void
finish(const struct pool *pool, uint32_t shard, uint32_t victim)
{
	struct shard_private *sp = &pool->shards_private[shard];
	enum extent_role role = extent_role_of(extent_state(pool, victim));

	unlink_rest(pool, shard, victim);
	if (sp->open_small == victim) {
		sp->open_small = 0;
	}
	if (sp->open_main == victim) {
		sp->open_main = 0;
	}
	extent_list_remove(pool, role == EXTENT_SMALL ? &sp->small :
	    &sp->main, victim);
	sp->reclaim_extent = 0;
	SHM_POINT(reclaim_unlinked);
	if (extent_should_give(pool, shard)) {
		stats_add(pool->stats, STAT_extents_given, 1);
	}
	(void)extent_retire(pool, shard, victim);
	stats_add(pool->stats, STAT_extents_reclaimed, 1);
	if (sp->reclaim_mode == RECLAIM_FORCE) {
		stats_add(pool->stats, STAT_extents_forced, 1);
	}
	if (evict_pass_is_poor(pool_extent_bytes(pool) - sp->reclaim_moved,
	    pool_extent_bytes(pool))) {
		sp->poor_passes++;
	}
	if (sp->spare == 0) {
		sp->spare = extent_take(pool, shard, EXTENT_SPARE);
	}
}

/* A chained value at the end of main: kept or dropped as one unit. */
static void
judge_chain(const struct pool *pool, uint32_t shard, uint32_t head_extent,
    struct boot_ms now)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t offset = sizeof(struct chain_part);
	_Atomic uint64_t *slot = NULL;
	struct evict_verdict verdict = { EVICT_DROP, 0 };
	struct entry_head head;
	struct entry *entry = shard_entry(pool, slot_make(0, 0, head_extent,
	    offset), &head);
	bool dead = true;

	if (entry != NULL) {
		slot = index_find_place(pool, shard, head.hash, head_extent,
		    offset);
	}
	if (slot != NULL) {
		uint64_t word = atomic_load_explicit(slot,
		    memory_order_relaxed);

		dead = shard_entry_dead(pool, entry, &head, now) ||
		    chain_stalled(pool, head_extent, now);
		verdict = evict_judge(EVICT_MAIN, slot_count(word), dead,
		    sp->reclaim_mode == RECLAIM_FORCE);
		if (verdict.action == EVICT_MOVE) {
			/* Relaxed: count only; the place is the same. */
			atomic_store_explicit(slot, (word & ~SLOT_COUNT_MASK) |
			    (uint64_t)verdict.count << SLOT_COUNT_SHIFT,
			    memory_order_relaxed);
			extent_set_role(pool, shard, head_extent,
			    EXTENT_CHAIN_HEAD);
			SHM_POINT(chain_requeued);
			extent_list_remove(pool, &sp->main, head_extent);
			extent_list_append(pool, &sp->main, head_extent);
			sp->poor_passes++;
			stats_add(pool->stats, STAT_moved_again, 1);
			return;
		}
		drop_entry(pool, shard, slot, &head, EVICT_MAIN,
		    verdict.action, dead);
		return;
	}
	unlink_rest(pool, shard, head_extent);
	chain_free(pool, shard, head_extent);
}

static uint32_t
choose(const struct pool *pool, uint32_t shard)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct evict_view view = {
		.small_extents = sp->small.count,
		.main_extents = sp->main.count,
		.total_extents = sp->small.count + sp->main.count,
	};
	uint32_t victim = evict_victim(&view) == EVICT_SMALL ?
	    sp->small.head : sp->main.head;

	if (victim == 0) {
		victim = sp->small.head != 0 ? sp->small.head : sp->main.head;
	}
	return pool_extent_exists(pool, victim) ? victim : 0;
}

static void
start(const struct pool *pool, uint32_t shard, uint32_t victim,
    enum reclaim_mode mode)
{
	struct shard_private *sp = &pool->shards_private[shard];

	(void)pool;
	sp->reclaim_extent = victim;
	sp->reclaim_offset = 0;
	sp->reclaim_moved = 0;
	sp->reclaim_mode = mode;
	/* No more appends to it: what is behind the cursor stays as it is. */
	if (sp->open_small == victim) {
		sp->open_small = 0;
	}
	if (sp->open_main == victim) {
		sp->open_main = 0;
	}
}

/*
 * Walk on from where the reclaim stands.  OK: done; BUSY: NOT locked;
 * MISS: somebody else finished it meanwhile.
 */
static enum result
walk(const struct pool *pool, uint32_t shard, struct boot_ms now)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t victim = sp->reclaim_extent;
	uint32_t steps = 0;

	for (;;) {
		uint32_t offset = sp->reclaim_offset;
		struct entry_head head;
		struct entry *entry = shard_entry(pool, slot_make(0, 0,
		    victim, offset), &head);

		if (entry == NULL) {
			return OK;
		}
		take_apart(pool, shard, victim, offset, entry, &head, now);
		SHM_POINT(reclaim_stepped);
		sp->reclaim_offset = offset + (uint32_t)entry_bytes(&head);
		if (++steps % RECLAIM_STEP != 0) {
			continue;
		}
		if (shard_yield(pool, shard) != OK) {
			return BUSY;
		}
		if (sp->reclaim_extent != victim) {
			return MISS;
		}
	}
}

enum result
reclaim_pass(const struct pool *pool, uint32_t shard, uint32_t extent,
    enum reclaim_mode mode, struct boot_ms now)
{
	struct shard_private *sp = &pool->shards_private[shard];

	if (!pool_extent_exists(pool, sp->reclaim_extent)) {
		uint32_t victim = extent != 0 ? extent : choose(pool, shard);

		if (victim == 0) {
			return MISS;
		}
		start(pool, shard, victim, mode);
	}
	if (extent_role_of(extent_state(pool, sp->reclaim_extent)) ==
	    EXTENT_CHAIN_HEAD) {
		uint32_t victim = sp->reclaim_extent;

		sp->reclaim_extent = 0;
		judge_chain(pool, shard, victim, now);
		return OK;
	}
	switch (walk(pool, shard, now)) {
	case OK:
		finish(pool, shard, sp->reclaim_extent);
		return OK;
	case BUSY:
		return BUSY;
	default:
		return OK;
	}
}

