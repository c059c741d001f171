/* SPDX-License-Identifier: ISC */

/*
 * Creating a pool, and attaching to one.  What an attaching process reads is
 * input: the geometry has to be the one that its own first fields make.
 */
#include "pool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "extent.h"
#include "fault.h"
#include "index.h"

static void
bind_public(struct pool *pool)
{
	uint8_t *base = pool->segment.base;
	const struct geometry *g = &pool->g;

	pool->header = (struct pool_header *)(void *)base;
	pool->shards = (void *)(base + g->shards_offset);
	pool->dirs = (void *)(base + g->dirs_offset);
	pool->generations = (void *)(base + g->generations_offset);
	pool->rows = (void *)(base + g->rows_offset);
	pool->sketch = (void *)(base + g->sketch_offset);
	pool->all_stats = (void *)(base + g->stats_offset);
	/* Extent 1 is the first: this stays inside the mapping's tables. */
	pool->extents = base + g->extents_offset - pool_extent_bytes(pool);
}

static void
bind_private(struct pool *pool)
{
	uint8_t *base = pool->private_segment.base;
	const struct geometry *g = &pool->g;

	pool->priv = (struct private_header *)(void *)base;
	pool->shards_private = (void *)(base + g->private_shards_offset);
	pool->infos = (void *)(base + g->infos_offset);
	pool->pins = (void *)(base + g->pins_offset);
	pool->ghosts = (void *)(base + g->ghosts_offset);
	pool->marks = (void *)(base + g->marks_offset);
	pool->flight_tables = base + g->flights_offset;
}

static enum result
fill_headers(struct pool *pool, const struct pool_params *params)
{
	struct pool_header *header = pool->header;
	enum result result;

	header->magic = LAYOUT_MAGIC;
	header->version = LAYOUT_VERSION;
	header->layout_hash = LAYOUT_HASH;
	memcpy(header->boot_id, params->boot_id, sizeof(header->boot_id));
	header->key_hash_key = params->hash_key;
	header->created_boot_ms = params->now.ms;
	(void)snprintf(header->name, sizeof(header->name), "%s", params->name);
	header->geometry = pool->g;
	/* Relaxed: no other process has the segment yet. */
	atomic_store_explicit(&header->heartbeat_ms, params->now.ms,
	    memory_order_relaxed);
	atomic_store_explicit(&header->epoch_newest, 1, memory_order_relaxed);
	pool->hash_key = params->hash_key;

	pool->priv->magic = LAYOUT_PRIVATE_MAGIC;
	pool->priv->layout_hash = LAYOUT_HASH;
	memcpy(pool->priv->boot_id, params->boot_id,
	    sizeof(pool->priv->boot_id));
	pool->priv->geometry = pool->g;
	pool->priv->epoch_next = 1;
	result = lock_init(&pool->priv->pool_lock);
	if (result == OK) {
		result = lock_init(&pool->priv->epoch_lock);
	}
	return result;
}

/*
 * Tokens of another life, or of another shard, are none of these: their high
 * halves differ.  The low half lasts for four billion leases.
 */
static uint64_t
first_token(const struct pool *pool, uint32_t shard)
{
	uint8_t from[sizeof(pool->priv->boot_id) + sizeof(shard)];

	memcpy(from, pool->priv->boot_id, sizeof(pool->priv->boot_id));
	memcpy(from + sizeof(pool->priv->boot_id), &shard, sizeof(shard));
	return (hash_bytes(&pool->hash_key, from, sizeof(from)) >> 33 | 1) <<
	    32;
}

static enum result
fill_shards(struct pool *pool)
{
	extent_init_all(pool);
	for (uint32_t shard = 0; shard < pool->g.shard_count; shard++) {
		struct shard_private *sp = &pool->shards_private[shard];
		struct flight_table flights = pool_flights(pool, shard);
		enum result result = lock_init(&sp->lock);

		if (result != OK) {
			return result;
		}
		flight_init(&flights, first_token(pool, shard));
		ghost_init(&sp->ghost, pool->ghosts +
		    (uint64_t)shard * pool->g.ghost_words,
		    pool->g.ghost_words);
		result = index_init(pool, shard);
		if (result != OK) {
			return result;
		}
	}
	return OK;
}

enum result
pool_create(struct pool *pool, const struct pool_params *params)
{
	enum result result;
	char name[POOL_NAME_BYTES + 16];

	memset(pool, 0, sizeof(*pool));
	pool->segment.fd = -1;
	pool->private_segment.fd = -1;
	if (strlen(params->name) >= POOL_NAME_BYTES) {
		return INVALID;
	}
	result = geometry_compute_for(&pool->g, params->pool_bytes,
	    params->extent_bytes, params->worker_count, params->flights);
	if (result != OK) {
		return result;
	}
	(void)snprintf(name, sizeof(name), "weir:%s", params->name);
	result = segment_create(&pool->segment, name, pool->g.segment_bytes);
	if (result != OK) {
		return result;
	}
	(void)snprintf(name, sizeof(name), "weir-private:%s", params->name);
	result = segment_create(&pool->private_segment, name,
	    pool->g.private_bytes);
	if (result != OK) {
		goto destroy;
	}
	bind_public(pool);
	bind_private(pool);
	pool_become_worker(pool, params->worker_count);
	result = fill_headers(pool, params);
	if (result == OK) {
		result = fill_shards(pool);
	}
	if (result == OK) {
		result = segment_seal(&pool->segment);
	}
	if (result == OK) {
		return OK;
	}
destroy:
	pool_destroy(pool);
	return result;
}

enum result
pool_pretouch(const struct pool *pool)
{
	enum result result = segment_pretouch(&pool->segment);

	return result != OK ? result :
	    segment_pretouch(&pool->private_segment);
}

void
pool_become_worker(struct pool *pool, uint32_t worker)
{
	uint32_t last = pool->g.stats_blocks - 1;

	pool->worker = worker;
	pool->stats = &pool->all_stats[worker < last ? worker : last];
}

enum result
pool_attach(struct pool *pool, int fd, struct stats_block *stats)
{
	const struct pool_header *header;
	enum result result;

	memset(pool, 0, sizeof(*pool));
	pool->private_segment.fd = -1;
	result = segment_map_readonly(&pool->segment, fd);
	if (result != OK) {
		return result;
	}
	header = pool->segment.base;
	if (pool->segment.bytes < PAGE_BYTES ||
	    header->magic != LAYOUT_MAGIC ||
	    header->version != LAYOUT_VERSION ||
	    header->layout_hash != LAYOUT_HASH) {
		goto mismatch;
	}
	/* Copied first: what is checked is what is used. */
	pool->g = header->geometry;
	pool->hash_key = header->key_hash_key;
	if (!geometry_valid(&pool->g, pool->segment.bytes) &&
	    !FAULT(geometry_trusted)) {
		goto mismatch;
	}
	bind_public(pool);
	pool->stats = stats;
	return OK;

mismatch:
	pool->segment.fd = -1;
	segment_destroy(&pool->segment);
	return LAYOUT_MISMATCH;
}

const char *
pool_mismatch_text(int fd, char *text, size_t bytes)
{
	struct pool_header header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.magic != LAYOUT_MAGIC) {
		(void)snprintf(text, bytes, "not a pool of weir");
	} else {
		(void)snprintf(text, bytes, "the daemon's segment has layout "
		    "version %u, hash %016llx; this program wants version %u, "
		    "hash %016llx", header.version,
		    (unsigned long long)header.layout_hash, LAYOUT_VERSION,
		    (unsigned long long)LAYOUT_HASH);
	}
	return text;
}

void
pool_destroy(struct pool *pool)
{
	segment_destroy(&pool->private_segment);
	segment_destroy(&pool->segment);
	pool->priv = NULL;
	pool->header = NULL;
}
