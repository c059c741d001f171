/* SPDX-License-Identifier: ISC */

/*
 * Set, delete, touch and counters on entries that fit into an extent.
 */
#include "write.h"

#include "chain_write.h"
#include "epoch.h"
#include "extent.h"
#include "fault.h"
#include "index.h"
#include "lease.h"
#include "point.h"
#include "reclaim.h"
#include "shard.h"

/* The place may be lost to others each time the lock is let go. */
#define ROOM_TRIES	16

enum result
write_head(const struct pool *pool, const struct entry_spec *spec,
    struct boot_ms now, struct entry_head *head)
{
	if (spec->key->length - 1 >= KEY_MAX_BYTES) {
		return KEY_INVALID;
	}
	if (spec->tag_count > TAGS_MAX) {
		return TOO_MANY_TAGS;
	}
	if ((spec->flags & ~ENTRY_USER_FLAGS) != 0) {
		return INVALID;
	}
	head->value_bytes = 0;
	head->hash = spec->key->hash;
	head->sequence = 0;
	head->created_ms = now.ms;
	/* A number from the future would outlive every purge until then. */
	head->epoch = epoch_clamp(pool, spec->epoch);
	head->soft = entry_span(now.ms, spec->soft_ms);
	head->hard = entry_span(now.ms, spec->hard_ms);
	head->key_bytes = (uint16_t)spec->key->length;
	head->tag_count = (uint8_t)spec->tag_count;
	head->flags = spec->flags;
	head->cost_ms = spec->cost_ms;
	return OK;
}

enum result
write_check_when(const struct pool *pool, uint32_t shard,
    const struct key *key, enum set_when when, uint64_t version,
    struct boot_ms now, _Atomic uint64_t **slot)
{
	uint64_t live;

	*slot = index_find(pool, shard, key);
	if (when == SET_ALWAYS) {
		return OK;
	}
	live = shard_live_version(pool, shard, *slot, now);
	if (when == SET_IF_ABSENT) {
		return live != 0 ? EXISTS : OK;
	}
	return live == version && live != 0 ? OK : CHANGED;
}

/* Where a new entry goes: an overwrite stays where the old one was. */
static enum evict_queue
choose_queue(const struct pool *pool, uint32_t shard,
    const _Atomic uint64_t *old, uint64_t hash, bool *in_ghost)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t extent;

	if (old != NULL) {
		/* Relaxed: under the lock. */
		extent = slot_extent(atomic_load_explicit(old,
		    memory_order_relaxed));
		return extent_role_of(extent_state(pool, extent)) ==
		    EXTENT_SMALL ? EVICT_SMALL : EVICT_MAIN;
	}
	if (!*in_ghost) {
		*in_ghost = ghost_take(&sp->ghost, pool->ghosts +
		    (uint64_t)shard * pool->g.ghost_words,
		    pool->g.ghost_words, hash);
		if (*in_ghost) {
			stats_add(pool->stats, STAT_ghost_hits, 1);
		}
	}
	return evict_admit(*in_ghost);
}

/* Write, commit and link an entry for which there is room. */
static void
append(const struct pool *pool, uint32_t shard, enum evict_queue queue,
    _Atomic uint64_t *old, const struct entry_spec *spec,
    struct entry_head *head, const void *value)
{
	struct shard_private *sp = &pool->shards_private[shard];
	uint32_t bytes = (uint32_t)entry_bytes(head);
	uint32_t extent = queue == EVICT_SMALL ? sp->open_small :
	    sp->open_main;
	unsigned count = EVICT_COUNT_NEW;
	uint32_t offset;
	struct entry *entry = extent_reserve(pool, extent, bytes, &offset);

	head->sequence = shard_next_sequence(pool, shard);
	entry_write(entry, head, spec->tags, spec->key->bytes, value);
	SHM_POINT(append_written);
	if (old != NULL) {
		/* Relaxed: under the lock; a lost count is allowed. */
		count = slot_count(atomic_load_explicit(old,
		    memory_order_relaxed));
	}
	if (FAULT(link_before_commit)) {
		shard_link(pool, shard, old, slot_make(head->hash, count,
		    extent, offset), head);
		SHM_POINT(append_linked);
		extent_commit(pool, extent, offset + bytes);
		return;
	}
	extent_commit(pool, extent, offset + bytes);
	SHM_POINT(append_committed);
	shard_link(pool, shard, old, slot_make(head->hash, count, extent,
	    offset), head);
	SHM_POINT(append_linked);
}

/*
 * Room for head's entry, found under the lock together with its slot.  OK:
 * locked; any other result: not locked.
 */
static enum result
find_room(const struct pool *pool, uint32_t shard,
    const struct entry_spec *spec, const struct entry_head *head,
    struct boot_ms now, _Atomic uint64_t **slot, enum evict_queue *queue)
{
	bool in_ghost = false;

	for (int tries = 0; tries < ROOM_TRIES; tries++) {
		bool moved = false;
		enum result result = write_check_when(pool, shard, spec->key,
		    spec->when, spec->version, now, slot);

		if (result != OK) {
			shard_leave(pool, shard);
			return result;
		}
		*queue = choose_queue(pool, shard, *slot, head->hash,
		    &in_ghost);
		result = reclaim_make_room(pool, shard, *queue,
		    (uint32_t)entry_bytes(head), now, &moved);
		if (result != OK) {
			return result;
		}
		if (!moved) {
			return OK;
		}
	}
	shard_leave(pool, shard);
	return BUSY;
}

/* After an insert: the index grows with the entries. */
static void
grow_index(const struct pool *pool, uint32_t shard, struct boot_ms now)
{
	if (reclaim_index_pages(pool, shard, now) != OK) {
		return;
	}
	index_split_if_due(pool, shard);
	shard_leave(pool, shard);
}

static enum result
set_inside(const struct pool *pool, const struct entry_spec *spec,
    struct entry_head *head, struct boot_ms now, uint64_t *version)
{
	uint32_t shard = pool_shard_of(pool, head->hash);
	_Atomic uint64_t *slot;
	enum evict_queue queue;
	enum result result = shard_enter(pool, shard);

	if (result != OK) {
		return result;
	}
	result = find_room(pool, shard, spec, head, now, &slot, &queue);
	if (result != OK) {
		return result;
	}
	if (spec->fill != NULL) {
		result = lease_fill_check(pool, shard, spec->key, spec->fill,
		    now, &head->epoch);
		if (result != OK) {
			shard_leave(pool, shard);
			return result;
		}
	}
	append(pool, shard, queue, slot, spec, head, spec->value);
	if (spec->fill != NULL) {
		lease_fill_end(pool, shard, head->hash, spec->fill, now);
	} else {
		lease_touch(pool, shard, head->hash);
	}
	*version = (uint64_t)shard << ENTRY_SEQUENCE_BITS | head->sequence;
	if (slot != NULL) {
		stats_add(pool->stats, STAT_overwrites, 1);
	}
	grow_index(pool, shard, now);
	return OK;
}

static enum result
set_chained(const struct pool *pool, const struct entry_spec *spec,
    struct boot_ms now, uint64_t *version)
{
	struct chain_writer writer;
	enum result result = chain_begin(pool, spec, false, now, &writer);

	if (result != OK) {
		return result;
	}
	result = chain_append(pool, &writer, spec->value, spec->value_bytes,
	    now);
	if (result == OK) {
		result = chain_finish(pool, &writer, now, version);
	}
	if (result != OK) {
		chain_abort(pool, &writer);
	}
	return result;
}

enum result
write_set(const struct pool *pool, const struct entry_spec *spec,
    struct boot_ms now, uint64_t *version)
{
	struct entry_head head;
	enum result result = write_head(pool, spec, now, &head);

	if (result != OK) {
		return result;
	}
	if (spec->value_bytes <= geometry_inline_max_bytes(&pool->g)) {
		head.value_bytes = (uint32_t)spec->value_bytes;
		result = set_inside(pool, spec, &head, now, version);
	} else {
		result = set_chained(pool, spec, now, version);
	}
	if (result == OK) {
		stats_add(pool->stats, STAT_sets, 1);
	} else if (result == TOO_LARGE) {
		stats_add(pool->stats, STAT_set_refused_too_large, 1);
	} else if (result == FULL) {
		stats_add(pool->stats, STAT_set_refused_full, 1);
	} else if (result == BUSY) {
		stats_add(pool->stats, STAT_set_refused_busy, 1);
	}
	return result;
}

enum result
write_delete(const struct pool *pool, const struct key *key,
    uint64_t version, struct boot_ms now)
{
	uint32_t shard = pool_shard_of(pool, key->hash);
	_Atomic uint64_t *slot;
	enum result result = shard_enter(pool, shard);
	uint64_t live;

	if (result != OK) {
		return result;
	}
	slot = index_find(pool, shard, key);
	live = shard_live_version(pool, shard, slot, now);
	if (live == 0) {
		result = MISS;
	} else if (version != 0 && version != live) {
		result = CHANGED;
	}
	if (slot != NULL && result != CHANGED) {
		shard_unlink(pool, shard, slot);
		SHM_POINT(delete_unlinked);
	}
	if (result != CHANGED) {
		/* Of what is not there, too: it may be computed now. */
		lease_touch(pool, shard, key->hash);
	}
	shard_leave(pool, shard);
	if (result == OK) {
		stats_add(pool->stats, STAT_deletes, 1);
	}
	return result;
}

enum result
write_touch(const struct pool *pool, const struct key *key, uint64_t soft_ms,
    uint64_t hard_ms, uint64_t epoch, struct boot_ms now)
{
	uint32_t shard = pool_shard_of(pool, key->hash);
	const _Atomic uint64_t *slot;
	struct entry_head head;
	struct entry *entry;
	enum result result = shard_enter(pool, shard);
	uint64_t word;

	if (result != OK) {
		return result;
	}
	slot = index_find(pool, shard, key);
	if (shard_live_version(pool, shard, slot, now) == 0) {
		shard_leave(pool, shard);
		return MISS;
	}
	/* Relaxed: under the lock. */
	word = atomic_load_explicit(slot, memory_order_relaxed);
	entry = shard_entry(pool, word, &head);
	head.soft = entry_span(head.created_ms, soft_ms);
	head.hard = entry_span(head.created_ms, hard_ms);
	entry_store_expiry(entry, head.soft, head.hard);
	SHM_POINT(touch_stored);
	if (epoch > head.epoch) {
		entry_store_epoch(entry, epoch_clamp(pool, epoch));
	}
	shard_note_expiry(pool, shard, slot_extent(word),
	    entry_expiry_ms(&head, head.hard));
	lease_touch(pool, shard, key->hash);
	shard_leave(pool, shard);
	stats_add(pool->stats, STAT_touches, 1);
	return OK;
}

/* The number of a live counter entry. */
static _Atomic int64_t *
counter_word(const struct pool *pool, struct entry *entry,
    const struct entry_head *head)
{
	(void)pool;
	return (_Atomic int64_t *)(void *)((uint8_t *)entry +
	    entry_value_at(head));
}

static enum result
create_counter(const struct pool *pool, uint32_t shard,
    const struct entry_spec *spec, int64_t number, struct boot_ms now)
{
	struct entry_spec absent = *spec;
	struct entry_head head;
	_Atomic uint64_t *slot;
	enum evict_queue queue;
	enum result result = write_head(pool, spec, now, &head);

	if (result != OK) {
		shard_leave(pool, shard);
		return result;
	}
	absent.when = FAULT(counter_appends) ? SET_ALWAYS : SET_IF_ABSENT;
	head.flags |= ENTRY_COUNTER;
	head.value_bytes = sizeof(number);
	result = find_room(pool, shard, &absent, &head, now, &slot, &queue);
	if (result != OK) {
		return result == EXISTS ? BUSY : result;
	}
	append(pool, shard, queue, slot, spec, &head, &number);
	lease_touch(pool, shard, head.hash);
	grow_index(pool, shard, now);
	return OK;
}

static enum result
add_in_place(const struct pool *pool, uint64_t word, int64_t delta,
    int64_t *number)
{
	struct entry_head head;
	struct entry *entry = shard_entry(pool, word, &head);
	_Atomic int64_t *value;

	if ((head.flags & ENTRY_COUNTER) == 0 ||
	    head.value_bytes != sizeof(*number)) {
		return WRONG_TYPE;
	}
	value = counter_word(pool, entry, &head);
	/* Relaxed: one word, changed under the lock; it orders nothing. */
	if (__builtin_add_overflow(atomic_load_explicit(value,
	    memory_order_relaxed), delta, number)) {
		return COUNTER_RANGE;
	}
	atomic_store_explicit(value, *number, memory_order_relaxed);
	return OK;
}

enum result
write_counter_add(const struct pool *pool, const struct key *key,
    int64_t delta, int64_t initial, const struct entry_spec *spec,
    struct boot_ms now, int64_t *number)
{
	uint32_t shard = pool_shard_of(pool, key->hash);
	const _Atomic uint64_t *slot;
	enum result result = shard_enter(pool, shard);

	if (result != OK) {
		return result;
	}
	slot = index_find(pool, shard, key);
	if (shard_live_version(pool, shard, slot, now) != 0 &&
	    !(FAULT(counter_appends) && spec != NULL)) {
		/* Relaxed: under the lock. */
		result = add_in_place(pool, atomic_load_explicit(slot,
		    memory_order_relaxed), delta, number);
		if (result == OK) {
			lease_touch(pool, shard, key->hash);
		}
		shard_leave(pool, shard);
	} else if (spec == NULL) {
		shard_leave(pool, shard);
		return MISS;
	} else if (__builtin_add_overflow(initial, delta, number)) {
		shard_leave(pool, shard);
		return COUNTER_RANGE;
	} else {
		result = create_counter(pool, shard, spec, *number, now);
	}
	if (result == OK) {
		stats_add(pool->stats, STAT_counter_adds, 1);
	}
	return result;
}
