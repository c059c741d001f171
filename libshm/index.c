/* SPDX-License-Identifier: ISC */

/*
 * Buckets, overflow lines and pages of the index.  Lock-free readers look on
 * (read.c), so that every change keeps one rule: an entry that is linked the
 * whole time is found by a reader who compares the links it followed, the
 * count of moves and the bucket count at its end.
 *
 *	insert		one store into a free word
 *	word 7 -> link	line[0] = old word 7, then word 7 = link (release)
 *	absorb		copy the last line's slots to earlier words (release),
 *			then count a move (release), take the link away
 *			(release), zero the line (release), after which it may
 *			serve another bucket
 *
 * Absorb: a reader may have passed the earlier words before the copies were
 * there.  If it then meets no link, or a zero or a foreign word in the old
 * line, it finds the moves changed at its end, because they were counted
 * first; it retries.  A reader who begins after the count sees the copies.
 * A link that comes back has another version.
 */
#include "index.h"

#include "entry.h"
#include "extent.h"
#include "fault.h"
#include "point.h"
#include "shard.h"

#include <string.h>

enum result
index_init(struct pool *pool, uint32_t shard)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t page = extent_take(pool, shard, EXTENT_INDEX);

	sp->overflow_used = 1;
	pool->marks[(uint64_t)shard * pool->g.mark_words] = 1;
	if (page == 0) {
		return FULL;
	}
	index_add_page(pool, shard, DIR_PRIMARY, page);
	sp->spare = extent_take(pool, shard, EXTENT_SPARE);
	sp->open_small = extent_take(pool, shard, EXTENT_SPARE);
	if (sp->spare == 0 || sp->open_small == 0) {
		return FULL;
	}
	extent_open(pool, shard, sp->open_small, EXTENT_SMALL);
	/* Relaxed: no other process has the pool yet. */
	atomic_store_explicit(&pool->shards[shard].bucket_count,
	    INDEX_INITIAL_BUCKETS, memory_order_relaxed);
	return OK;
}

void
index_add_page(const struct pool *pool, uint32_t shard, unsigned dir,
    uint32_t extent)
{
	struct shard_public *pub = &pool->shards[shard];
	struct index_line *line = pool_extent(pool, extent);
	uint64_t lines = 1ull << index_line_shift(pool);
	/* Relaxed: changed under the shard's lock alone. */
	uint32_t page = atomic_load_explicit(&pub->dir_pages[dir],
	    memory_order_relaxed);

	for (uint64_t i = 0; i < lines; i++) {
		for (unsigned w = 0; w < LINE_SLOTS; w++) {
			/* Relaxed: the directory entry publishes them. */
			atomic_store_explicit(&line[i].word[w], 0,
			    memory_order_relaxed);
		}
	}
	/* Pairs with index_line(). */
	atomic_store_explicit(&index_dir(pool, shard, dir)[page], extent,
	    memory_order_release);
	SHM_POINT(index_page_added);
	atomic_store_explicit(&pub->dir_pages[dir], page + 1,
	    memory_order_relaxed);
}

bool
index_wants_page(const struct pool *pool, uint32_t shard, unsigned dir)
{
	uint64_t lines = index_lines_of(pool, shard, dir);

	if (lines >> index_line_shift(pool) >= pool->g.dir_capacity) {
		return false;
	}
	if (dir == DIR_PRIMARY) {
		return index_bucket_count(pool, shard) >= lines;
	}
	return pool->shards_private[shard].overflow_used >= lines;
}

static uint64_t
load(const _Atomic uint64_t *word)
{
	/* Relaxed: under the lock; only count and refresh change. */
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void
publish(_Atomic uint64_t *word, uint64_t value)
{
	/* After the entry's bytes; pairs with step 1 and 3 of read.c. */
	atomic_store_explicit(word, value, memory_order_release);
}

_Atomic uint64_t *
index_walk_bucket(struct index_walk *walk, const struct pool *pool,
    uint32_t shard, uint64_t bucket)
{
	walk->pool = pool;
	walk->shard = shard;
	walk->line = index_line(pool, shard, DIR_PRIMARY, bucket);
	walk->word = 0;
	walk->lines = 1;
	return walk->line == NULL ? NULL : &walk->line->word[0];
}

_Atomic uint64_t *
index_walk_next(struct index_walk *walk)
{
	uint64_t last;

	if (++walk->word < LINE_SLOTS - 1) {
		return &walk->line->word[walk->word];
	}
	last = load(&walk->line->word[LINE_SLOTS - 1]);
	if (walk->word == LINE_SLOTS - 1 && !slot_is_link(last)) {
		return &walk->line->word[LINE_SLOTS - 1];
	}
	if (!slot_is_link(last) || walk->lines++ >= BUCKET_LINES_MAX) {
		return NULL;
	}
	walk->line = index_line(walk->pool, walk->shard, DIR_OVERFLOW,
	    link_line(last));
	walk->word = 0;
	return walk->line == NULL ? NULL : &walk->line->word[0];
}

static _Atomic uint64_t *
walk_hash(struct index_walk *walk, const struct pool *pool, uint32_t shard,
    uint64_t hash)
{
	uint64_t count = index_bucket_count(pool, shard);

	return count == 0 ? NULL : index_walk_bucket(walk, pool, shard,
	    index_bucket(hash, count));
}

bool
index_hash_of(const struct pool *pool, uint64_t word, uint64_t *hash)
{
	struct entry_head head;

	if (shard_entry(pool, word, &head) == NULL) {
		return false;
	}
	*hash = head.hash;
	return true;
}

_Atomic uint64_t *
index_find(const struct pool *pool, uint32_t shard, const struct key *key)
{
	struct index_walk walk;
	_Atomic uint64_t *slot;

	for (slot = walk_hash(&walk, pool, shard, key->hash); slot != NULL;
	    slot = index_walk_next(&walk)) {
		uint64_t word = load(slot);
		struct entry_head head;
		const struct entry *entry;

		if (word == 0 || slot_is_link(word) ||
		    word >> SLOT_TAG_SHIFT != key->hash >> SLOT_TAG_SHIFT) {
			continue;
		}
		entry = shard_entry(pool, word, &head);
		if (entry == NULL || head.hash != key->hash ||
		    head.key_bytes != key->length) {
			continue;
		}
		if (memcmp((const uint8_t *)entry + entry_key_at(&head),
		    key->bytes, key->length) == 0) {
			return slot;
		}
	}
	return NULL;
}

_Atomic uint64_t *
index_find_place(const struct pool *pool, uint32_t shard, uint64_t hash,
    uint32_t extent, uint32_t offset)
{
	struct index_walk walk;
	_Atomic uint64_t *slot;
	uint64_t place = slot_make(hash, 0, extent, offset);

	for (slot = walk_hash(&walk, pool, shard, hash); slot != NULL;
	    slot = index_walk_next(&walk)) {
		if ((load(slot) & ~SLOT_HINT_MASK) == place) {
			return slot;
		}
	}
	return NULL;
}

/* The slot of the entry that was stored first. */
static _Atomic uint64_t *
oldest_slot(const struct pool *pool, uint32_t shard, uint64_t hash)
{
	struct index_walk walk;
	_Atomic uint64_t *slot, *oldest = NULL;
	uint64_t lowest = UINT64_MAX;

	for (slot = walk_hash(&walk, pool, shard, hash); slot != NULL;
	    slot = index_walk_next(&walk)) {
		struct entry_head head;

		if (shard_entry(pool, load(slot), &head) == NULL) {
			return slot;
		}
		if (head.sequence < lowest) {
			lowest = head.sequence;
			oldest = slot;
		}
	}
	return oldest;
}

/* A line behind the last one, which is full: its word 7 becomes a link. */
static bool
add_line(const struct pool *pool, uint32_t shard, struct index_line *last,
    uint64_t word)
{
	uint32_t number = index_take_line(pool, shard);
	struct index_line *line;

	if (number == 0) {
		return false;
	}
	line = index_line(pool, shard, DIR_OVERFLOW, number);
	if (line == NULL) {
		return false;
	}
	publish(&line->word[0], load(&last->word[LINE_SLOTS - 1]));
	publish(&line->word[1], word);
	SHM_POINT(index_line_filled);
	publish(&last->word[LINE_SLOTS - 1],
	    link_make(number, index_next_version(pool, shard)));
	return true;
}

void
index_insert(const struct pool *pool, uint32_t shard, uint64_t hash,
    uint64_t word, uint64_t *replaced)
{
	struct index_walk walk;
	_Atomic uint64_t *slot;

	*replaced = 0;
	for (slot = walk_hash(&walk, pool, shard, hash); slot != NULL;
	    slot = index_walk_next(&walk)) {
		if (load(slot) == 0) {
			publish(slot, word);
			return;
		}
	}
	if (walk.line != NULL && walk.lines < BUCKET_LINES_MAX &&
	    add_line(pool, shard, walk.line, word)) {
		return;
	}
	slot = oldest_slot(pool, shard, hash);
	stats_add(pool->stats, STAT_index_bucket_full, 1);
	if (slot == NULL) {
		/* No bucket at all: the entry is not linked, a miss. */
		*replaced = word;
		return;
	}
	*replaced = load(slot);
	publish(slot, word);
}

void
index_clear(const struct pool *pool, uint32_t shard, uint64_t hash,
    _Atomic uint64_t *slot)
{
	uint64_t count = index_bucket_count(pool, shard);

	/* Release: absorb may reuse the word; see the head of this file. */
	publish(slot, 0);
	SHM_POINT(index_cleared);
	if (count != 0) {
		index_absorb(pool, shard, index_bucket(hash, count));
	}
}

uint32_t
index_unlink_extent(const struct pool *pool, uint32_t shard, uint32_t extent)
{
	uint64_t count = index_bucket_count(pool, shard);
	uint32_t cleared = 0;

	for (uint64_t bucket = 0; bucket < count; bucket++) {
		struct index_walk walk;
		_Atomic uint64_t *slot = index_walk_bucket(&walk, pool, shard,
		    bucket);

		if (slot == NULL) {
			break;	/* the count is input: it names no page */
		}
		for (; slot != NULL; slot = index_walk_next(&walk)) {
			uint64_t word = load(slot);

			if (word != 0 && slot_extent(word) == extent) {
				publish(slot, 0);
				cleared++;
			}
		}
	}
	return cleared;
}
