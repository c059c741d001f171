/* SPDX-License-Identifier: ISC */

/*
 * Count and refresh bits of slot words.
 */
#include "access.h"

#include "fault.h"
#include "index.h"
#include "point.h"
#include "shard.h"

/* A refresh bit matters more than a count: some tries, as counts race it. */
#define REFRESH_TRIES	16

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

bool
access_set_refresh(const struct pool *pool, const struct read_hit *hit,
    bool on)
{
	(void)pool;
	for (int i = 0; i < REFRESH_TRIES; i++) {
		/* Relaxed: see raise_count(). */
		uint64_t word = atomic_load_explicit(hit->slot,
		    memory_order_relaxed);
		uint64_t wanted = on ? word | SLOT_REFRESH :
		    word & ~SLOT_REFRESH;

		if (((word ^ hit->slot_word) & ~SLOT_HINT_MASK) != 0) {
			return false;
		}
		if (atomic_compare_exchange_strong_explicit(hit->slot, &word,
		    wanted, memory_order_relaxed, memory_order_relaxed)) {
			return true;
		}
	}
	return false;
}

enum result
access_end_refresh(const struct pool *pool, const struct key *key)
{
	uint32_t shard = pool_shard_of(pool, key->hash);
	enum result result = shard_enter(pool, shard);
	_Atomic uint64_t *slot;

	if (result != OK) {
		return result;
	}
	slot = index_find(pool, shard, key);
	if (slot != NULL) {
		/*
		 * Relaxed: as raise_count(); under the lock the slot stays,
		 * and only counts are swapped meanwhile.
		 */
		atomic_fetch_and_explicit(slot, ~SLOT_REFRESH,
		    memory_order_relaxed);
	}
	shard_leave(pool, shard);
	return OK;
}
