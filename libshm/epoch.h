/* SPDX-License-Identifier: ISC */

/*
 * Purge in O(tags): numbers of one counter per pool.  Any process judges,
 * workers purge.
 *
 * An entry carries the number that was current when its value was asked for;
 * it is covered by a purge of one of its tags, or of all, that has a higher
 * number.  Hard: the entry is gone.  Invalid: it may be used only after
 * validation.  Soft: it is stale.  Hard rows are exact; soft and invalid
 * ones fall into cells by hash and may cover more than was asked, never less.
 *
 *	purger, epoch lock held               reader
 *	p1 next = newest + 1                  r1 m = newest (acquire)
 *	p2 row.what, then row.number = next   r2 entry.epoch >= m: alive
 *	   (release), or cell = next          r3 rows and cells of its tags,
 *	p3 newest = next (release)               then all_* (acquire)
 *
 * 1. A reader that sees p3 sees p2: an acked purge is never missed.
 * 2. An entry that takes its number after p3 has next or more and survives;
 *    one from before has less and does not, however slow its fill is.
 * 3. When the rows are full a purge of one tag becomes a purge of all:
 *    all_hard is raised (release) before the rows are cleared (release), and
 *    r3 reads rows before all_hard, so whoever meets a cleared row sees it.
 *
 * Purger dies after p2: the purge was not acked; the next holder of the lock
 * finishes it by raising newest to next.
 */
#ifndef EPOCH_H
#define EPOCH_H

#include "entry.h"
#include "pool.h"

enum epoch_verdict {
	EPOCH_ALIVE,
	EPOCH_SOFT,
	EPOCH_INVALID,
	EPOCH_DEAD,
};

enum epoch_kind {
	EPOCH_KIND_SOFT,
	EPOCH_KIND_INVALID,
	EPOCH_KIND_HARD,
};

/* The number that a lease, or a set when it is sent, takes. */
static inline uint64_t
epoch_now(const struct pool *pool)
{
	/* Pairs with p3. */
	return atomic_load_explicit(&pool->header->epoch_newest,
	    memory_order_acquire);
}

/* What a client named is lowered to the current number. */
static inline uint64_t
epoch_clamp(const struct pool *pool, uint64_t claimed)
{
	uint64_t newest = epoch_now(pool);

	return claimed < newest ? claimed : newest;
}

/* The hash under which a tag is stored and purged; never 0. */
uint64_t epoch_tag_hash(const struct pool *pool, const void *tag,
    size_t length);

/* Step r3, for an entry older than newest.  tags are the reader's copy. */
enum epoch_verdict epoch_judge(const struct pool *pool, uint64_t epoch,
    const uint64_t *tags, unsigned tag_count);

/*
 * Purge a tag, or all.  OK with the purge's number, or BUSY: nothing was
 * purged.  A hard purge of a tag may have become one of all (counted).
 */
enum result epoch_purge_tag(const struct pool *pool, uint64_t tag_hash,
    enum epoch_kind kind, uint64_t *number);
enum result epoch_purge_all(const struct pool *pool, enum epoch_kind kind,
    uint64_t *number);

#endif
