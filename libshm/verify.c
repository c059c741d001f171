/* SPDX-License-Identifier: ISC */

/*
 * verify: the index half (I2 to I8, I14, I15).  The extent half is
 * verify_extents.c.
 */
#include "verify.h"

#include <string.h>

#include "chain.h"
#include "extent.h"
#include "index.h"
#include "shard.h"
#include "verify_state.h"

void
verify_fault(struct verify_state *v, unsigned invariant, uint64_t where,
    const char *text)
{
	v->faults++;
	if (v->fn != NULL) {
		v->fn(v->arg, invariant, v->shard, where, text);
	}
}

size_t
verify_scratch_bytes(const struct pool *pool)
{
	/* Bytes and entries of each extent, and a mark of each line. */
	return ((uint64_t)pool->g.extent_count + 1) * 3 * sizeof(uint32_t) +
	    (uint64_t)pool->g.mark_words * sizeof(uint64_t);
}

static void
check_pages(struct verify_state *v)
{
	const struct pool *pool = v->pool;

	for (unsigned dir = DIR_PRIMARY; dir <= DIR_OVERFLOW; dir++) {
		/* Relaxed: under the lock. */
		uint32_t pages = atomic_load_explicit(
		    &pool->shards[v->shard].dir_pages[dir],
		    memory_order_relaxed);

		if (pages > pool->g.dir_capacity) {
			verify_fault(v, 2, pages, "more pages than places");
			continue;
		}
		for (uint32_t p = 0; p < pages; p++) {
			uint32_t extent = atomic_load_explicit(
			    &index_dir(pool, v->shard, dir)[p],
			    memory_order_relaxed);
			uint64_t state;

			if (!pool_extent_exists(pool, extent)) {
				verify_fault(v, 2, p, "page does not exist");
				continue;
			}
			state = extent_state(pool, extent);
			if (extent_role_of(state) != EXTENT_INDEX ||
			    extent_owner_of(state) != v->shard) {
				verify_fault(v, 2, extent,
				    "page is no index extent of this shard");
			}
		}
	}
}

/* I3, I4, I7 of one slot; what it leads to is counted. */
static bool
check_slot(struct verify_state *v, uint64_t bucket, uint64_t count,
    uint64_t word, struct entry_head *head)
{
	const struct pool *pool = v->pool;
	uint32_t extent = slot_extent(word);
	const struct entry *entry = shard_entry(pool, word, head);
	enum extent_role role;
	uint64_t state;

	if (entry == NULL) {
		verify_fault(v, 3, word, "slot leads to no committed entry");
		return false;
	}
	state = extent_state(pool, extent);
	role = extent_role_of(state);
	if (extent_owner_of(state) != v->shard || (role != EXTENT_SMALL &&
	    role != EXTENT_MAIN && role != EXTENT_CHAIN_HEAD)) {
		verify_fault(v, 3, word, "slot dangles: wrong owner or role");
	}
	if ((atomic_load_explicit(&pool->generations[extent],
	    memory_order_relaxed) & 1) != 0) {
		verify_fault(v, 3, word, "slot dangles: extent is odd");
	}
	if (pool_shard_of(pool, head->hash) != v->shard ||
	    index_bucket(head->hash, count) != bucket) {
		verify_fault(v, 4, word, "slot in the wrong bucket");
	}
	if (head->hash >> SLOT_TAG_SHIFT != word >> SLOT_TAG_SHIFT) {
		verify_fault(v, 4, word, "slot has another tag");
	}
	if ((word & SLOT_REFRESH) != 0 &&
	    !flight_is_under_way(&v->flights, head->hash)) {
		verify_fault(v, 15, word, "refresh bit without a flight");
	}
	if (((head->flags & ENTRY_CHAIN) != 0) !=
	    (role == EXTENT_CHAIN_HEAD)) {
		verify_fault(v, 12, word, "chain flag and role disagree");
	}
	if (!entry_checksum_ok(entry, head)) {
		verify_fault(v, 7, word, "checksum of an entry");
	}
	v->live_entries[extent]++;
	v->live_bytes[extent] += (uint32_t)entry_bytes(head);
	v->entries++;
	v->main_entries += role != EXTENT_SMALL;
	return true;
}

/* The slots of one bucket that were looked at so far. */
struct bucket_seen {
	uint64_t	word[BUCKET_SLOTS_MAX];
	unsigned	count;
};

static void
check_double(struct verify_state *v, struct bucket_seen *seen, uint64_t word,
    const struct entry_head *head)
{
	struct entry_head other;
	const uint8_t *entry = (const uint8_t *)shard_entry(v->pool, word,
	    &other);

	for (unsigned i = 0; i < seen->count; i++) {
		const uint8_t *before;

		if (((seen->word[i] ^ word) & ~SLOT_HINT_MASK) == 0) {
			verify_fault(v, 5, word, "place linked twice");
			return;
		}
		before = (const uint8_t *)shard_entry(v->pool, seen->word[i],
		    &other);
		if (before != NULL && other.hash == head->hash &&
		    other.key_bytes == head->key_bytes &&
		    memcmp(before + entry_key_at(&other), entry +
		    entry_key_at(head), head->key_bytes) == 0) {
			verify_fault(v, 5, word, "key linked twice");
		}
	}
	if (seen->count < BUCKET_SLOTS_MAX) {
		seen->word[seen->count++] = word;
	}
}

static struct index_line *
follow(struct verify_state *v, uint64_t link)
{
	uint32_t number = link_line(link);
	struct index_line *line = index_line(v->pool, v->shard, DIR_OVERFLOW,
	    number);

	if (line == NULL || number == 0 ||
	    number / 64 >= v->pool->g.mark_words) {
		verify_fault(v, 6, link, "link to no line");
		return NULL;
	}
	if ((v->marks[number / 64] >> (number % 64) & 1) != 0) {
		verify_fault(v, 6, link, "line of two buckets");
		return NULL;
	}
	v->marks[number / 64] |= 1ull << (number % 64);
	return line;
}

static void
check_bucket(struct verify_state *v, uint64_t bucket, uint64_t count)
{
	struct index_line *line = index_line(v->pool, v->shard, DIR_PRIMARY,
	    bucket);
	struct bucket_seen seen = { .count = 0 };
	unsigned lines = 0;

	if (line == NULL) {
		verify_fault(v, 2, bucket, "bucket without a page");
	}
	while (line != NULL) {
		uint64_t word = 0;

		for (unsigned w = 0; w < LINE_SLOTS; w++) {
			struct entry_head head;

			word = atomic_load_explicit(&line->word[w],
			    memory_order_relaxed);
			if (word == 0 || (w == LINE_SLOTS - 1 &&
			    slot_is_link(word))) {
				continue;
			}
			if (check_slot(v, bucket, count, word, &head)) {
				check_double(v, &seen, word, &head);
			}
		}
		if (!slot_is_link(word)) {
			break;
		}
		if (++lines >= BUCKET_LINES_MAX) {
			verify_fault(v, 6, bucket, "bucket has too many lines");
			break;
		}
		line = follow(v, word);
	}
}

static bool
line_is_empty(const struct index_line *line)
{
	for (unsigned w = 0; line != NULL && w < LINE_SLOTS; w++) {
		/* Relaxed: under the lock. */
		if (atomic_load_explicit(&line->word[w],
		    memory_order_relaxed) != 0) {
			return false;
		}
	}
	return true;
}

/* I6: who takes such a line fills its first words alone. */
static void
check_unused_lines(struct verify_state *v)
{
	uint64_t lines = index_lines_of(v->pool, v->shard, DIR_OVERFLOW);

	for (uint64_t i = 1; i < lines && i / 64 < v->pool->g.mark_words;
	    i++) {
		if ((v->marks[i / 64] >> (i % 64) & 1) == 0 &&
		    !line_is_empty(index_line(v->pool, v->shard,
		    DIR_OVERFLOW, i))) {
			verify_fault(v, 6, i, "unused line is not empty");
		}
	}
}

static void
check_marks(struct verify_state *v)
{
	const struct pool *pool = v->pool;
	const uint64_t *marks = pool->marks +
	    (uint64_t)v->shard * pool->g.mark_words;
	uint32_t used = 0;

	for (uint32_t i = 0; i < pool->g.mark_words; i++) {
		used += (uint32_t)__builtin_popcountll(marks[i]);
		if (marks[i] != v->marks[i]) {
			verify_fault(v, 6, i, "marks and links disagree");
		}
	}
	if (used != pool->shards_private[v->shard].overflow_used) {
		verify_fault(v, 6, used, "count of overflow lines");
	}
}

static void
check_books(struct verify_state *v)
{
	const struct pool *pool = v->pool;

	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		const struct extent_info *info = &pool->infos[e];
		uint64_t state = extent_state(pool, e);
		enum extent_role role = extent_role_of(state);

		if (extent_owner_of(state) != v->shard ||
		    (role != EXTENT_SMALL && role != EXTENT_MAIN &&
		    role != EXTENT_CHAIN_HEAD)) {
			continue;
		}
		if (info->live_entries != v->live_entries[e]) {
			verify_fault(v, 8, e, "live entries of an extent");
		}
		if (info->live_bytes != v->live_bytes[e]) {
			verify_fault(v, 8, e, "live bytes of an extent");
		}
	}
	if (atomic_load_explicit(&pool->shards[v->shard].entry_count,
	    memory_order_relaxed) != v->entries) {
		verify_fault(v, 8, v->entries, "entries of the shard");
	}
	if (pool->shards_private[v->shard].main_entries != v->main_entries) {
		verify_fault(v, 8, v->main_entries, "entries of main");
	}
}

static void
check_flights(struct verify_state *v)
{
	unsigned faults = flight_verify(&v->flights);

	if (faults != 0) {
		verify_fault(v, 14, faults, "flights");
	}
}

static void
check_shard(struct verify_state *v)
{
	const struct pool *pool = v->pool;
	uint64_t count = index_bucket_count(pool, v->shard);

	memset(v->marks, 0, verify_scratch_bytes(pool));
	v->flights = pool_flights(pool, v->shard);
	v->marks[0] = 1;
	v->entries = 0;
	v->main_entries = 0;
	check_pages(v);
	check_flights(v);
	if (!index_count_is_sound(pool, v->shard)) {
		verify_fault(v, 2, count, "bucket count without its pages");
	}
	for (uint64_t b = 0; b < count; b++) {
		check_bucket(v, b, count);
		if (index_line(pool, v->shard, DIR_PRIMARY, b) == NULL) {
			break;
		}
	}
	check_marks(v);
	check_unused_lines(v);
	check_books(v);
	verify_extents(v);
}

uint64_t
verify_pool(const struct pool *pool, void *scratch, verify_fn fn, void *arg)
{
	struct verify_state v = { .pool = pool, .fn = fn, .arg = arg };
	uint64_t extents = (uint64_t)pool->g.extent_count + 1;

	v.marks = scratch;
	v.live_entries = (uint32_t *)(v.marks + pool->g.mark_words);
	v.live_bytes = v.live_entries + extents;
	v.listed = v.live_bytes + extents;
	verify_headers(&v);
	for (v.shard = 0; v.shard < pool->g.shard_count; v.shard++) {
		if (shard_enter(pool, v.shard) != OK) {
			verify_fault(&v, 0, v.shard, "shard is locked");
			continue;
		}
		check_shard(&v);
		shard_leave(pool, v.shard);
	}
	verify_free_list(&v);
	verify_epochs(&v);
	return v.faults;
}
