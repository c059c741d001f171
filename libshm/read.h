/* SPDX-License-Identifier: ISC */

/*
 * A hit: find a key and take its value, with no lock, no system call and no
 * store to shared memory.  Any process; a client's mapping may be read-only.
 *
 * Every answer is one that was true at some moment during the call.  Results
 * of all functions here:
 *	OK		found and fresh
 *	STALE		found, past its soft expiry, or purged softly or as
 *			invalid (hit->freshness tells)
 *	MISS		not there, expired, purged, or eight retries were lost
 *			to writers (counted)
 *	TOO_LARGE	there, but longer than the buffer: hit->value_bytes
 *	GROWING		a chained value whose end is not written yet:
 *			hit->value_bytes are readable now
 */
#ifndef READ_H
#define READ_H

#include <sys/uio.h>

#include "entry.h"
#include "epoch.h"
#include "pool.h"

struct read_hit {
	struct entry_head head;
	uint64_t	value_bytes;	/* of the whole value, or so far */
	uint64_t	version;	/* record id: shard << 56 | sequence */
	enum epoch_verdict freshness;	/* ALIVE, SOFT or INVALID */
	/* where it was, for access_touch(), pins and views */
	_Atomic uint64_t *slot;
	uint64_t	slot_word;
	uint64_t	generation;
	uint32_t	extent;
	uint32_t	offset;
	uint32_t	shard;
};

/*
 * Copy the value into buffer, which holds bytes.  Nothing is written behind
 * the value's end; after TOO_LARGE or MISS the buffer holds garbage.
 */
enum result read_copy(const struct pool *pool, const struct key *key,
    struct boot_ms now, void *buffer, size_t bytes, struct read_hit *hit);

/* The same without the value. */
enum result read_peek(const struct pool *pool, const struct key *key,
    struct boot_ms now, struct read_hit *hit);

/*
 * A view: where the value lies now.  The bytes may be reused at any moment;
 * whoever has used them asks read_view_valid() afterwards, and throws away
 * what it made of them if the answer is false.  A worker may pin the extents
 * instead (pin.h).
 */
#define READ_VIEW_PARTS	64

struct read_view {
	struct iovec	part[READ_VIEW_PARTS];
	uint32_t	extent[READ_VIEW_PARTS];
	uint64_t	generation[READ_VIEW_PARTS];
	unsigned	part_count;
	uint64_t	from;		/* offset of part 0 in the value */
	uint64_t	bytes;		/* in all parts */
};

/*
 * A view of the value from that offset on, as far as READ_VIEW_PARTS parts
 * go: view->bytes tells, and the next view starts at from + bytes.  OK,
 * STALE and GROWING fill the view.
 */
enum result read_view(const struct pool *pool, const struct key *key,
    struct boot_ms now, uint64_t from, struct read_view *view,
    struct read_hit *hit);

/* True if every byte of the view is still what it was when it was made. */
bool	read_view_valid(const struct pool *pool, const struct read_view *view);

/*
 * Copy up to bytes of a chained value that starts at from; *copied tells how
 * many.  For whoever follows a growing value: with the hit of an earlier
 * call, no lookup.  MISS: the value is gone.
 */
enum result read_chain(const struct pool *pool, const struct read_hit *hit,
    uint64_t from, void *buffer, size_t bytes, size_t *copied);

/* Count an answer in this process's block, and pass it on. */
static inline enum result
read_count(const struct pool *pool, enum result result)
{
	if (result == MISS) {
		stats_add(pool->stats, STAT_get_misses, 1);
		return result;
	}
	stats_add(pool->stats, STAT_get_hits, 1);
	if (result == STALE) {
		stats_add(pool->stats, STAT_get_stale, 1);
	}
	return result;
}

#endif
