/* SPDX-License-Identifier: ISC */

/*
 * One process's handle on a pool: where its tables lie in this address
 * space, the geometry as it was checked, and who this process is.
 * The supervisor creates, workers inherit the handle over fork, clients
 * attach read-only (no private part: every function that writes needs one).
 */
#ifndef POOL_H
#define POOL_H

#include <stdbool.h>

#include "clock.h"
#include "geometry.h"
#include "layout.h"
#include "result.h"
#include "segment.h"

struct pool {
	/* set at create or attach, then read-only */
	struct geometry	g;
	struct hash_key	hash_key;
	uint8_t		*extents;	/* of extent 0, which does not exist */
	struct pool_header *header;
	struct shard_public *shards;
	_Atomic uint32_t *dirs;
	_Atomic uint64_t *generations;
	struct epoch_row *rows;
	struct epoch_cell *sketch;
	struct stats_block *all_stats;
	/* where this process counts; one writer */
	struct stats_block *stats;
	/* daemon only, else NULL */
	struct private_header *priv;
	struct shard_private *shards_private;
	struct extent_info *infos;
	_Atomic uint16_t *pins;
	uint32_t	*ghosts;
	uint64_t	*marks;
	uint8_t		*flight_tables;	/* see pool_flights() */
	uint32_t	worker;		/* 0 .. worker_count - 1, or more */
	struct segment	segment;
	struct segment	private_segment;
};

struct pool_params {
	const char	*name;		/* at most 63 bytes */
	uint64_t	pool_bytes;
	uint64_t	extent_bytes;	/* 0: default */
	uint32_t	worker_count;
	uint32_t	flights;	/* of all shards; 0: default */
	struct hash_key	hash_key;	/* random, made by the caller */
	uint8_t		boot_id[16];	/* random, made by the caller */
	struct boot_ms	now;
};

/*
 * A key with its hash.  Tests make keys with hashes of their own choice;
 * everybody else calls key_init().  The bytes are the caller's and must stay
 * as long as the key is used.
 */
struct key {
	const void	*bytes;
	uint32_t	length;		/* 1 .. KEY_MAX_BYTES */
	uint64_t	hash;
};

/*
 * Create both segments, all tables empty, and seal the pool segment.
 * INVALID for parameters out of range, NO_MEMORY, SYSTEM.  The memory is
 * backed by pool_pretouch().
 */
enum result pool_create(struct pool *pool, const struct pool_params *params);

/* segment_pretouch() of both segments; before workers are forked. */
enum result pool_pretouch(const struct pool *pool);

/*
 * In a forked process: be worker number worker from here on.  A number of
 * worker_count or more counts in the spare blocks and cannot pin.
 */
void	pool_become_worker(struct pool *pool, uint32_t worker);

/*
 * A client's view of a pool whose descriptor came from the daemon.  stats is
 * the client's own block.  The descriptor stays the caller's on an error and
 * becomes the pool's on OK.  NOT_SEALED, LAYOUT_MISMATCH, NO_MEMORY, SYSTEM.
 */
enum result pool_attach(struct pool *pool, int fd, struct stats_block *stats);

/*
 * In words, what made pool_attach() say LAYOUT_MISMATCH: both versions and
 * both hashes.  Returns text, which holds bytes.
 */
const char *pool_mismatch_text(int fd, char *text, size_t bytes);

void	pool_destroy(struct pool *pool);

/* KEY_INVALID unless length is 1 .. KEY_MAX_BYTES. */
static inline enum result
key_init(struct key *key, const struct pool *pool, const void *bytes,
    size_t length)
{
	if (length - 1 >= KEY_MAX_BYTES) {
		return KEY_INVALID;
	}
	key->bytes = bytes;
	key->length = (uint32_t)length;
	key->hash = hash_bytes(&pool->hash_key, bytes, length);
	return OK;
}

static inline uint32_t
pool_shard_of(const struct pool *pool, uint64_t hash)
{
	return (uint32_t)(hash >> 40) & (pool->g.shard_count - 1);
}

/* The flight table of a shard, for a holder of its lock. */
static inline struct flight_table
pool_flights(const struct pool *pool, uint32_t shard)
{
	struct flight_table table;

	flight_bind(&table, pool->flight_tables +
	    shard * pool->g.flights_stride, pool->g.flights_per_shard);
	return table;
}

static inline uint64_t
pool_extent_bytes(const struct pool *pool)
{
	return 1ull << pool->g.extent_shift;
}

/* True for the number of an extent that exists. */
static inline bool
pool_extent_exists(const struct pool *pool, uint32_t extent)
{
	return extent - 1 < pool->g.extent_count;
}

/* The first byte of an extent that exists. */
static inline void *
pool_extent(const struct pool *pool, uint32_t extent)
{
	return pool->extents + ((uint64_t)extent << pool->g.extent_shift);
}

static inline uint64_t
slot_make(uint64_t hash, unsigned count, uint32_t extent, uint32_t offset)
{
	return (hash >> SLOT_TAG_SHIFT) << SLOT_TAG_SHIFT |
	    (uint64_t)count << SLOT_COUNT_SHIFT |
	    (uint64_t)extent << SLOT_EXTENT_SHIFT | offset / ENTRY_ALIGN;
}

static inline uint32_t
slot_extent(uint64_t word)
{
	return (uint32_t)((word & SLOT_EXTENT_MASK) >> SLOT_EXTENT_SHIFT);
}

static inline uint32_t
slot_offset(uint64_t word)
{
	return (uint32_t)(word & SLOT_OFFSET_MASK) * ENTRY_ALIGN;
}

static inline unsigned
slot_count(uint64_t word)
{
	return (unsigned)(word >> SLOT_COUNT_SHIFT) & SLOT_COUNT_MAX;
}

static inline bool
slot_is_link(uint64_t word)
{
	return word != 0 && (word & SLOT_EXTENT_MASK) == 0;
}

static inline uint64_t
link_make(uint32_t line, uint32_t version)
{
	return (version & LINK_VERSION_MASK) << LINK_VERSION_SHIFT | line;
}

static inline uint32_t
link_line(uint64_t word)
{
	return (uint32_t)(word & SLOT_OFFSET_MASK);
}

#endif
