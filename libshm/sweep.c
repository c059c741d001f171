/* SPDX-License-Identifier: ISC */

/*
 * The expiry sweep.
 */
#include "sweep.h"

#include "chain_write.h"
#include "epoch.h"
#include "extent.h"
#include "fault.h"
#include "index.h"
#include "point.h"
#include "reclaim.h"
#include "shard.h"

#define EXTENTS_PER_ENTRY	16
/* An extent with less than this part alive is worth the copying. */
#define COMPACT_PARTS		4

static bool
may_hold_dead(const struct pool *pool, uint32_t shard, uint32_t extent,
    struct boot_ms now)
{
	const struct extent_info *info = &pool->infos[extent];
	uint64_t state = extent_state(pool, extent);
	enum extent_role role = extent_role_of(state);

	if (extent_owner_of(state) != shard ||
	    extent == pool->shards_private[shard].reclaim_extent ||
	    (role != EXTENT_SMALL && role != EXTENT_MAIN &&
	    role != EXTENT_CHAIN_HEAD)) {
		return false;
	}
	return info->earliest_ms <= now.ms ||
	    info->swept_epoch < epoch_now(pool) ||
	    (role == EXTENT_CHAIN_HEAD && chain_stalled(pool, extent, now));
}

/*
 * True while the extent is what it was when its sweep began: not freed (a
 * free extent's state is 0), not reused, not under reclaim.
 */
static bool
under_sweep(const struct pool *pool, uint32_t shard, uint32_t extent)
{
	const struct shard_private *sp = &pool->shards_private[shard];

	return extent == sp->sweep_extent && sp->sweep_state != 0 &&
	    extent_state(pool, extent) == sp->sweep_state &&
	    extent != sp->reclaim_extent;
}

static void
begin(const struct pool *pool, uint32_t shard, uint32_t extent)
{
	struct shard_private *sp = &pool->shards_private[shard];

	sp->sweep_extent = extent;
	sp->sweep_state = extent_state(pool, extent);
	sp->sweep_offset = extent_role_of(sp->sweep_state) ==
	    EXTENT_CHAIN_HEAD ? (uint32_t)sizeof(struct chain_part) : 0;
	sp->sweep_looked = 0;
	sp->sweep_earliest_ms = UINT64_MAX;
	sp->sweep_epoch = epoch_now(pool);
}

static void
look(const struct pool *pool, uint32_t shard, uint32_t extent,
    const struct entry *entry, const struct entry_head *head,
    struct boot_ms now)
{
	struct shard_private *sp = &pool->shards_private[shard];
	_Atomic uint64_t *slot = index_find_place(pool, shard, head->hash,
	    extent, sp->sweep_offset);
	uint64_t hard_ms = entry_expiry_ms(head, head->hard);

	if (slot == NULL) {
		return;
	}
	if (shard_entry_dead(pool, entry, head, now) ||
	    ((head->flags & ENTRY_CHAIN) != 0 &&
	    chain_stalled(pool, extent, now))) {
		shard_unlink(pool, shard, slot);
		SHM_POINT(sweep_unlinked);
		stats_add(pool->stats, entry_expired(head, now) ?
		    STAT_expired : STAT_purged_dropped, 1);
		return;
	}
	if (hard_ms < sp->sweep_earliest_ms) {
		sp->sweep_earliest_ms = hard_ms;
	}
}

static bool
is_open(const struct shard_private *sp, uint32_t extent)
{
	return extent == sp->open_small || extent == sp->open_main;
}

/* Nothing lives in it: back to the pool. */
static void
free_empty(const struct pool *pool, uint32_t shard, uint32_t extent)
{
	struct shard_private *sp = &pool->shards_private[shard];

	extent_list_remove(pool, extent_role_of(extent_state(pool, extent)) ==
	    EXTENT_SMALL ? &sp->small : &sp->main, extent);
	SHM_POINT(sweep_freeing);
	(void)extent_retire(pool, shard, extent);
	stats_add(pool->stats, STAT_extents_reclaimed, 1);
}

/* What is left of a call's budget, and all of it. */
struct budget {
	uint32_t	left;
	uint32_t	whole;
};

/* Move what little lives elsewhere; the results of finish(). */
static enum result
compact(const struct pool *pool, uint32_t shard, uint32_t extent,
    struct budget *budget, struct boot_ms now)
{
	uint32_t cost = pool->shards_private[shard].sweep_looked;

	if (cost > budget->left && budget->left < budget->whole) {
		return MISS;
	}
	budget->left -= cost < budget->left ? cost : budget->left;
	return reclaim_pass(pool, shard, extent, RECLAIM_COMPACT, now) ==
	    BUSY ? BUSY : OK;
}

/*
 * The walk reached the end of the extent.  OK: locked; MISS: locked, and to
 * be finished by the next call; BUSY: not locked.
 */
static enum result
finish(const struct pool *pool, uint32_t shard, uint32_t extent,
    struct budget *budget, struct boot_ms now)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct extent_info *info = &pool->infos[extent];

	if (!under_sweep(pool, shard, extent)) {
		return OK;	/* a chain that was dropped */
	}
	info->earliest_ms = sp->sweep_earliest_ms;
	info->swept_epoch = sp->sweep_epoch;
	if (extent_role_of(sp->sweep_state) == EXTENT_CHAIN_HEAD ||
	    is_open(sp, extent)) {
		return OK;
	}
	if (info->live_entries == 0 || FAULT(sweep_frees_live)) {
		free_empty(pool, shard, extent);
	} else if (info->live_bytes < pool_extent_bytes(pool) /
	    COMPACT_PARTS && sp->reclaim_extent == 0 && sp->spare != 0) {
		return compact(pool, shard, extent, budget, now);
	}
	return OK;
}

/*
 * Walk the extent under sweep.  OK: at its end, or it is another's now;
 * MISS: the budget is used up; BUSY: not locked any more.
 */
static enum result
walk(const struct pool *pool, uint32_t shard, struct budget *budget,
    struct boot_ms now)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t extent = sp->sweep_extent;
	uint32_t steps = 0;

	while (under_sweep(pool, shard, extent)) {
		struct entry_head head;
		struct entry *entry = shard_entry(pool, slot_make(0, 0,
		    extent, sp->sweep_offset), &head);

		if (entry == NULL) {
			return finish(pool, shard, extent, budget, now);
		}
		if (budget->left == 0) {
			return MISS;
		}
		budget->left--;
		sp->sweep_looked++;
		look(pool, shard, extent, entry, &head, now);
		sp->sweep_offset += (uint32_t)entry_bytes(&head);
		if ((head.flags & ENTRY_CHAIN) != 0) {
			return finish(pool, shard, extent, budget, now);
		}
		if (++steps % RECLAIM_STEP == 0 &&
		    shard_yield(pool, shard) != OK) {
			return BUSY;
		}
	}
	return OK;
}

uint32_t
sweep_shard(const struct pool *pool, uint32_t shard, uint32_t budget,
    struct boot_ms now)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct budget own = { budget, budget };
	uint64_t extents = (uint64_t)budget * EXTENTS_PER_ENTRY;

	if (shard_enter(pool, shard) != OK) {
		return 0;
	}
	if (extents > pool->g.extent_count) {
		extents = pool->g.extent_count;
	}
	for (; extents > 0; extents--) {
		enum result result = OK;

		if (!pool_extent_exists(pool, sp->sweep_extent)) {
			sp->sweep_extent = 1;
			sp->sweep_state = 0;
		}
		if (!under_sweep(pool, shard, sp->sweep_extent) &&
		    may_hold_dead(pool, shard, sp->sweep_extent, now)) {
			begin(pool, shard, sp->sweep_extent);
		}
		if (under_sweep(pool, shard, sp->sweep_extent)) {
			result = walk(pool, shard, &own, now);
		}
		if (result == BUSY) {
			return budget - own.left;
		}
		if (result == MISS) {
			break;
		}
		sp->sweep_extent++;
		sp->sweep_state = 0;
	}
	shard_leave(pool, shard);
	stats_add(pool->stats, STAT_sweep_passes, 1);
	return budget - own.left;
}
