/* SPDX-License-Identifier: ISC */

/*
 * The scan walks shard after shard, bucket after bucket.  A split moves
 * entries to a bucket further on only, so that none is passed over.  Each
 * slot is read by the steps of read.c; a bucket that changed under the walk
 * is walked again.
 */
#include "scan.h"

#include "epoch.h"
#include "fault.h"
#include "index.h"
#include "racy_copy.h"

#define CURSOR_SHARD_SHIFT	48
#define BUCKETS_PER_CALL	1024
#define BUCKET_TRIES		8

struct walker {
	const struct pool *pool;
	struct boot_ms	now;
	scan_fn		fn;
	void		*arg;
	unsigned	met;
	bool		stop;
};

/* Steps 2 to 7 for one slot.  False: it changed meanwhile. */
static bool
visit(struct walker *w, uint32_t shard, const _Atomic uint64_t *slot,
    uint64_t word)
{
	const struct pool *pool = w->pool;
	uint8_t key[KEY_MAX_BYTES];
	uint64_t tags[TAGS_MAX];
	struct scan_item item = {
		.extent = slot_extent(word),
		.offset = slot_offset(word),
		.count = slot_count(word),
		.key = key,
	};
	const struct entry *entry;
	uint64_t generation, newest = epoch_now(pool);
	bool fits;

	if (!pool_extent_exists(pool, item.extent) ||
	    item.offset + sizeof(*entry) > pool_extent_bytes(pool)) {
		return true;
	}
	/* The orders are those of read.c. */
	generation = atomic_load_explicit(&pool->generations[item.extent],
	    memory_order_acquire);
	if ((generation & 1) != 0 || ((atomic_load_explicit(slot,
	    memory_order_acquire) ^ word) & ~SLOT_HINT_MASK) != 0) {
		return false;
	}
	entry = (const struct entry *)(const void *)((const uint8_t *)
	    pool_extent(pool, item.extent) + item.offset);
	item.head = entry_load(entry);
	fits = entry_fits(&item.head, pool_extent_bytes(pool) - item.offset);
	if (fits) {
		racy_copy(key, (const uint8_t *)entry +
		    entry_key_at(&item.head), item.head.key_bytes);
		racy_copy(tags, (const uint8_t *)entry + sizeof(*entry),
		    item.head.tag_count * sizeof(uint64_t));
	}
	shm_fence_acquire();
	if (atomic_load_explicit(&pool->generations[item.extent],
	    memory_order_relaxed) != generation) {
		return false;
	}
	if (!fits || entry_expired(&item.head, w->now) ||
	    (item.head.epoch < newest && epoch_judge(pool, item.head.epoch,
	    tags, item.head.tag_count) == EPOCH_DEAD)) {
		return true;
	}
	item.version = (uint64_t)shard << ENTRY_SEQUENCE_BITS |
	    item.head.sequence;
	w->met++;
	if (!w->fn(&item, w->arg)) {
		w->stop = true;
	}
	return true;
}

/* One pass over a bucket.  False: something changed, walk it again. */
static bool
walk_bucket(struct walker *w, uint32_t shard, uint64_t bucket)
{
	struct index_line *line = index_line(w->pool, shard, DIR_PRIMARY,
	    bucket);
	uint64_t moves = index_moves(w->pool, shard);
	const _Atomic uint64_t *links[BUCKET_LINES_MAX];
	uint64_t seen[BUCKET_LINES_MAX];
	unsigned lines = 0;
	bool whole = true;

	while (line != NULL) {
		uint64_t word = 0;

		for (unsigned i = 0; i < LINE_SLOTS; i++) {
			/* Step 1. */
			word = atomic_load_explicit(&line->word[i],
			    memory_order_acquire);
			if ((word & SLOT_EXTENT_MASK) != 0 &&
			    !visit(w, shard, &line->word[i], word)) {
				whole = false;
			}
		}
		if (!slot_is_link(word) || lines == BUCKET_LINES_MAX - 1) {
			break;
		}
		links[lines] = &line->word[LINE_SLOTS - 1];
		seen[lines++] = word;
		line = index_line(w->pool, shard, DIR_OVERFLOW,
		    link_line(word));
	}
	/* As scan_stands() of read.c. */
	shm_fence_acquire();
	if (index_moves(w->pool, shard) != moves &&
	    !FAULT(read_no_moves_recheck)) {
		whole = false;
	}
	for (unsigned i = 0; i < lines; i++) {
		if (atomic_load_explicit(links[i], memory_order_relaxed) !=
		    seen[i]) {
			whole = false;
		}
	}
	return whole;
}

/* Buckets of a shard; no more than it can have, as the count is input. */
static uint64_t
buckets_of(const struct pool *pool, uint32_t shard)
{
	uint64_t count = index_bucket_count(pool, shard);
	uint64_t most = (uint64_t)pool->g.dir_capacity <<
	    index_line_shift(pool);

	return count < most ? count : most;
}

uint64_t
scan_next(const struct pool *pool, uint64_t cursor, unsigned items,
    struct boot_ms now, scan_fn fn, void *arg)
{
	struct walker w = {
		.pool = pool, .now = now, .fn = fn, .arg = arg,
	};
	uint64_t shard = cursor >> CURSOR_SHARD_SHIFT;
	uint64_t bucket = cursor & ((1ull << CURSOR_SHARD_SHIFT) - 1);

	for (unsigned n = 0; n < BUCKETS_PER_CALL; n++) {
		while (shard < pool->g.shard_count &&
		    bucket >= buckets_of(pool, (uint32_t)shard)) {
			shard++;
			bucket = 0;
		}
		if (shard >= pool->g.shard_count) {
			return 0;
		}
		for (int i = 0; i < BUCKET_TRIES && !walk_bucket(&w,
		    (uint32_t)shard, bucket); i++) {
			continue;
		}
		bucket++;
		if (w.stop || w.met >= items) {
			break;
		}
	}
	return shard << CURSOR_SHARD_SHIFT | bucket;
}
