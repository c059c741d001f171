/* SPDX-License-Identifier: ISC */

/*
 * verify: headers, extents and their lists, chains, epochs (I1, I9 to I13).
 */
#include "verify_state.h"

#include <string.h>

#include "chain.h"
#include "checksum.h"
#include "epoch.h"
#include "extent.h"
#include "shard.h"

void
verify_headers(struct verify_state *v)
{
	const struct pool *pool = v->pool;
	const struct pool_header *header = pool->header;

	if (header->magic != LAYOUT_MAGIC ||
	    pool->priv->magic != LAYOUT_PRIVATE_MAGIC ||
	    header->version != LAYOUT_VERSION ||
	    header->layout_hash != LAYOUT_HASH ||
	    pool->priv->layout_hash != LAYOUT_HASH) {
		verify_fault(v, 1, 0, "magic, version or layout hash");
	}
	if (memcmp(&header->geometry, &pool->g, sizeof(pool->g)) != 0 ||
	    memcmp(&pool->priv->geometry, &pool->g, sizeof(pool->g)) != 0) {
		verify_fault(v, 1, 0, "geometry");
	}
	if (memcmp(header->boot_id, pool->priv->boot_id,
	    sizeof(header->boot_id)) != 0) {
		verify_fault(v, 1, 0, "segments of two daemons");
	}
}

static bool
is_odd(const struct pool *pool, uint32_t extent)
{
	return (atomic_load_explicit(&pool->generations[extent],
	    memory_order_relaxed) & 1) != 0;
}

/* I9: a list of the shard holds extents of these roles, births rising. */
static void
check_list(struct verify_state *v, const struct extent_list *list,
    unsigned roles, const char *text)
{
	const struct pool *pool = v->pool;
	uint32_t at = list->head, last = 0, count = 0;
	uint64_t before = 0;

	while (at != 0 && count <= pool->g.extent_count) {
		uint64_t state;

		if (!pool_extent_exists(pool, at)) {
			verify_fault(v, 9, at, text);
			return;
		}
		state = extent_state(pool, at);
		if (extent_owner_of(state) != v->shard ||
		    (roles >> extent_role_of(state) & 1) == 0 ||
		    (last != 0 && extent_born_before(state, before))) {
			verify_fault(v, 9, at, text);
		}
		before = state;
		v->listed[at]++;
		last = at;
		count++;
		at = pool->infos[at].next;
	}
	if (count != list->count || last != list->tail) {
		verify_fault(v, 9, count, text);
	}
}

/* I11 */
static void
check_walk(struct verify_state *v, uint32_t extent)
{
	const struct pool *pool = v->pool;
	uint32_t committed = extent_committed(pool, extent);
	uint32_t at = 0;

	if (committed > pool_extent_bytes(pool)) {
		verify_fault(v, 11, extent, "committed beyond the extent");
		return;
	}
	while (at < committed) {
		struct entry_head head;

		if (shard_entry(pool, slot_make(0, 0, extent, at), &head) ==
		    NULL) {
			verify_fault(v, 11, extent, "entries end too early");
			return;
		}
		at += (uint32_t)entry_bytes(&head);
	}
	if (at != committed) {
		verify_fault(v, 11, extent, "entries end beyond committed");
	}
}

static void
check_part(struct verify_state *v, uint32_t extent, uint64_t id,
    uint32_t index, const struct entry_head *head, bool sealed)
{
	const struct pool *pool = v->pool;
	const struct chain_part *part = chain_part_of(pool, extent);
	uint64_t room = chain_part_room(pool, head, index);
	/* Relaxed: under the lock. */
	uint32_t used = atomic_load_explicit(&part->used_bytes,
	    memory_order_relaxed);

	if (atomic_load_explicit(&part->id, memory_order_relaxed) != id ||
	    atomic_load_explicit(&part->index, memory_order_relaxed) !=
	    index) {
		verify_fault(v, 12, extent, "part of another chain");
		return;
	}
	if (used > room) {
		verify_fault(v, 12, extent, "part holds more than fits");
		return;
	}
	if (sealed && checksum_parts((const uint8_t *)part +
	    (pool_extent_bytes(pool) - room), used, NULL, 0) !=
	    atomic_load_explicit(&part->checksum, memory_order_relaxed)) {
		verify_fault(v, 12, extent, "checksum of a part");
	}
}

/* The readers' link is the writer's; behind it only while a chain grows. */
static void
check_link(struct verify_state *v, uint32_t extent, uint32_t next,
    uint64_t total)
{
	/* Relaxed: under the lock. */
	uint32_t link = atomic_load_explicit(
	    &chain_part_of(v->pool, extent)->next, memory_order_relaxed);

	if (link != next && (link != 0 || total != CHAIN_GROWING)) {
		verify_fault(v, 12, extent, "link to the next part");
	}
}

/* I12 of one chain, linked or not; its parts are listed by it. */
static void
check_chain(struct verify_state *v, uint32_t head_extent)
{
	const struct pool *pool = v->pool;
	const struct chain_part *first = chain_part_of(pool, head_extent);
	uint64_t total = atomic_load_explicit(&first->total_bytes,
	    memory_order_relaxed);
	uint64_t published = atomic_load_explicit(&first->published_bytes,
	    memory_order_relaxed);
	struct entry_head head;
	uint64_t id, held = 0;
	uint32_t at = head_extent, index = 0;

	if (shard_entry(pool, slot_make(0, 0, head_extent,
	    sizeof(struct chain_part)), &head) == NULL) {
		/* Its writer died before the commit: nothing leads here. */
		if (v->live_entries[head_extent] != 0) {
			verify_fault(v, 12, head_extent, "head has no entry");
		}
		return;
	}
	id = (uint64_t)v->shard << ENTRY_SEQUENCE_BITS | head.sequence;
	while (at != 0 && index <= pool->g.extent_count) {
		uint32_t next = pool->infos[at].chain_next;

		check_part(v, at, id, index, &head, next != 0 ||
		    total != CHAIN_GROWING);
		check_link(v, at, next, total);
		held += atomic_load_explicit(
		    &chain_part_of(pool, at)->used_bytes,
		    memory_order_relaxed);
		if (at != head_extent) {
			v->listed[at]++;
		}
		index++;
		if (next != 0 && !pool_extent_exists(pool, next)) {
			verify_fault(v, 12, at, "next part does not exist");
			return;
		}
		at = next;
	}
	if (published > held || (total != CHAIN_GROWING &&
	    (total != held || total != published))) {
		verify_fault(v, 12, head_extent, "bytes of a chain");
	}
}

static void
check_extent(struct verify_state *v, uint32_t extent)
{
	const struct pool *pool = v->pool;
	enum extent_role role = extent_role_of(extent_state(pool, extent));
	bool odd = is_odd(pool, extent);

	switch (role) {
	case EXTENT_SMALL:
	case EXTENT_MAIN:
		check_walk(v, extent);
		if (odd) {
			verify_fault(v, 10, extent, "odd with entries");
		}
		break;
	case EXTENT_CHAIN_HEAD:
		check_chain(v, extent);
		if (odd) {
			verify_fault(v, 10, extent, "odd with a chain");
		}
		break;
	case EXTENT_CHAIN_PART:
		if (odd) {
			verify_fault(v, 10, extent, "odd with a part");
		}
		break;
	case EXTENT_FREE:
	case EXTENT_INDEX:
	case EXTENT_LIMBO:
		if (!odd) {
			verify_fault(v, 10, extent, "even without entries");
		}
		break;
	case EXTENT_SPARE:
		v->listed[extent]++;
		if (extent != pool->shards_private[v->shard].spare) {
			verify_fault(v, 9, extent, "spare that is not kept");
		}
		break;
	case EXTENT_ROLE_COUNT:
	default:
		verify_fault(v, 9, extent, "no such role");
		break;
	}
}

void
verify_extents(struct verify_state *v)
{
	const struct pool *pool = v->pool;
	const struct shard_private *sp = &pool->shards_private[v->shard];
	uint32_t owned = 0, pages = 0;

	check_list(v, &sp->small, 1u << EXTENT_SMALL, "small queue");
	check_list(v, &sp->main, 1u << EXTENT_MAIN | 1u << EXTENT_CHAIN_HEAD,
	    "main queue");
	check_list(v, &sp->limbo, 1u << EXTENT_LIMBO, "limbo");
	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		uint64_t state = extent_state(pool, e);

		if (extent_owner_of(state) == v->shard &&
		    extent_role_of(state) != EXTENT_FREE) {
			check_extent(v, e);
		}
	}
	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		uint64_t state = extent_state(pool, e);
		enum extent_role role = extent_role_of(state);

		if (extent_owner_of(state) != v->shard ||
		    role == EXTENT_FREE) {
			continue;
		}
		owned += role != EXTENT_INDEX;
		pages += role == EXTENT_INDEX;
		if (role != EXTENT_INDEX && v->listed[e] != 1) {
			verify_fault(v, 9, e, "in no list, or in two");
		}
	}
	if (owned != sp->owned || pages != sp->index_pages) {
		verify_fault(v, 9, owned, "count of the shard's extents");
	}
}

void
verify_free_list(struct verify_state *v)
{
	const struct pool *pool = v->pool;
	uint32_t free_count = 0, listed = 0;
	uint32_t at = pool->priv->free_head;

	v->shard = 0;
	if (!extent_pool_lock(pool)) {
		verify_fault(v, 0, 0, "extent pool is locked");
		return;
	}
	for (uint32_t e = 1; e <= pool->g.extent_count; e++) {
		if (extent_owner_of(extent_state(pool, e)) >=
		    pool->g.shard_count) {
			verify_fault(v, 9, e, "owner does not exist");
		}
		if (extent_role_of(extent_state(pool, e)) == EXTENT_FREE) {
			free_count++;
			if (!is_odd(pool, e)) {
				verify_fault(v, 10, e, "even and free");
			}
		}
	}
	for (at = pool->priv->free_head; pool_extent_exists(pool, at) &&
	    listed <= pool->g.extent_count; at = pool->infos[at].next) {
		listed++;
		if (extent_role_of(extent_state(pool, at)) != EXTENT_FREE) {
			verify_fault(v, 9, at, "free list holds a used one");
		}
	}
	if (listed != free_count || extent_free_count(pool) != free_count) {
		verify_fault(v, 9, free_count, "count of free extents");
	}
	extent_pool_unlock(pool);
}

void
verify_epochs(struct verify_state *v)
{
	const struct pool *pool = v->pool;
	uint64_t row = 0, cell = 0;

	for (uint32_t i = 0; i < EPOCH_ROW_SLOTS; i++) {
		/* Acquire: before the look at newest below. */
		uint64_t number = atomic_load_explicit(&pool->rows[i].number,
		    memory_order_acquire);

		row = number > row ? number : row;
	}
	for (uint32_t i = 0; i < pool->g.sketch_cells; i++) {
		uint64_t soft = atomic_load_explicit(&pool->sketch[i].soft,
		    memory_order_acquire);
		uint64_t invalid = atomic_load_explicit(
		    &pool->sketch[i].invalid, memory_order_acquire);

		soft = invalid > soft ? invalid : soft;
		cell = soft > cell ? soft : cell;
	}
	/* One purge may have written its row and not raised newest yet. */
	if (row > epoch_now(pool) + 1) {
		verify_fault(v, 13, row, "row above the newest purge");
	}
	if (cell > epoch_now(pool) + 1) {
		verify_fault(v, 13, cell, "cell above the newest purge");
	}
}
