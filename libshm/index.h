/* SPDX-License-Identifier: ISC */

/*
 * The index of a shard: linear hashing over cache-line buckets.  Readers walk
 * it without a lock (read.c); everything here is for a holder of the shard's
 * lock, but index_line() and index_bucket().
 *
 *	bucket b:  line b of the primary pages --link--> overflow lines
 *
 * Pages are extents; dirs[shard][DIR_*][i] is the extent of page i.  A page
 * is never given back, so a line stays a line whoever still reads it.
 */
#ifndef INDEX_H
#define INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "point.h"
#include "pool.h"

#define INDEX_INITIAL_BUCKETS	64u

/* First page, spare and first small extent of a shard. */
enum result index_init(struct pool *pool, uint32_t shard);

/* log2 of the lines in a page. */
static inline uint32_t
index_line_shift(const struct pool *pool)
{
	return pool->g.extent_shift - 6;
}

static inline _Atomic uint32_t *
index_dir(const struct pool *pool, uint32_t shard, unsigned dir)
{
	return pool->dirs +
	    (2 * (uint64_t)shard + dir) * pool->g.dir_capacity;
}

/*
 * A line by its number, NULL if there is none such.  Directory and page
 * numbers are checked: they are input.
 */
static inline struct index_line *
index_line(const struct pool *pool, uint32_t shard, unsigned dir,
    uint64_t line)
{
	uint64_t page = line >> index_line_shift(pool);
	uint32_t extent;

	if (__builtin_expect(page >= pool->g.dir_capacity, 0)) {
		return NULL;
	}
	/*
	 * Acquire: the page's lines are zero.  Pairs with add_page(); an
	 * unset number is 0.
	 */
	extent = atomic_load_explicit(&index_dir(pool, shard, dir)[page],
	    memory_order_acquire);
	if (__builtin_expect(!pool_extent_exists(pool, extent), 0)) {
		return NULL;
	}
	return (struct index_line *)pool_extent(pool, extent) +
	    (line & ((1ull << index_line_shift(pool)) - 1));
}

/*
 * The words of a line, read once each in their order, and which of them have
 * the tag of hash: bit i for word i.  Empty words and links may be among
 * them.  No branch for each: one that depends on where the slot is would be
 * mispredicted in most gets, and be decided only once the line has come from
 * memory, so that nothing of the next get overlaps with the wait.
 */
static inline unsigned
index_match_line(const struct index_line *line, uint64_t hash,
    uint64_t words[LINE_SLOTS])
{
	unsigned matches = 0;

#pragma GCC unroll 8
	for (unsigned i = 0; i < LINE_SLOTS; i++) {
		uint64_t word;

		if (i == LINE_SLOTS - 1) {
			SHM_POINT(read_last_word);
		}
		/* Pairs with the release stores of index.c. */
		word = atomic_load_explicit(&line->word[i],
		    memory_order_acquire);
		words[i] = word;
		matches |= (unsigned)((word ^ hash) >> SLOT_TAG_SHIFT == 0) <<
		    i;
	}
	return matches;
}

/* The bucket of a hash while there are count buckets, count > 0. */
static inline uint64_t
index_bucket(uint64_t hash, uint64_t count)
{
	uint64_t mask = ~0ull >> __builtin_clzll(count);
	/* Bits 40 and up choose shard and tag; a shard has 2^40 buckets. */
	uint64_t bucket = hash & mask & ((1ull << 40) - 1);

	return bucket < count ? bucket : bucket & (mask >> 1);
}

static inline uint64_t
index_bucket_count(const struct pool *pool, uint32_t shard)
{
	/* Pairs with the release store of index_split(). */
	return atomic_load_explicit(&pool->shards[shard].bucket_count,
	    memory_order_acquire);
}

/*
 * How often slots were pulled to earlier words of their bucket, so that a
 * reader who passed these words before may have missed them.
 */
static inline uint64_t
index_moves(const struct pool *pool, uint32_t shard)
{
	/* Pairs with the release store of index_absorb(). */
	return atomic_load_explicit(&pool->shards[shard].moves,
	    memory_order_acquire);
}

/*
 * The slots of a bucket in order, for a holder of the lock: links are
 * followed, at most BUCKET_LINES_MAX lines.
 *
 *	struct index_walk walk;
 *	for (slot = index_walk_begin(&walk, pool, shard, hash); slot != NULL;
 *	    slot = index_walk_next(&walk)) ...
 */
struct index_walk {
	const struct pool *pool;
	struct index_line *line;
	uint32_t	shard;
	unsigned	word;
	unsigned	lines;
};

_Atomic uint64_t *index_walk_bucket(struct index_walk *walk,
    const struct pool *pool, uint32_t shard, uint64_t bucket);
_Atomic uint64_t *index_walk_next(struct index_walk *walk);

/* The slot of a key, NULL if it has none. */
_Atomic uint64_t *index_find(const struct pool *pool, uint32_t shard,
    const struct key *key);

/* The slot of hash that points at that place, NULL if none does. */
_Atomic uint64_t *index_find_place(const struct pool *pool, uint32_t shard,
    uint64_t hash, uint32_t extent, uint32_t offset);

/*
 * Link: store word into a free slot of the bucket of its hash, in a new
 * overflow line if need be; where the bucket is full to its limit, into the
 * slot of its oldest entry, whose former word is then *replaced (else 0).
 */
void	index_insert(const struct pool *pool, uint32_t shard, uint64_t hash,
    uint64_t word, uint64_t *replaced);

/*
 * Unlink: clear a slot of that hash, and give back the bucket's last overflow
 * line if the lines before it can take what it holds.
 */
void	index_clear(const struct pool *pool, uint32_t shard, uint64_t hash,
    _Atomic uint64_t *slot);

/* True if there are buckets, and a line for each of them. */
bool	index_count_is_sound(const struct pool *pool, uint32_t shard);

/*
 * Split one bucket if the shard has more than BUCKET_TARGET_ENTRIES entries
 * to a bucket and room for the next bucket.
 */
void	index_split_if_due(const struct pool *pool, uint32_t shard);

/* Lines in all pages of a directory. */
uint64_t index_lines_of(const struct pool *pool, uint32_t shard,
    unsigned dir);

/* Pull the slots of a bucket's last line into the lines before it. */
void	index_absorb(const struct pool *pool, uint32_t shard,
    uint64_t bucket);

/*
 * A free overflow line, empty and marked used; 0 if there is none.  It is
 * linked by link_make() with index_next_version().
 */
uint32_t index_take_line(const struct pool *pool, uint32_t shard);
uint32_t index_next_version(const struct pool *pool, uint32_t shard);

/*
 * The hash in the entry that a slot points at.  False if the slot points
 * nowhere: out of bounds or above its extent's committed length.
 */
bool	index_hash_of(const struct pool *pool, uint64_t word,
    uint64_t *hash);

/* Make an extent taken with role INDEX the next page of that directory. */
void	index_add_page(const struct pool *pool, uint32_t shard, unsigned dir,
    uint32_t extent);

/*
 * True if the next split or the next full bucket needs a page that is not
 * there, and that directory has room for one.
 */
bool	index_wants_page(const struct pool *pool, uint32_t shard,
    unsigned dir);

/* Every slot of the shard that points into an extent is cleared; how many. */
uint32_t index_unlink_extent(const struct pool *pool, uint32_t shard,
    uint32_t extent);

#endif
