/* SPDX-License-Identifier: ISC */

/*
 * Counts of slot words, and expiries that slide.
 */
#include "access.h"

#include "fault.h"
#include "index.h"
#include "point.h"
#include "shard.h"

static bool
raise_count(_Atomic uint64_t *slot, uint64_t word)
{
	/*
	 * Relaxed: the bits order nothing, and the swap publishes nothing
	 * that was not there; a writer that replaced the word wins.
	 */
	return atomic_compare_exchange_strong_explicit(slot, &word,
	    word + (1ull << SLOT_COUNT_SHIFT), memory_order_relaxed,
	    memory_order_relaxed);
}

/* FAULT(count_in_entry): a store into memory that may be another's by now. */
static void
count_in_entry(const struct pool *pool, const struct read_hit *hit)
{
	struct entry *entry = (struct entry *)(void *)
	    ((uint8_t *)pool_extent(pool, hit->extent) + hit->offset);

	SHM_POINT(access_count);
	atomic_fetch_add_explicit(&entry->word[ENTRY_WORDS - 1],
	    1ull << ENTRY_EPOCH_BITS, memory_order_relaxed);
}

void
access_touch(const struct pool *pool, const struct read_hit *hit)
{
	if (FAULT(count_in_entry)) {
		count_in_entry(pool, hit);
		return;
	}
	if (slot_count(hit->slot_word) < SLOT_COUNT_MAX) {
		(void)raise_count(hit->slot, hit->slot_word);
	}
}

void
access_hint(const struct pool *pool, uint64_t hash, uint32_t extent,
    uint32_t offset)
{
	_Atomic uint64_t *slot;
	uint64_t word;

	if (!pool_extent_exists(pool, extent) ||
	    offset >= pool_extent_bytes(pool)) {
		stats_add(pool->stats, STAT_hints_dropped, 1);
		return;
	}
	/*
	 * Without the lock the walk may pass a line that changes buckets;
	 * what it finds is still a slot with this tag and place.
	 */
	slot = index_find_place(pool, pool_shard_of(pool, hash), hash, extent,
	    offset);
	if (slot == NULL) {
		stats_add(pool->stats, STAT_hints_dropped, 1);
		return;
	}
	/* Relaxed: see raise_count(). */
	word = atomic_load_explicit(slot, memory_order_relaxed);
	if ((word & ~SLOT_HINT_MASK) == slot_make(hash, 0, extent, offset) &&
	    slot_count(word) < SLOT_COUNT_MAX && raise_count(slot, word)) {
		stats_add(pool->stats, STAT_hints_applied, 1);
		return;
	}
	stats_add(pool->stats, STAT_hints_dropped, 1);
}

void
access_prefetch_hint(const struct pool *pool, uint64_t hash)
{
	uint32_t shard = pool_shard_of(pool, hash);
	uint64_t count = index_bucket_count(pool, shard);

	if (count > 0) {
		/* Of NULL nothing is fetched. */
		__builtin_prefetch(index_line(pool, shard, DIR_PRIMARY,
		    index_bucket(hash, count)));
	}
}

/* The later of two expiries of one entry, as a span. */
static uint32_t
later(const struct entry_head *head, uint32_t span, uint64_t wanted_ms)
{
	uint64_t now_ms = entry_expiry_ms(head, span);

	return wanted_ms > now_ms ? entry_span(head->created_ms, wanted_ms) :
	    span;
}

static bool
slide(const struct pool *pool, _Atomic uint64_t *slot, uint64_t hash,
    uint64_t soft_ms, uint64_t hard_ms, struct boot_ms now)
{
	struct entry_head head;
	/* Relaxed: under the lock. */
	struct entry *entry = slot == NULL ? NULL : shard_entry(pool,
	    atomic_load_explicit(slot, memory_order_relaxed), &head);
	uint32_t soft, hard;

	if (entry == NULL || head.hash != hash ||
	    shard_entry_dead(pool, entry, &head, now)) {
		return false;
	}
	soft = later(&head, head.soft, soft_ms);
	hard = later(&head, head.hard, hard_ms);
	if (soft != head.soft || hard != head.hard) {
		/* Later than what the sweep was told: it looks in vain. */
		entry_store_expiry(entry, soft, hard);
	}
	return true;
}

enum result
access_slide(const struct pool *pool, uint64_t hash, uint32_t extent,
    uint32_t offset, uint64_t soft_ms, uint64_t hard_ms, struct boot_ms now)
{
	uint32_t shard = pool_shard_of(pool, hash);
	enum result result;

	if (!pool_extent_exists(pool, extent) ||
	    offset >= pool_extent_bytes(pool)) {
		return MISS;
	}
	result = shard_enter(pool, shard);
	if (result != OK) {
		return result;
	}
	if (!slide(pool, index_find_place(pool, shard, hash, extent, offset),
	    hash, soft_ms, hard_ms, now)) {
		result = MISS;
	}
	shard_leave(pool, shard);
	if (result == OK) {
		stats_add(pool->stats, STAT_slides, 1);
	}
	return result;
}
