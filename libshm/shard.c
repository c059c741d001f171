/* SPDX-License-Identifier: ISC */

/*
 * Entering and leaving a shard, linking and unlinking with the books kept.
 */
#include "shard.h"

#include "chain.h"
#include "chain_write.h"
#include "epoch.h"
#include "extent.h"
#include "fault.h"
#include "index.h"
#include "point.h"
#include "recovery.h"

#include <string.h>

/* usual_lines: about so many entries back, and none of more bytes. */
#define USUAL_WEIGHT	16
#define USUAL_MAX_BYTES	2048

enum result
shard_enter(const struct pool *pool, uint32_t shard)
{
	struct shm_lock *lock = &pool->shards_private[shard].lock;

	switch (lock_acquire(lock, LOCK_TIMEOUT_MS)) {
	case LOCK_HELD:
		return OK;
	case LOCK_HELD_OWNER_DIED:
		recovery_run(pool, shard);
		/* Before any unlock, or the lock is broken for ever. */
		if (!FAULT(lock_left_inconsistent)) {
			lock_mark_consistent(lock);
		}
		return OK;
	case LOCK_BUSY:
	case LOCK_BROKEN:
		break;
	}
	stats_add(pool->stats, STAT_lock_timeouts, 1);
	return BUSY;
}

void
shard_leave(const struct pool *pool, uint32_t shard)
{
	lock_release(&pool->shards_private[shard].lock);
}

enum result
shard_yield(const struct pool *pool, uint32_t shard)
{
	shard_leave(pool, shard);
	SHM_POINT(shard_yielded);
	return shard_enter(pool, shard);
}

uint64_t
shard_next_sequence(const struct pool *pool, uint32_t shard)
{
	uint64_t *sequence = &pool->shards_private[shard].sequence;

	*sequence = (*sequence + 1) & ((1ull << ENTRY_SEQUENCE_BITS) - 1);
	if (*sequence == 0) {
		*sequence = 1;
	}
	return *sequence;
}

struct entry *
shard_entry(const struct pool *pool, uint64_t word, struct entry_head *head)
{
	uint32_t extent = slot_extent(word);
	uint32_t offset = slot_offset(word);
	uint32_t committed;
	struct entry *entry;

	if (!pool_extent_exists(pool, extent)) {
		return NULL;
	}
	committed = extent_committed(pool, extent);
	if (committed > pool_extent_bytes(pool) ||
	    offset + sizeof(*entry) > committed) {
		return NULL;
	}
	entry = (struct entry *)(void *)
	    ((uint8_t *)pool_extent(pool, extent) + offset);
	*head = entry_load(entry);
	return entry_fits(head, committed - offset) ? entry : NULL;
}

bool
shard_entry_dead(const struct pool *pool, const struct entry *entry,
    const struct entry_head *head, struct boot_ms now)
{
	uint64_t tags[TAGS_MAX];

	if (entry_expired(head, now)) {
		return true;
	}
	if (head->epoch >= epoch_now(pool)) {
		return false;
	}
	memcpy(tags, (const uint8_t *)entry + sizeof(*entry),
	    head->tag_count * sizeof(uint64_t));
	return epoch_judge(pool, head->epoch, tags, head->tag_count) ==
	    EPOCH_DEAD;
}

uint64_t
shard_live_version(const struct pool *pool, uint32_t shard,
    const _Atomic uint64_t *slot, struct boot_ms now)
{
	struct entry_head head;
	const struct entry *entry;

	if (slot == NULL) {
		return 0;
	}
	/* Relaxed: under the lock. */
	entry = shard_entry(pool, atomic_load_explicit(slot,
	    memory_order_relaxed), &head);
	if (entry == NULL || shard_entry_dead(pool, entry, &head, now)) {
		return 0;
	}
	return (uint64_t)shard << ENTRY_SEQUENCE_BITS | head.sequence;
}

static void
change_count(_Atomic uint64_t *count, uint64_t by)
{
	/* Relaxed: under the lock; others read it for people. */
	uint64_t old = atomic_load_explicit(count, memory_order_relaxed);

	atomic_store_explicit(count, old + by, memory_order_relaxed);
}

static bool
is_main(const struct pool *pool, uint32_t extent)
{
	enum extent_role role = extent_role_of(extent_state(pool, extent));

	return role == EXTENT_MAIN || role == EXTENT_CHAIN_HEAD;
}

void
shard_note_expiry(const struct pool *pool, uint32_t shard, uint32_t extent,
    uint64_t hard_ms)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct extent_info *info = &pool->infos[extent];

	if (hard_ms < info->earliest_ms) {
		info->earliest_ms = hard_ms;
	}
	if (extent == sp->sweep_extent && hard_ms < sp->sweep_earliest_ms &&
	    !FAULT(sweep_forgets_touch)) {
		sp->sweep_earliest_ms = hard_ms;
	}
}

/*
 * A running mean, for readers that prefetch.  An entry larger than a few
 * lines counts as that: past them the processor sees the pattern itself.
 */
static void
note_size(struct shard_public *pub, uint64_t bytes)
{
	/* Relaxed: written under the lock, and nothing hangs on it. */
	uint32_t mean = atomic_load_explicit(&pub->usual_lines,
	    memory_order_relaxed);
	uint32_t lines = bytes < USUAL_MAX_BYTES ?
	    (uint32_t)(bytes * USUAL_LINE / CACHE_LINE_BYTES) :
	    USUAL_MAX_BYTES * USUAL_LINE / CACHE_LINE_BYTES;

	mean = mean - mean / USUAL_WEIGHT + lines / USUAL_WEIGHT;
	atomic_store_explicit(&pub->usual_lines, mean, memory_order_relaxed);
}

void
shard_count_linked(const struct pool *pool, uint32_t shard, uint64_t word,
    const struct entry_head *head)
{
	uint32_t extent = slot_extent(word);
	struct extent_info *info = &pool->infos[extent];

	info->live_entries++;
	info->live_bytes += (uint32_t)entry_bytes(head);
	shard_note_expiry(pool, shard, extent,
	    entry_expiry_ms(head, head->hard));
	if (is_main(pool, extent)) {
		pool->shards_private[shard].main_entries++;
	}
	change_count(&pool->shards[shard].entry_count, 1);
	note_size(&pool->shards[shard], entry_bytes(head));
}

void
shard_count_unlinked(const struct pool *pool, uint32_t shard, uint64_t word,
    const struct entry_head *head)
{
	uint32_t extent = slot_extent(word);
	struct extent_info *info = &pool->infos[extent];

	info->live_entries--;
	info->live_bytes -= (uint32_t)entry_bytes(head);
	if (is_main(pool, extent)) {
		pool->shards_private[shard].main_entries--;
	}
	change_count(&pool->shards[shard].entry_count, (uint64_t)-1);
	if ((head->flags & ENTRY_CHAIN) != 0) {
		chain_free(pool, shard, extent);
	}
}

void
shard_unlink(const struct pool *pool, uint32_t shard, _Atomic uint64_t *slot)
{
	/* Relaxed: under the lock. */
	uint64_t word = atomic_load_explicit(slot, memory_order_relaxed);
	struct entry_head head;

	if (shard_entry(pool, word, &head) == NULL) {
		/* A slot that leads nowhere has no entry to count out. */
		atomic_store_explicit(slot, 0, memory_order_release);
		stats_add(pool->stats, STAT_recovery_slots_dropped, 1);
		return;
	}
	index_clear(pool, shard, head.hash, slot);
	shard_count_unlinked(pool, shard, word, &head);
}

void
shard_link(const struct pool *pool, uint32_t shard, _Atomic uint64_t *old,
    uint64_t word, const struct entry_head *head)
{
	struct entry_head gone;
	uint64_t replaced;

	SHM_POINT(link_before);
	if (old != NULL) {
		/* Relaxed: under the lock; a lost count is allowed. */
		replaced = atomic_load_explicit(old, memory_order_relaxed);
		/* After the entry's bytes; pairs with step 1 of read.c. */
		atomic_store_explicit(old, word, memory_order_release);
	} else {
		index_insert(pool, shard, head->hash, word, &replaced);
	}
	SHM_POINT(link_after);
	shard_count_linked(pool, shard, word, head);
	SHM_POINT(link_counted);
	if (replaced != 0 && shard_entry(pool, replaced, &gone) != NULL) {
		shard_count_unlinked(pool, shard, replaced, &gone);
	}
}
