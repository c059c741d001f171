/* SPDX-License-Identifier: ISC */

/*
 * The split of linear hashing: bucket b gives the slots whose next hash bit
 * is set to the new bucket n = bucket count.  Under the shard's lock, with
 * readers looking on.
 *
 * States of the shard's count: n (before), n + 1 (after).
 *
 *	splitter                              reader
 *	s1 zero bucket n, lines unlinked      r1 c = count (acquire)
 *	s2 copy moving slots to n (release)   r2 scan bucket of hash under c
 *	s3 count = n + 1 (release)            r3 found and valid: hit
 *	s4 clear moved slots in b (release)   r4 not found: fence (acquire)
 *	s5 absorb b's last lines              r5 count != c or a link changed:
 *	                                         again from r1; else miss
 *
 * 1. A reader with c = n finds a moving entry in b until s4.  If it meets
 *    the zero of s4 (acquire load of a release store), r5 sees n + 1 and
 *    retries; so no entry that is linked throughout is missed.
 * 2. A reader with c = n + 1 sees s2 complete, because s3 is a release.
 * 3. Between s2 and s4 an entry has two slots.  Both lead to the same bytes;
 *    a count swapped into the old one is lost, which is allowed.
 * 4. Clearing before publishing breaks 1: a reader with c = n misses in b
 *    and r5 still sees n (3,546 false misses in 296 M gets, measured).
 *
 * Splitter dies after s2: the count is still n, nobody looks into bucket n,
 * recovery frees its lines and s1 of the next try zeroes it.  After s3 and
 * before s4 ends: old copies lie in the wrong bucket for the count n + 1;
 * recovery drops those.  Reader dies anywhere: it holds nothing.
 */
#include "index.h"

#include "fault.h"
#include "point.h"

struct gathered {
	_Atomic uint64_t *slot[BUCKET_SLOTS_MAX];	/* where it lies */
	uint64_t	word[BUCKET_SLOTS_MAX];
	unsigned	count;
};

/* Slots of the old bucket that belong to the new one under count + 1. */
static void
gather_moving(const struct pool *pool, uint32_t shard, uint64_t old,
    uint64_t new, struct gathered *moving)
{
	struct index_walk walk;
	_Atomic uint64_t *slot = index_walk_bucket(&walk, pool, shard, old);

	moving->count = 0;
	for (; slot != NULL; slot = index_walk_next(&walk)) {
		/* Relaxed: under the lock. */
		uint64_t word = atomic_load_explicit(slot,
		    memory_order_relaxed);
		uint64_t hash;

		if (word == 0) {
			continue;
		}
		if (!index_hash_of(pool, word, &hash)) {
			/* Points nowhere: a slot that must not live on. */
			atomic_store_explicit(slot, 0, memory_order_release);
			stats_add(pool->stats, STAT_recovery_slots_dropped, 1);
			continue;
		}
		if (index_bucket(hash, new + 1) == new) {
			moving->slot[moving->count] = slot;
			moving->word[moving->count++] = word;
		}
	}
}

/*
 * Fill the new bucket, which no reader looks into yet.  False if it needs
 * overflow lines that are not there; then it is zero again.
 */
static bool
fill_new(const struct pool *pool, uint32_t shard, uint64_t new,
    const struct gathered *moving)
{
	struct index_line *line = index_line(pool, shard, DIR_PRIMARY, new);
	unsigned word = 0;

	if (line == NULL) {
		return false;
	}
	for (unsigned w = 0; w < LINE_SLOTS; w++) {
		/* Relaxed: s3 publishes the line. */
		atomic_store_explicit(&line->word[w], 0,
		    memory_order_relaxed);
	}
	for (unsigned i = 0; i < moving->count; i++) {
		if (word == LINE_SLOTS - 1 && i + 1 < moving->count) {
			uint32_t number = index_take_line(pool, shard);
			struct index_line *next = number == 0 ? NULL :
			    index_line(pool, shard, DIR_OVERFLOW, number);

			if (next == NULL) {
				return false;
			}
			/* Release: as the slots below. */
			atomic_store_explicit(&line->word[word],
			    link_make(number, index_next_version(pool, shard)),
			    memory_order_release);
			line = next;
			word = 0;
		}
		/*
		 * Release: a reader that stayed in an overflow line of
		 * another bucket may take it here before s3.
		 */
		atomic_store_explicit(&line->word[word++], moving->word[i],
		    memory_order_release);
	}
	return true;
}

/* Lines for all that may move, so that fill_new() cannot stop half way. */
static bool
lines_suffice(const struct pool *pool, uint32_t shard, unsigned slots)
{
	const struct shard_private *sp = &pool->shards_private[shard];
	uint64_t lines = (uint64_t)atomic_load_explicit(
	    &pool->shards[shard].dir_pages[DIR_OVERFLOW],
	    memory_order_relaxed) << index_line_shift(pool);

	return slots <= LINE_SLOTS ||
	    sp->overflow_used + slots / (LINE_SLOTS - 1) <= lines;
}

static void
clear_moved(const struct gathered *moving)
{
	for (unsigned i = 0; i < moving->count; i++) {
		/* Pairs with the acquire of the slot load in read.c. */
		atomic_store_explicit(moving->slot[i], 0,
		    memory_order_release);
		SHM_POINT(split_clearing);
	}
}

static void
split(const struct pool *pool, uint32_t shard, uint64_t count)
{
	uint64_t top = 1ull << (63 - __builtin_clzll(count));
	uint64_t old = count - top;
	struct gathered moving;

	gather_moving(pool, shard, old, count, &moving);
	if (!lines_suffice(pool, shard, moving.count) ||
	    !fill_new(pool, shard, count, &moving)) {
		return;
	}
	SHM_POINT(split_copied);
	if (FAULT(split_clears_first)) {
		clear_moved(&moving);
	}
	/* After the new bucket's words; pairs with index_bucket_count(). */
	atomic_store_explicit(&pool->shards[shard].bucket_count, count + 1,
	    memory_order_release);
	SHM_POINT(split_published);
	if (!FAULT(split_clears_first)) {
		clear_moved(&moving);
	}
	index_absorb(pool, shard, old);
	stats_add(pool->stats, STAT_index_splits, 1);
}

void
index_split_if_due(const struct pool *pool, uint32_t shard)
{
	uint64_t count = index_bucket_count(pool, shard);
	uint64_t lines = (uint64_t)atomic_load_explicit(
	    &pool->shards[shard].dir_pages[DIR_PRIMARY],
	    memory_order_relaxed) << index_line_shift(pool);
	/* Relaxed: changed under the shard's lock alone. */
	uint64_t entries = atomic_load_explicit(
	    &pool->shards[shard].entry_count, memory_order_relaxed);

	if (count == 0 || count >= lines ||
	    entries <= count * BUCKET_TARGET_ENTRIES) {
		return;
	}
	split(pool, shard, count);
}
