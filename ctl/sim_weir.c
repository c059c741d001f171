/* SPDX-License-Identifier: ISC */

/*
 * The policy of the segment itself: S3-FIFO over extents, with the real
 * decisions (evict.c) and the real ghost filter, and a model of the
 * mechanism of one shard without its bytes:
 *
 *	free [ ][*]      * one empty extent is kept for moves
 *	small  oldest [d..][...][.. ] open
 *	main   oldest [...][.d.][...][..  ] open
 *
 * Entries are appended to the open extent of their queue.  Space comes back
 * with whole extents: dead bytes (d) stay until their extent is reclaimed.
 * A value above a quarter of an extent owns whole extents, chained in main.
 */
#include "sim_policy.h"

#include <stdlib.h>

#include "evict.h"
#include "ghost.h"
#include "sim_extent.h"
#include "sim_list.h"

#define SHARD_EXTENTS	64u	/* what a shard has at the least */
#define EXTENT_UNITS_MIN 4u	/* so that one unit is no large value */
#define LARGE_DIVISOR	4u	/* above 1/4 of an extent a value is large */
#define CHAIN_DIVISOR	4u	/* a chain has at most 1/4 of the shard */
#define SPARE_EXTENTS	1u	/* kept empty for moves */

/* 256 MiB: enough for 60 million entries, whatever the capacity. */
#define GHOST_WORDS_MAX	(1u << 26)

/* The mark of a node: its extent's number above, its count in the low bits. */
#define COUNT_BITS	2u
#define COUNT_MASK	((1u << COUNT_BITS) - 1)

struct shard {
	struct sim_extents extents;
	struct sim_nodes nodes;
	struct ghost	ghost;
	uint32_t	*ghost_words;
	uint64_t	ghost_word_count;
	uint64_t	*hashes;	/* by object */
};

static uint64_t
choose_extent_bytes(uint64_t capacity)
{
	uint64_t bytes = capacity / SHARD_EXTENTS;

	if (bytes < EXTENT_UNITS_MIN) {
		bytes = EXTENT_UNITS_MIN;
	}
	if (bytes > capacity / CHAIN_DIVISOR) {
		bytes = capacity / CHAIN_DIVISOR;
	}
	return bytes == 0 ? 1 : bytes;
}

static void
destroy(void *policy)
{
	struct shard *shard = policy;

	sim_extents_fini(&shard->extents);
	free(shard->nodes.at);
	free(shard->ghost_words);
	free(shard->hashes);
	free(shard);
}

static uint64_t
count_ghost_words(const struct sim_setup *setup)
{
	uint64_t memory_bytes;
	uint64_t words;

	if (__builtin_mul_overflow(setup->capacity, setup->unit_bytes,
	    &memory_bytes)) {
		memory_bytes = UINT64_MAX;
	}
	words = ghost_word_count(memory_bytes);
	return words > GHOST_WORDS_MAX ? GHOST_WORDS_MAX : words;
}

static void *
create(const struct sim_setup *setup)
{
	struct shard *shard = calloc(1, sizeof(*shard));
	uint64_t extent_bytes = choose_extent_bytes(setup->capacity);

	if (shard == NULL) {
		return NULL;
	}
	shard->ghost_word_count = count_ghost_words(setup);
	/*
	 * All zero is what ghost_init() makes; calloc gives it without
	 * touching pages that a small trace never needs.
	 */
	shard->ghost_words = calloc(1, ghost_bytes(shard->ghost_word_count));
	if (!sim_extents_init(&shard->extents, extent_bytes,
	    (uint32_t)(setup->capacity / extent_bytes)) ||
	    shard->ghost_words == NULL) {
		destroy(shard);
		return NULL;
	}
	return shard;
}

static bool
grow(void *policy, uint32_t count)
{
	struct shard *shard = policy;
	uint64_t *hashes;

	if (count <= shard->nodes.count) {
		return true;
	}
	hashes = reallocarray(shard->hashes, count, sizeof(*hashes));
	if (hashes == NULL) {
		return false;
	}
	shard->hashes = hashes;
	return sim_nodes_grow(&shard->nodes, count);
}

static bool
is_large(const struct shard *shard, uint32_t size)
{
	return size > shard->extents.extent_bytes / LARGE_DIVISOR;
}

static bool
has_room(const struct shard *shard, enum evict_queue role, uint32_t size)
{
	uint32_t open = shard->extents.queues[role].open;

	return open != SIM_NONE && size <= shard->extents.extent_bytes -
	    shard->extents.at[open].used_bytes;
}

static void
open_extent(struct shard *shard, enum evict_queue role)
{
	uint32_t number = sim_extents_take(&shard->extents, 1);

	sim_extents_link(&shard->extents, role, number);
	shard->extents.queues[role].open = number;
}

/* The extent must be linked; it becomes the entry's. */
static void
append(struct shard *shard, uint32_t number, uint32_t object, unsigned count)
{
	struct sim_extent *extent = &shard->extents.at[number];

	sim_list_push(&extent->entries, &shard->nodes, object);
	extent->used_bytes += shard->nodes.at[object].size;
	shard->nodes.at[object].mark = (number + 1) << COUNT_BITS | count;
	shard->extents.queues[extent->role].entries++;
}

/* Take an entry off its extent; its bytes stay there, dead. */
static void
unlink_entry(struct shard *shard, uint32_t object)
{
	struct sim_node *node = &shard->nodes.at[object];
	struct sim_extent *extent =
	    &shard->extents.at[(node->mark >> COUNT_BITS) - 1];

	sim_list_remove(&extent->entries, &shard->nodes, object);
	shard->extents.queues[extent->role].entries--;
	node->mark = 0;
}

static void
move_to_main(struct shard *shard, uint32_t object, unsigned count)
{
	/*
	 * At most one extent's entries are moved at a time, and they fit
	 * one extent: the spare one is enough.
	 */
	if (!has_room(shard, EVICT_MAIN, shard->nodes.at[object].size)) {
		open_extent(shard, EVICT_MAIN);
	}
	append(shard, shard->extents.queues[EVICT_MAIN].open, object, count);
}

static void
drop_to_ghost(struct shard *shard, uint32_t object)
{
	const struct sim_queue *queues = shard->extents.queues;

	ghost_insert(&shard->ghost, shard->ghost_words,
	    shard->ghost_word_count, shard->hashes[object],
	    evict_ghost_limit(queues[EVICT_SMALL].entries,
	    queues[EVICT_MAIN].entries));
}

static enum evict_queue
choose_victim(const struct shard *shard)
{
	const struct sim_queue *queues = shard->extents.queues;
	struct evict_view view = {
		.small_extents = queues[EVICT_SMALL].extents,
		.main_extents = queues[EVICT_MAIN].extents,
		.total_extents = shard->extents.total,
	};

	return evict_victim(&view);
}

/* Returns the bytes that are free afterwards and were not before. */
static uint64_t
reclaim_extent(struct shard *shard, bool force)
{
	enum evict_queue from = choose_victim(shard);
	uint32_t number = sim_extents_unlink_oldest(&shard->extents, from);
	struct sim_extent *extent = &shard->extents.at[number];
	uint64_t freed_bytes = shard->extents.extent_bytes * extent->chain;

	while (extent->entries.tail != SIM_NONE) {
		uint32_t object = extent->entries.tail;
		struct sim_node *node = &shard->nodes.at[object];
		struct evict_verdict verdict = evict_judge(from,
		    node->mark & COUNT_MASK, false, force);

		unlink_entry(shard, object);
		if (verdict.action == EVICT_DROP_TO_GHOST) {
			drop_to_ghost(shard, object);
		} else if (verdict.action == EVICT_MOVE &&
		    is_large(shard, node->size)) {
			/* A chain is linked again, not copied. */
			extent->used_bytes = 0;
			sim_extents_link(&shard->extents, EVICT_MAIN, number);
			append(shard, number, object, verdict.count);
			return 0;
		} else if (verdict.action == EVICT_MOVE) {
			freed_bytes -= node->size;
			move_to_main(shard, object, verdict.count);
		}
	}
	sim_extents_give(&shard->extents, number);
	return freed_bytes;
}

/* Have that many extents free beside the spare one. */
static void
make_room(struct shard *shard, uint32_t extents)
{
	unsigned poor_passes = 0;

	while (shard->extents.free_count < extents + SPARE_EXTENTS) {
		uint64_t freed_bytes = reclaim_extent(shard,
		    evict_must_force(poor_passes));

		if (evict_pass_is_poor(freed_bytes,
		    shard->extents.extent_bytes)) {
			poor_passes++;
		}
	}
}

static void
insert_large(struct shard *shard, uint32_t object, uint32_t size)
{
	uint64_t chain = (size + shard->extents.extent_bytes - 1) /
	    shard->extents.extent_bytes;
	uint32_t number;

	if (chain > shard->extents.total / CHAIN_DIVISOR ||
	    chain + SPARE_EXTENTS > shard->extents.total) {
		return;
	}
	make_room(shard, (uint32_t)chain);
	number = sim_extents_take(&shard->extents, (uint32_t)chain);
	sim_extents_link(&shard->extents, EVICT_MAIN, number);
	append(shard, number, object, EVICT_COUNT_NEW);
}

static void
insert(struct shard *shard, const struct sim_request *request)
{
	uint32_t object = request->object;
	enum evict_queue role;

	shard->nodes.at[object].size = request->size;
	shard->hashes[object] = request->hash;
	if (is_large(shard, request->size)) {
		insert_large(shard, object, request->size);
		return;
	}
	role = evict_admit(ghost_take(&shard->ghost, shard->ghost_words,
	    shard->ghost_word_count, request->hash));
	while (!has_room(shard, role, request->size)) {
		if (shard->extents.free_count > SPARE_EXTENTS) {
			open_extent(shard, role);
		} else {
			make_room(shard, 1);
		}
	}
	append(shard, shard->extents.queues[role].open, object,
	    EVICT_COUNT_NEW);
}

static uint64_t
replay(void *policy, const struct sim_request *requests, size_t count)
{
	struct shard *shard = policy;
	uint64_t misses = 0;

	for (size_t i = 0; i < count; i++) {
		struct sim_node *node = &shard->nodes.at[requests[i].object];

		if (node->mark == 0) {
			misses++;
			insert(shard, &requests[i]);
		} else if (node->size != requests[i].size) {
			/* Another size: the entry is overwritten. */
			unlink_entry(shard, requests[i].object);
			insert(shard, &requests[i]);
		} else if ((node->mark & COUNT_MASK) < EVICT_COUNT_MAX) {
			node->mark++;
		}
	}
	return misses;
}

const struct sim_ops sim_weir = {
	.name = "weir",
	.help = "the segment's policy: S3-FIFO over 64 extents",
	.create = create,
	.destroy = destroy,
	.grow = grow,
	.replay = replay,
};
