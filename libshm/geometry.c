/* SPDX-License-Identifier: ISC */

/*
 * Sizes and places of the tables of a pool; see layout.h for the drawing.
 */
#include "geometry.h"

#include <string.h>

#define SHARDS_PER_WORKER	4
#define SHARD_MIN_EXTENTS	64
#define POOL_MIN_EXTENTS	16
/* A shard's index may take half of its fair share in pages of each kind. */
#define DIR_MIN_PAGES		4
/* A chained value is at most this part of the pool, and of a fair share. */
#define CHAIN_POOL_PARTS	64
#define CHAIN_SHARE_PARTS	4
#define INLINE_PARTS		4

static uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static uint64_t
power_of_two_below(uint64_t n)
{
	return n == 0 ? 0 : 1ull << (63 - __builtin_clzll(n));
}

uint64_t
geometry_default_extent_bytes(uint64_t pool_bytes)
{
	uint64_t bytes = power_of_two_below(pool_bytes / 256);

	if (bytes < (64u << 10)) {
		bytes = 64u << 10;
	}
	if (bytes > (1u << 20)) {
		bytes = 1u << 20;
	}
	while (pool_bytes / bytes > EXTENTS_MAX) {
		bytes *= 2;
	}
	return bytes;
}

static void
place_public_tables(struct geometry *g)
{
	uint64_t at = PAGE_BYTES;

	g->shards_offset = at;
	at += (uint64_t)g->shard_count * sizeof(struct shard_public);
	g->dirs_offset = at;
	at += round_up((uint64_t)g->shard_count * 2 * g->dir_capacity *
	    sizeof(uint32_t), CACHE_LINE_BYTES);
	g->generations_offset = at;
	at += round_up(((uint64_t)g->extent_count + 1) * sizeof(uint64_t),
	    CACHE_LINE_BYTES);
	g->rows_offset = at;
	at += EPOCH_ROW_SLOTS * sizeof(struct epoch_row);
	g->sketch_offset = at;
	at += (uint64_t)g->sketch_cells * sizeof(struct epoch_cell);
	g->stats_offset = at;
	at += (uint64_t)g->stats_blocks * sizeof(struct stats_block);
	g->extents_offset = round_up(at, PAGE_BYTES);
	g->segment_bytes = g->extents_offset + g->pool_bytes;
}

static void
place_private_tables(struct geometry *g)
{
	uint64_t at = PAGE_BYTES;

	g->private_shards_offset = at;
	at += round_up((uint64_t)g->shard_count *
	    sizeof(struct shard_private), CACHE_LINE_BYTES);
	g->infos_offset = at;
	at += ((uint64_t)g->extent_count + 1) * sizeof(struct extent_info);
	g->pins_offset = at;
	at += round_up(((uint64_t)g->extent_count + 1) * g->pin_stride *
	    sizeof(uint16_t), CACHE_LINE_BYTES);
	g->ghosts_offset = at;
	at += (uint64_t)g->shard_count * g->ghost_words * sizeof(uint32_t);
	g->marks_offset = at;
	at += (uint64_t)g->shard_count * g->mark_words * sizeof(uint64_t);
	at = round_up(at, CACHE_LINE_BYTES);
	g->flights_offset = at;
	at += g->shard_count * g->flights_stride;
	g->private_bytes = round_up(at, PAGE_BYTES);
}

static uint32_t
count_shards(uint32_t extent_count, uint32_t worker_count)
{
	uint64_t most = extent_count / SHARD_MIN_EXTENTS;
	uint64_t wanted = 1;

	while (wanted < (uint64_t)worker_count * SHARDS_PER_WORKER) {
		wanted *= 2;
	}
	if (most > SHARDS_MAX) {
		most = SHARDS_MAX;
	}
	while (wanted > 1 && wanted > most) {
		wanted /= 2;
	}
	return (uint32_t)wanted;
}

static void
size_tables(struct geometry *g, uint64_t pool_bytes)
{
	uint32_t share = g->extent_count / g->shard_count;
	uint64_t lines = (1ull << g->extent_shift) / CACHE_LINE_BYTES;
	uint64_t sketch = pool_bytes / 64;
	uint64_t words;

	g->dir_capacity = share / 2 < DIR_MIN_PAGES ? DIR_MIN_PAGES : share / 2;
	while (g->dir_capacity > 1 &&
	    g->dir_capacity * lines > LINK_LINES_MAX) {
		g->dir_capacity /= 2;
	}
	if (sketch < EPOCH_SKETCH_MIN_BYTES) {
		sketch = EPOCH_SKETCH_MIN_BYTES;
	}
	if (sketch > EPOCH_SKETCH_MAX_BYTES) {
		sketch = EPOCH_SKETCH_MAX_BYTES;
	}
	g->sketch_cells = (uint32_t)(power_of_two_below(sketch) /
	    sizeof(struct epoch_cell));
	g->stats_blocks = g->worker_count + 2; /* keeper, supervisor */
	g->pin_stride = (uint32_t)round_up(g->worker_count, 4);
	words = ghost_word_count(pool_bytes / g->shard_count);
	g->ghost_words = words > UINT32_MAX - GHOST_LINE_WORDS ?
	    UINT32_MAX / GHOST_LINE_WORDS * GHOST_LINE_WORDS :
	    (uint32_t)words;
	g->mark_words = (uint32_t)((g->dir_capacity * lines + 63) / 64);
}

static bool
size_flights(struct geometry *g, uint64_t flights)
{
	uint64_t share = (flights + g->shard_count - 1) / g->shard_count;

	if (share < FLIGHTS_SHARD_MIN) {
		share = FLIGHTS_SHARD_MIN;
	}
	if (share > FLIGHT_CAPACITY_MAX) {
		return false;
	}
	g->flights_per_shard = (uint32_t)share;
	g->flights_stride = round_up(flight_bytes(g->flights_per_shard),
	    CACHE_LINE_BYTES);
	return true;
}

static enum result
compute(struct geometry *g, uint64_t pool_bytes, uint64_t extent_bytes,
    uint32_t worker_count, uint64_t flights)
{
	uint64_t chain, share;

	memset(g, 0, sizeof(*g));
	if (pool_bytes < POOL_MIN_BYTES || pool_bytes > POOL_MAX_BYTES ||
	    worker_count < 1 || worker_count > WORKERS_MAX) {
		return INVALID;
	}
	if (extent_bytes == 0) {
		extent_bytes = geometry_default_extent_bytes(pool_bytes);
	}
	if (extent_bytes < EXTENT_MIN_BYTES ||
	    extent_bytes > EXTENT_MAX_BYTES ||
	    (extent_bytes & (extent_bytes - 1)) != 0 ||
	    pool_bytes / extent_bytes < POOL_MIN_EXTENTS ||
	    pool_bytes / extent_bytes > EXTENTS_MAX) {
		return INVALID;
	}
	g->extent_shift = (uint32_t)__builtin_ctzll(extent_bytes);
	g->extent_count = (uint32_t)(pool_bytes >> g->extent_shift);
	g->pool_bytes = (uint64_t)g->extent_count << g->extent_shift;
	g->worker_count = worker_count;
	g->shard_count = count_shards(g->extent_count, worker_count);
	/* Of the rounded size, as geometry_valid() knows no other. */
	size_tables(g, g->pool_bytes);
	if (!size_flights(g, flights)) {
		return INVALID;
	}

	chain = g->extent_count / CHAIN_POOL_PARTS;
	share = g->extent_count / g->shard_count / CHAIN_SHARE_PARTS;
	chain = chain < share ? chain : share;
	chain = chain < 1 ? 1 : chain;
	g->chain_max_bytes = chain << g->extent_shift;
	place_public_tables(g);
	place_private_tables(g);
	return OK;
}

enum result
geometry_compute_for(struct geometry *g, uint64_t pool_bytes,
    uint64_t extent_bytes, uint32_t worker_count, uint32_t flights)
{
	if (flights > FLIGHTS_MAX) {
		memset(g, 0, sizeof(*g));
		return INVALID;
	}
	return compute(g, pool_bytes, extent_bytes, worker_count,
	    flights == 0 ? FLIGHTS_DEFAULT : flights);
}

enum result
geometry_compute(struct geometry *g, uint64_t pool_bytes,
    uint64_t extent_bytes, uint32_t worker_count)
{
	return geometry_compute_for(g, pool_bytes, extent_bytes,
	    worker_count, 0);
}

bool
geometry_valid(const struct geometry *g, uint64_t segment_bytes)
{
	struct geometry own;

	if (g->extent_shift > 40 ||
	    compute(&own, g->pool_bytes, 1ull << g->extent_shift,
	    g->worker_count, (uint64_t)g->flights_per_shard *
	    g->shard_count) != OK) {
		return false;
	}
	return memcmp(&own, g, sizeof(own)) == 0 &&
	    own.segment_bytes == segment_bytes;
}

uint32_t
geometry_inline_max_bytes(const struct geometry *g)
{
	return (1u << g->extent_shift) / INLINE_PARTS;
}

uint64_t
geometry_value_max_bytes(const struct geometry *g)
{
	uint64_t parts = g->chain_max_bytes >> g->extent_shift;

	return g->chain_max_bytes - parts * sizeof(struct chain_part) -
	    sizeof(struct entry) - TAGS_MAX * sizeof(uint64_t) -
	    KEY_MAX_BYTES;
}

uint32_t
geometry_fair_share(const struct geometry *g)
{
	return g->extent_count / g->shard_count;
}
