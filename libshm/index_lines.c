/* SPDX-License-Identifier: ISC */

/*
 * Overflow lines of the index: taken, linked behind a full line, and given
 * back when the lines before can hold what is left.  Under the shard's lock,
 * with readers looking on; the rule that lets them is at the head of index.c.
 */
#include "index.h"

#include "extent.h"
#include "fault.h"
#include "point.h"

static uint64_t
load(const _Atomic uint64_t *word)
{
	/* Relaxed: under the lock; only count and refresh change. */
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void
publish(_Atomic uint64_t *word, uint64_t value)
{
	/* Pairs with step 1 and with the look at the links of read.c. */
	atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t *
marks_of(const struct pool *pool, uint32_t shard)
{
	return pool->marks + (uint64_t)shard * pool->g.mark_words;
}

uint64_t
index_lines_of(const struct pool *pool, uint32_t shard, unsigned dir)
{
	/* Relaxed: changed under the shard's lock alone. */
	uint64_t pages = atomic_load_explicit(
	    &pool->shards[shard].dir_pages[dir], memory_order_relaxed);

	/* The number is input: no more than the directory has places for. */
	return (pages < pool->g.dir_capacity ? pages : pool->g.dir_capacity) <<
	    index_line_shift(pool);
}

bool
index_count_is_sound(const struct pool *pool, uint32_t shard)
{
	uint64_t count = index_bucket_count(pool, shard);

	return count != 0 && count <= index_lines_of(pool, shard, DIR_PRIMARY);
}

uint32_t
index_take_line(const struct pool *pool, uint32_t shard)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint64_t *marks = marks_of(pool, shard);
	uint64_t words = index_lines_of(pool, shard, DIR_OVERFLOW) / 64;

	if (words > pool->g.mark_words ||
	    sp->overflow_used >= words * 64) {
		return 0;
	}
	for (uint64_t i = 0; i < words; i++) {
		uint64_t at = (sp->overflow_rover + i) % words;
		unsigned bit;

		if (marks[at] == UINT64_MAX) {
			continue;
		}
		bit = (unsigned)__builtin_ctzll(~marks[at]);
		marks[at] |= 1ull << bit;
		sp->overflow_rover = (uint32_t)at;
		sp->overflow_used++;
		stats_add(pool->stats, STAT_index_overflow_lines, 1);
		return (uint32_t)(at * 64 + bit);
	}
	return 0;
}

uint32_t
index_next_version(const struct pool *pool, uint32_t shard)
{
	return ++pool->shards_private[shard].link_version;
}

/* FAULT(index_page_returned): what the design forbids, for the race test. */
static void
return_pages(const struct pool *pool, uint32_t shard)
{
	_Atomic uint32_t *dir = index_dir(pool, shard, DIR_OVERFLOW);
	uint32_t extent = atomic_load_explicit(&dir[0], memory_order_relaxed);

	if (pool->shards_private[shard].overflow_used > 1 || extent == 0 ||
	    index_lines_of(pool, shard, DIR_OVERFLOW) >>
	    index_line_shift(pool) != 1) {
		return;
	}
	atomic_store_explicit(&dir[0], 0, memory_order_relaxed);
	atomic_store_explicit(&pool->shards[shard].dir_pages[DIR_OVERFLOW], 0,
	    memory_order_relaxed);
	pool->shards_private[shard].index_pages--;
	pool->shards_private[shard].owned++;
	extent_retire(pool, shard, extent);
}

void
index_absorb(const struct pool *pool, uint32_t shard, uint64_t bucket)
{
	struct shard_private *sp = &pool->shards_private[shard];
	struct index_walk walk;
	struct index_line *before = NULL, *last;
	_Atomic uint64_t *slot, *room[LINE_SLOTS];
	unsigned rooms = 0, used = 0;
	uint32_t number;

	slot = index_walk_bucket(&walk, pool, shard, bucket);
	last = walk.line;
	for (; slot != NULL; slot = index_walk_next(&walk)) {
		if (walk.line != last) {
			before = last;
			last = walk.line;
			used = 0;
		}
		used += load(slot) != 0;
	}
	/* A last line with a link leads nowhere, or on for ever. */
	if (before == NULL || last == NULL ||
	    slot_is_link(load(&last->word[LINE_SLOTS - 1]))) {
		return;
	}
	slot = index_walk_bucket(&walk, pool, shard, bucket);
	for (; slot != NULL && walk.line != last && rooms < LINE_SLOTS;
	    slot = index_walk_next(&walk)) {
		if (load(slot) == 0) {
			room[rooms++] = slot;
		}
	}
	/* One room more than needed, or the next insert takes a line again. */
	if (rooms < used) {
		return;
	}
	rooms = 0;
	for (unsigned w = 0; w < LINE_SLOTS; w++) {
		if (load(&last->word[w]) != 0) {
			publish(room[rooms++], load(&last->word[w]));
		}
	}
	SHM_POINT(absorb_copied);
	/* After the copies, before the link goes; pairs with index_moves(). */
	atomic_store_explicit(&pool->shards[shard].moves,
	    index_moves(pool, shard) + 1, memory_order_release);
	number = link_line(load(&before->word[LINE_SLOTS - 1]));
	publish(&before->word[LINE_SLOTS - 1], 0);
	SHM_POINT(absorb_unlinked);
	for (unsigned w = 0; w < LINE_SLOTS; w++) {
		publish(&last->word[w], 0);
	}
	marks_of(pool, shard)[number / 64] &= ~(1ull << (number % 64));
	sp->overflow_used--;
	if (FAULT(index_page_returned)) {
		return_pages(pool, shard);
	}
}
