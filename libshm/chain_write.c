/* SPDX-License-Identifier: ISC */

/*
 * Writing a chained value; the proof stands in chain.h.
 */
#include "chain_write.h"

#include "chain.h"
#include "checksum.h"
#include "extent.h"
#include "fault.h"
#include "index.h"
#include "point.h"
#include "racy_copy.h"
#include "reclaim.h"
#include "shard.h"

#define ENTRY_OFFSET	((uint32_t)sizeof(struct chain_part))

static uint64_t
capacity(const struct pool *pool, const struct entry_head *head)
{
	uint64_t parts = pool->g.chain_max_bytes >> pool->g.extent_shift;

	return chain_part_room(pool, head, 0) +
	    (parts - 1) * chain_part_room(pool, head, 1);
}

static void
init_part(const struct pool *pool, uint32_t extent, uint64_t id,
    uint32_t index)
{
	struct chain_part *part = chain_part_of(pool, extent);

	/*
	 * While the generation is odd, so that whoever sees it even sees this
	 * id: a reader that came by a link of the chain that was here before
	 * would else take the bytes of both for one part.  Release: for
	 * ThreadSanitizer; extent_open() orders them.
	 */
	atomic_store_explicit(&part->id, id, memory_order_release);
	atomic_store_explicit(&part->index, index, memory_order_release);
	/* Relaxed: published by the link or by the next of the part before. */
	atomic_store_explicit(&part->next, 0, memory_order_relaxed);
	atomic_store_explicit(&part->used_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&part->checksum, 0, memory_order_relaxed);
	atomic_store_explicit(&part->total_bytes, CHAIN_GROWING,
	    memory_order_relaxed);
	atomic_store_explicit(&part->published_bytes, 0,
	    memory_order_relaxed);
	atomic_store_explicit(&part->parts, 1, memory_order_relaxed);
	atomic_store_explicit(&part->unused, 0, memory_order_relaxed);
	atomic_store_explicit(&part->unused2, 0, memory_order_relaxed);
	atomic_store_explicit(&part->unused3, 0, memory_order_relaxed);
}

/* c1: the id first, the even generation after it. */
static void
open_part(const struct pool *pool, const struct chain_writer *writer,
    uint32_t extent, uint32_t index)
{
	enum extent_role role = index == 0 ? EXTENT_CHAIN_HEAD :
	    EXTENT_CHAIN_PART;

	init_part(pool, extent, writer->id, index);
	extent_open(pool, writer->shard, extent, role);
}

/* c2: part 0 with its entry, not linked yet. */
static void
init_head(const struct pool *pool, struct chain_writer *writer,
    const struct entry_spec *spec, struct boot_ms now)
{
	struct extent_info *info = &pool->infos[writer->head];
	uint8_t *base = pool_extent(pool, writer->head);

	writer->entry.sequence = shard_next_sequence(pool, writer->shard);
	writer->id = (uint64_t)writer->shard << ENTRY_SEQUENCE_BITS |
	    writer->entry.sequence;
	open_part(pool, writer, writer->head, 0);
	info->chain_head = writer->head;
	info->chain_last = writer->head;
	info->chain_stamp_ms = now.ms;
	entry_write((struct entry *)(void *)(base + ENTRY_OFFSET),
	    &writer->entry, spec->tags, spec->key->bytes, NULL);
	SHM_POINT(chain_head_written);
	extent_commit(pool, writer->head, ENTRY_OFFSET +
	    (uint32_t)entry_bytes(&writer->entry));
}

static void
link_head(const struct pool *pool, struct chain_writer *writer,
    _Atomic uint64_t *old)
{
	shard_link(pool, writer->shard, old, slot_make(writer->entry.hash,
	    EVICT_COUNT_NEW, writer->head, ENTRY_OFFSET), &writer->entry);
	writer->linked = true;
	SHM_POINT(chain_linked);
}

/* OK without a fill; with one its epoch is the value's. */
static enum result
check_fill(const struct pool *pool, struct chain_writer *writer,
    struct boot_ms now)
{
	return !writer->fills ? OK : lease_fill_check(pool, writer->shard,
	    &writer->key, &writer->fill, now, &writer->entry.epoch);
}

/* The flight goes on until the value is whole. */
static void
delay_fill(const struct pool *pool, const struct chain_writer *writer)
{
	if (writer->fills) {
		lease_fill_later(pool, writer->shard, writer->entry.hash,
		    &writer->fill);
	}
}

/* Readable before it is whole. */
static enum result
link_early(const struct pool *pool, struct chain_writer *writer,
    struct boot_ms now)
{
	_Atomic uint64_t *slot;
	enum result result = write_check_when(pool, writer->shard,
	    &writer->key, writer->when, writer->expected_version, now, &slot);

	if (result == OK) {
		result = check_fill(pool, writer, now);
	}
	if (result != OK) {
		chain_free(pool, writer->shard, writer->head);
		writer->head = 0;
		return result;
	}
	link_head(pool, writer, slot);
	if (writer->fills) {
		delay_fill(pool, writer);
	} else {
		lease_touch(pool, writer->shard, writer->entry.hash);
	}
	return OK;
}

enum result
chain_begin(const struct pool *pool, const struct entry_spec *spec,
    bool early, struct boot_ms now, struct chain_writer *writer)
{
	_Atomic uint64_t *slot;
	bool moved = false;
	enum result result = write_head(pool, spec, now, &writer->entry);

	if (result != OK) {
		return result;
	}
	writer->entry.flags |= ENTRY_CHAIN;
	writer->shard = pool_shard_of(pool, spec->key->hash);
	writer->written = 0;
	writer->linked = false;
	writer->head = 0;
	writer->key = *spec->key;
	writer->fills = spec->fill != NULL;
	if (writer->fills) {
		writer->fill = *spec->fill;
	}
	writer->when = spec->when;
	writer->expected_version = spec->version;
	if (spec->value_bytes > capacity(pool, &writer->entry)) {
		return TOO_LARGE;
	}
	result = shard_enter(pool, writer->shard);
	if (result != OK) {
		return result;
	}
	result = write_check_when(pool, writer->shard, spec->key, spec->when,
	    spec->version, now, &slot);
	if (result == OK) {
		result = check_fill(pool, writer, now);
	}
	if (result != OK) {
		shard_leave(pool, writer->shard);
		return result;
	}
	delay_fill(pool, writer);
	result = reclaim_take(pool, writer->shard, EXTENT_CHAIN_HEAD, now,
	    &writer->head, &moved);
	if (result != OK) {
		writer->head = 0;
		return result;
	}
	init_head(pool, writer, spec, now);
	if (early) {
		result = link_early(pool, writer, now);
	}
	shard_leave(pool, writer->shard);
	return result;
}

/* Under the lock: the head still is this writer's chain. */
static bool
alive(const struct pool *pool, const struct chain_writer *writer)
{
	uint64_t state;

	if (!pool_extent_exists(pool, writer->head)) {
		return false;
	}
	state = extent_state(pool, writer->head);
	/* Relaxed: written under the lock. */
	return extent_role_of(state) == EXTENT_CHAIN_HEAD &&
	    extent_owner_of(state) == writer->shard &&
	    atomic_load_explicit(&chain_part_of(pool, writer->head)->id,
	    memory_order_relaxed) == writer->id;
}

/* Of the value bytes of a part that will not change any more. */
static void
seal_part(const struct pool *pool, const struct chain_writer *writer,
    uint32_t extent)
{
	struct chain_part *part = chain_part_of(pool, extent);
	/* Relaxed: under the lock, written by this writer alone. */
	uint32_t used = atomic_load_explicit(&part->used_bytes,
	    memory_order_relaxed);
	uint64_t at = pool_extent_bytes(pool) - chain_part_room(pool,
	    &writer->entry, atomic_load_explicit(&part->index,
	    memory_order_relaxed));

	/* Relaxed: read by verify under the lock. */
	atomic_store_explicit(&part->checksum,
	    checksum_parts((const uint8_t *)part + at, used, NULL, 0),
	    memory_order_relaxed);
}

/* A new last part.  OK: locked; else not locked. */
static enum result
add_part(const struct pool *pool, struct chain_writer *writer,
    struct boot_ms now)
{
	struct extent_info *info = &pool->infos[writer->head];
	struct chain_part *first = chain_part_of(pool, writer->head);
	uint32_t last, extent, parts;
	bool moved = false;
	enum result result = reclaim_take(pool, writer->shard,
	    EXTENT_CHAIN_PART, now, &extent, &moved);

	if (result != OK) {
		return result;
	}
	if (!alive(pool, writer)) {
		(void)extent_retire(pool, writer->shard, extent);
		shard_leave(pool, writer->shard);
		return FULL;
	}
	last = info->chain_last;
	parts = atomic_load_explicit(&first->parts, memory_order_relaxed);
	open_part(pool, writer, extent, parts);
	pool->infos[extent].chain_head = writer->head;
	seal_part(pool, writer, last);
	pool->infos[last].chain_next = extent;
	SHM_POINT(chain_part_ready);
	/* c4; pairs with k5. */
	atomic_store_explicit(&chain_part_of(pool, last)->next, extent,
	    memory_order_release);
	atomic_store_explicit(&first->parts, parts + 1,
	    memory_order_relaxed);
	info->chain_last = extent;
	return OK;
}

/* Copy what fits of one piece.  OK: locked; else not locked. */
static enum result
append_piece(const struct pool *pool, struct chain_writer *writer,
    const uint8_t *bytes, size_t length, size_t *taken, struct boot_ms now)
{
	struct extent_info *info = &pool->infos[writer->head];
	struct chain_part *part, *first;
	uint64_t room, at;
	uint32_t used;

	if (!alive(pool, writer)) {
		shard_leave(pool, writer->shard);
		return FULL;
	}
	part = chain_part_of(pool, info->chain_last);
	/* Relaxed: under the lock. */
	used = atomic_load_explicit(&part->used_bytes, memory_order_relaxed);
	room = chain_part_room(pool, &writer->entry, atomic_load_explicit(
	    &part->index, memory_order_relaxed));
	if (used >= room) {
		enum result result = add_part(pool, writer, now);

		if (result != OK) {
			return result;
		}
		part = chain_part_of(pool, info->chain_last);
		used = 0;
		room = chain_part_room(pool, &writer->entry, 1);
	}
	at = pool_extent_bytes(pool) - room + used;
	length = length < CHAIN_PIECE_BYTES ? length : CHAIN_PIECE_BYTES;
	length = length < room - used ? length : room - used;
	racy_fill((uint8_t *)part + at, bytes, length);
	SHM_POINT(chain_piece_copied);
	atomic_store_explicit(&part->used_bytes, used + (uint32_t)length,
	    memory_order_relaxed);
	SHM_POINT(chain_piece_counted);
	first = chain_part_of(pool, writer->head);
	writer->written += length;
	info->chain_stamp_ms = now.ms;
	/* c5: after the bytes and the part's link; pairs with k2. */
	atomic_store_explicit(&first->published_bytes, writer->written,
	    memory_order_release);
	*taken = length;
	return OK;
}

enum result
chain_append(const struct pool *pool, struct chain_writer *writer,
    const void *bytes, size_t length, struct boot_ms now)
{
	const uint8_t *from = bytes;

	if (length > capacity(pool, &writer->entry) - writer->written) {
		return TOO_LARGE;
	}
	while (length > 0) {
		size_t taken;
		enum result result = shard_enter(pool, writer->shard);

		if (result != OK) {
			return result;
		}
		result = append_piece(pool, writer, from, length, &taken,
		    now);
		if (result != OK) {
			return result;
		}
		shard_leave(pool, writer->shard);
		from += taken;
		length -= taken;
	}
	return OK;
}

enum result
chain_finish(const struct pool *pool, struct chain_writer *writer,
    struct boot_ms now, uint64_t *version)
{
	_Atomic uint64_t *slot = NULL;
	enum result result = shard_enter(pool, writer->shard);

	if (result != OK) {
		return result;
	}
	if (!alive(pool, writer)) {
		shard_leave(pool, writer->shard);
		return FULL;
	}
	if (!writer->linked) {
		result = write_check_when(pool, writer->shard, &writer->key,
		    writer->when, writer->expected_version, now, &slot);
	}
	if (result == OK) {
		result = check_fill(pool, writer, now);
	}
	if (result != OK) {
		shard_leave(pool, writer->shard);
		return result;
	}
	seal_part(pool, writer, pool->infos[writer->head].chain_last);
	SHM_POINT(chain_sealed);
	/* c6; pairs with the acquire load of chain_extent_of_value(). */
	atomic_store_explicit(&chain_part_of(pool, writer->head)->total_bytes,
	    writer->written, memory_order_release);
	if (!writer->linked) {
		link_head(pool, writer, slot);
		if (!writer->fills) {
			lease_touch(pool, writer->shard, writer->entry.hash);
		}
	}
	if (writer->fills) {
		lease_fill_end(pool, writer->shard, writer->entry.hash,
		    &writer->fill, now);
	}
	shard_leave(pool, writer->shard);
	*version = writer->id;
	stats_add(pool->stats, STAT_chains_written, 1);
	return OK;
}

void
chain_abort(const struct pool *pool, struct chain_writer *writer)
{
	_Atomic uint64_t *slot = NULL;

	if (writer->head == 0 || shard_enter(pool, writer->shard) != OK) {
		/* Reclaim finds it: not linked, or standing still. */
		return;
	}
	if (alive(pool, writer)) {
		slot = index_find_place(pool, writer->shard,
		    writer->entry.hash, writer->head, ENTRY_OFFSET);
		if (slot != NULL) {
			shard_unlink(pool, writer->shard, slot);
			if (!writer->fills) {
				lease_touch(pool, writer->shard,
				    writer->entry.hash);
			}
		} else {
			chain_free(pool, writer->shard, writer->head);
		}
		stats_add(pool->stats, STAT_chain_aborts, 1);
	}
	shard_leave(pool, writer->shard);
	writer->head = 0;
}

void
chain_free(const struct pool *pool, uint32_t shard, uint32_t head)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t at = head;

	extent_list_remove(pool, &sp->main, head);
	SHM_POINT(chain_freeing);
	for (uint32_t i = 0; i < pool->g.extent_count &&
	    pool_extent_exists(pool, at); i++) {
		uint32_t next = pool->infos[at].chain_next;

		(void)extent_retire(pool, shard, at);
		SHM_POINT(chain_part_freed);
		at = FAULT(chain_keeps_parts) ? 0 : next;
	}
}

bool
chain_stalled(const struct pool *pool, uint32_t head, struct boot_ms now)
{
	const struct chain_part *part = chain_part_of(pool, head);

	/* Relaxed: under the lock. */
	return atomic_load_explicit(&part->total_bytes,
	    memory_order_relaxed) == CHAIN_GROWING &&
	    now.ms > pool->infos[head].chain_stamp_ms + CHAIN_STALL_MS;
}
