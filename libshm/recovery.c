/* SPDX-License-Identifier: ISC */

/*
 * Recovery of a shard, in this order:
 *
 *	0 flights: lists and counts from the records (flight.h)
 *	1 index: drop slots that point nowhere, above a committed length, into
 *	  an odd extent or another shard's, that lie in the wrong bucket, or
 *	  double; clear refresh bits without a flight; cut links that lead
 *	  nowhere or to a line of another bucket; mark the overflow lines in
 *	  use.  A split is finished by this (old copies lie in the wrong
 *	  bucket) or undone (the new bucket is not counted, its lines are not
 *	  marked).
 *	2 books: live bytes and entries of each extent, counts of the shard.
 *	3 extents: from each state word to the list it belongs to.  An odd
 *	  extent that should hold entries was being retired; a chain part
 *	  without a head goes.
 *	4 queues in the order of births.
 */
#include "recovery.h"

#include "chain.h"
#include "extent.h"
#include "fault.h"
#include "index.h"
#include "lease_refresh.h"
#include "point.h"
#include "shard.h"

static uint64_t *
marks_of(const struct pool *pool, uint32_t shard)
{
	return pool->marks + (uint64_t)shard * pool->g.mark_words;
}

static uint64_t
load(const _Atomic uint64_t *word)
{
	/* Relaxed: under the lock. */
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void
drop_slot(const struct pool *pool, _Atomic uint64_t *slot)
{
	/* Release, as every store to a slot; pairs with read.c. */
	atomic_store_explicit(slot, 0, memory_order_release);
	stats_add(pool->stats, STAT_recovery_slots_dropped, 1);
}

static bool
holds_entries(enum extent_role role)
{
	return role == EXTENT_SMALL || role == EXTENT_MAIN ||
	    role == EXTENT_CHAIN_HEAD;
}

/* A slot that may stay: it leads to a whole entry of this very bucket. */
static bool
slot_is_sound(const struct pool *pool, uint32_t shard, uint64_t bucket,
    uint64_t count, uint64_t word, struct entry_head *head)
{
	uint32_t extent = slot_extent(word);
	uint64_t state;

	if (shard_entry(pool, word, head) == NULL) {
		return false;
	}
	state = extent_state(pool, extent);
	return extent_owner_of(state) == shard &&
	    holds_entries(extent_role_of(state)) &&
	    /* Relaxed: changed by holders of this lock alone. */
	    (atomic_load_explicit(&pool->generations[extent],
	    memory_order_relaxed) & 1) == 0 &&
	    pool_shard_of(pool, head->hash) == shard &&
	    (index_bucket(head->hash, count) == bucket ||
	    FAULT(recovery_trusts_bucket)) &&
	    head->hash >> SLOT_TAG_SHIFT == word >> SLOT_TAG_SHIFT;
}

/* The place of each slot kept so far in one bucket. */
struct places {
	uint64_t	word[BUCKET_SLOTS_MAX];
	unsigned	count;
};

static bool
seen_before(struct places *places, uint64_t word)
{
	word &= ~SLOT_HINT_MASK;
	for (unsigned i = 0; i < places->count; i++) {
		if (places->word[i] == word) {
			return true;
		}
	}
	if (places->count < BUCKET_SLOTS_MAX) {
		places->word[places->count++] = word;
	}
	return false;
}

static void
check_line(const struct pool *pool, uint32_t shard, uint64_t bucket,
    uint64_t count, struct index_line *line, struct places *places)
{
	struct flight_table flights = pool_flights(pool, shard);

	for (unsigned w = 0; w < LINE_SLOTS; w++) {
		uint64_t word = load(&line->word[w]);
		struct entry_head head;

		if (word == 0 || (w == LINE_SLOTS - 1 && slot_is_link(word))) {
			continue;
		}
		if (FAULT(recovery_keeps_bad_slots)) {
			if (shard_entry(pool, word, &head) != NULL) {
				shard_count_linked(pool, shard, word, &head);
			}
			continue;
		}
		if (!slot_is_sound(pool, shard, bucket, count, word, &head) ||
		    seen_before(places, word)) {
			drop_slot(pool, &line->word[w]);
			continue;
		}
		if ((word & SLOT_REFRESH) != 0 &&
		    !flight_is_under_way(&flights, head.hash)) {
			lease_refresh_unset(&line->word[w]);
		}
		shard_count_linked(pool, shard, word, &head);
	}
}

/* The line behind a link if it may be this bucket's; marks it. */
static struct index_line *
claim_line(const struct pool *pool, uint32_t shard, uint64_t link)
{
	uint32_t number = link_line(link);
	uint64_t *marks = marks_of(pool, shard);
	struct index_line *line;

	if (number == 0 || number / 64 >= pool->g.mark_words ||
	    (marks[number / 64] >> (number % 64) & 1) != 0) {
		return NULL;
	}
	line = index_line(pool, shard, DIR_OVERFLOW, number);
	if (line != NULL) {
		marks[number / 64] |= 1ull << (number % 64);
		pool->shards_private[shard].overflow_used++;
	}
	return line;
}

static void
check_bucket(const struct pool *pool, uint32_t shard, uint64_t bucket,
    uint64_t count)
{
	struct index_line *line = index_line(pool, shard, DIR_PRIMARY, bucket);
	struct places places = { .count = 0 };
	unsigned lines = 0;

	while (line != NULL) {
		_Atomic uint64_t *last = &line->word[LINE_SLOTS - 1];
		uint64_t link = load(last);

		check_line(pool, shard, bucket, count, line, &places);
		if (!slot_is_link(link)) {
			break;
		}
		line = ++lines < BUCKET_LINES_MAX ?
		    claim_line(pool, shard, link) : NULL;
		if (line == NULL) {
			drop_slot(pool, last);
		}
	}
}

/* Lines that no bucket claimed are empty again. */
static void
clear_unmarked_lines(const struct pool *pool, uint32_t shard)
{
	uint64_t lines = index_lines_of(pool, shard, DIR_OVERFLOW);

	for (uint64_t i = 1; i < lines && i / 64 < pool->g.mark_words; i++) {
		struct index_line *line;

		if ((marks_of(pool, shard)[i / 64] >> (i % 64) & 1) != 0) {
			continue;
		}
		line = index_line(pool, shard, DIR_OVERFLOW, i);
		for (unsigned w = 0; line != NULL && w < LINE_SLOTS; w++) {
			if (load(&line->word[w]) != 0) {
				atomic_store_explicit(&line->word[w], 0,
				    memory_order_release);
			}
		}
	}
}

static void
reset_books(const struct pool *pool, uint32_t shard)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint64_t *marks = marks_of(pool, shard);

	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		uint64_t state = extent_state(pool, e);

		/* A free one may be another shard's by the next line. */
		if (extent_owner_of(state) == shard &&
		    extent_role_of(state) != EXTENT_FREE) {
			pool->infos[e].live_bytes = 0;
			pool->infos[e].live_entries = 0;
			pool->infos[e].earliest_ms = UINT64_MAX;
			pool->infos[e].swept_epoch = 0;
		}
	}
	for (uint32_t i = 0; i < pool->g.mark_words; i++) {
		marks[i] = 0;
	}
	marks[0] = 1;
	sp->overflow_used = 1;
	sp->overflow_rover = 0;
	sp->main_entries = 0;
	/* Relaxed: under the lock; for people. */
	atomic_store_explicit(&pool->shards[shard].entry_count, 0,
	    memory_order_relaxed);
}

/* FAULT(recovery_links_extents): brings back deletes and overwrites. */
static void
link_extents(const struct pool *pool, uint32_t shard)
{
	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		uint64_t state = extent_state(pool, e);
		uint32_t offset = 0;
		struct entry_head head;

		if (extent_owner_of(state) != shard ||
		    !holds_entries(extent_role_of(state))) {
			continue;
		}
		while (shard_entry(pool, slot_make(0, 0, e, offset), &head) !=
		    NULL) {
			if (index_find_place(pool, shard, head.hash, e,
			    offset) == NULL) {
				shard_link(pool, shard, NULL, slot_make(
				    head.hash, 0, e, offset), &head);
			}
			offset += (uint32_t)entry_bytes(&head);
		}
	}
}

static void
repair(const struct pool *pool, uint32_t shard)
{
	uint64_t count = index_bucket_count(pool, shard);
	uint64_t lines = index_lines_of(pool, shard, DIR_PRIMARY);
	struct flight_table flights = pool_flights(pool, shard);

	flight_rebuild(&flights);
	reset_books(pool, shard);
	/*
	 * An absorb that died after its copies: the ones left behind are
	 * dropped as doubles, which a reader must notice as in index_absorb().
	 */
	atomic_store_explicit(&pool->shards[shard].moves,
	    index_moves(pool, shard) + 1, memory_order_release);
	for (uint64_t b = 0; b < count && b < lines; b++) {
		check_bucket(pool, shard, b, count);
	}
	if (!FAULT(recovery_keeps_lines)) {
		clear_unmarked_lines(pool, shard);
	}
	SHM_POINT(recovery_index_done);
	recovery_rebuild_lists(pool, shard);
	if (FAULT(recovery_links_extents)) {
		link_extents(pool, shard);
	}
}

void
recovery_empty_shard(const struct pool *pool, uint32_t shard)
{
	struct flight_table flights = pool_flights(pool, shard);

	flight_forget(&flights);
	for (unsigned dir = DIR_PRIMARY; dir <= DIR_OVERFLOW; dir++) {
		uint64_t lines = index_lines_of(pool, shard, dir);

		for (uint64_t i = 0; i < lines; i++) {
			struct index_line *line = index_line(pool, shard, dir,
			    i);

			for (unsigned w = 0; line != NULL && w < LINE_SLOTS;
			    w++) {
				atomic_store_explicit(&line->word[w], 0,
				    memory_order_release);
			}
		}
	}
	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		uint64_t state = extent_state(pool, e);

		if (extent_owner_of(state) == shard &&
		    (holds_entries(extent_role_of(state)) ||
		    extent_role_of(state) == EXTENT_CHAIN_PART)) {
			/* No slot leads here any more; the lists retire it. */
			extent_generation_odd(pool, e);
		}
	}
	if (!index_count_is_sound(pool, shard)) {
		/* A page has room for them; all slots are empty. */
		atomic_store_explicit(&pool->shards[shard].bucket_count,
		    INDEX_INITIAL_BUCKETS, memory_order_release);
	}
	reset_books(pool, shard);
	recovery_rebuild_lists(pool, shard);
	stats_add(pool->stats, STAT_recovery_shard_emptied, 1);
}

void
recovery_run(const struct pool *pool, uint32_t shard)
{
	struct shard_private *sp = &pool->shards_private[shard];

	stats_add(pool->stats, STAT_recoveries, 1);
	if ((sp->recovering++ == 0 && index_count_is_sound(pool, shard)) ||
	    FAULT(recovery_tries_again)) {
		SHM_POINT(recovery_begun);
		repair(pool, shard);
	} else {
		recovery_empty_shard(pool, shard);
	}
	SHM_POINT(recovery_done);
	sp->recovering = 0;
}
