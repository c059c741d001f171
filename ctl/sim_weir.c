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

struct extent {
	struct sim_list	entries;
	uint64_t	used_bytes;	/* dead bytes included */
	uint32_t	chain;		/* extents of a chained value, else 1 */
	uint32_t	newer;		/* in its queue, or in the free list */
	enum evict_queue role;
};

struct queue {
	uint32_t	oldest;
	uint32_t	newest;
	uint32_t	open;		/* appended to; SIM_NONE: none */
	uint32_t	extents;	/* chained ones all counted */
	uint64_t	entries;
};

struct shard {
	uint64_t	extent_bytes;
	uint32_t	extent_total;
	uint32_t	free_count;
	uint32_t	free_first;
	struct queue	queues[2];	/* by enum evict_queue */
	struct extent	*extents;
	struct sim_nodes nodes;
	struct ghost	ghost;
	uint32_t	*ghost_words;
	uint64_t	ghost_word_count;
	uint64_t	*hashes;	/* by object */
};

static void
shape_shard(struct shard *shard, uint64_t capacity)
{
	uint64_t unit = capacity / SHARD_EXTENTS;

	if (unit < EXTENT_UNITS_MIN) {
		unit = EXTENT_UNITS_MIN;
	}
	if (unit > capacity / CHAIN_DIVISOR) {
		unit = capacity / CHAIN_DIVISOR;
	}
	shard->extent_bytes = unit == 0 ? 1 : unit;
	shard->extent_total = (uint32_t)(capacity / shard->extent_bytes);
}

static void
link_free(struct shard *shard, uint32_t number)
{
	shard->extents[number].newer = shard->free_first;
	shard->free_first = number;
}

static void
init_queues(struct shard *shard)
{
	for (unsigned i = 0; i < 2; i++) {
		struct queue *queue = &shard->queues[i];

		queue->oldest = SIM_NONE;
		queue->newest = SIM_NONE;
		queue->open = SIM_NONE;
	}
	shard->free_first = SIM_NONE;
	shard->free_count = shard->extent_total;
	for (uint32_t i = shard->extent_total; i > 0; i--) {
		link_free(shard, i - 1);
	}
}

static void
destroy(void *policy)
{
	struct shard *shard = policy;

	free(shard->extents);
	free(shard->nodes.at);
	free(shard->ghost_words);
	free(shard->hashes);
	free(shard);
}

static void *
create(const struct sim_setup *setup)
{
	struct shard *shard = calloc(1, sizeof(*shard));
	uint64_t memory_bytes;

	if (shard == NULL) {
		return NULL;
	}
	shape_shard(shard, setup->capacity);
	if (__builtin_mul_overflow(setup->capacity, setup->unit_bytes,
	    &memory_bytes)) {
		memory_bytes = UINT64_MAX;
	}
	shard->ghost_word_count = ghost_word_count(memory_bytes);
	if (shard->ghost_word_count > GHOST_WORDS_MAX) {
		shard->ghost_word_count = GHOST_WORDS_MAX;
	}
	/*
	 * All zero is what ghost_init() makes; calloc gives it without
	 * touching pages that a small trace never needs.
	 */
	shard->ghost_words = calloc(1, ghost_bytes(shard->ghost_word_count));
	shard->extents = calloc(shard->extent_total, sizeof(struct extent));
	if (shard->ghost_words == NULL || shard->extents == NULL) {
		destroy(shard);
		return NULL;
	}
	init_queues(shard);
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

static void
link_extent(struct shard *shard, struct queue *queue, uint32_t number)
{
	struct extent *extent = &shard->extents[number];

	extent->role = queue == &shard->queues[EVICT_MAIN] ?
	    EVICT_MAIN : EVICT_SMALL;
	extent->newer = SIM_NONE;
	if (queue->newest == SIM_NONE) {
		queue->oldest = number;
	} else {
		shard->extents[queue->newest].newer = number;
	}
	queue->newest = number;
	queue->extents += extent->chain;
}

static uint32_t
unlink_oldest(struct shard *shard, struct queue *queue)
{
	uint32_t number = queue->oldest;
	struct extent *extent = &shard->extents[number];

	queue->oldest = extent->newer;
	if (queue->oldest == SIM_NONE) {
		queue->newest = SIM_NONE;
	}
	if (queue->open == number) {
		queue->open = SIM_NONE;
	}
	queue->extents -= extent->chain;
	return number;
}

/* The first extent of a chain stands for all; the rest are only counted. */
static uint32_t
take_free(struct shard *shard, uint32_t chain)
{
	uint32_t number = shard->free_first;
	struct extent *extent = &shard->extents[number];

	shard->free_first = extent->newer;
	shard->free_count -= chain;
	sim_list_init(&extent->entries);
	extent->used_bytes = 0;
	extent->chain = chain;
	return number;
}

static void
give_free(struct shard *shard, uint32_t number)
{
	shard->free_count += shard->extents[number].chain;
	link_free(shard, number);
}

static bool
has_room(const struct shard *shard, const struct queue *queue, uint32_t size)
{
	return queue->open != SIM_NONE && size <= shard->extent_bytes -
	    shard->extents[queue->open].used_bytes;
}

static void
open_extent(struct shard *shard, struct queue *queue)
{
	queue->open = take_free(shard, 1);
	link_extent(shard, queue, queue->open);
}

static void
append(struct shard *shard, struct queue *queue, uint32_t number,
    uint32_t object, unsigned count)
{
	struct extent *extent = &shard->extents[number];

	sim_list_push(&extent->entries, &shard->nodes, object);
	extent->used_bytes += shard->nodes.at[object].size;
	shard->nodes.at[object].mark = (number + 1) << COUNT_BITS | count;
	queue->entries++;
}

static void
move_to_main(struct shard *shard, uint32_t object, unsigned count)
{
	struct queue *queue = &shard->queues[EVICT_MAIN];

	/*
	 * At most one extent's entries are moved at a time, and they fit
	 * one extent: the spare one is enough.
	 */
	if (!has_room(shard, queue, shard->nodes.at[object].size)) {
		open_extent(shard, queue);
	}
	append(shard, queue, queue->open, object, count);
}

static void
drop_to_ghost(struct shard *shard, uint32_t object)
{
	ghost_insert(&shard->ghost, shard->ghost_words,
	    shard->ghost_word_count, shard->hashes[object],
	    evict_ghost_limit(shard->queues[EVICT_SMALL].entries,
	    shard->queues[EVICT_MAIN].entries));
}

/* Returns the bytes that are free afterwards and were not before. */
static uint64_t
reclaim_extent(struct shard *shard, bool force)
{
	struct evict_view view = {
		.small_extents = shard->queues[EVICT_SMALL].extents,
		.main_extents = shard->queues[EVICT_MAIN].extents,
		.total_extents = shard->extent_total,
	};
	enum evict_queue from = evict_victim(&view);
	struct queue *queue = &shard->queues[from];
	uint32_t number = unlink_oldest(shard, queue);
	struct extent *extent = &shard->extents[number];
	uint64_t freed_bytes = shard->extent_bytes * extent->chain;

	while (extent->entries.tail != SIM_NONE) {
		uint32_t object = extent->entries.tail;
		struct sim_node *node = &shard->nodes.at[object];
		struct evict_verdict verdict = evict_judge(from,
		    node->mark & COUNT_MASK, false, force);

		sim_list_remove(&extent->entries, &shard->nodes, object);
		node->mark = 0;
		queue->entries--;
		if (verdict.action == EVICT_DROP_TO_GHOST) {
			drop_to_ghost(shard, object);
		} else if (verdict.action == EVICT_MOVE &&
		    node->size > shard->extent_bytes / LARGE_DIVISOR) {
			/* A chain is linked again, not copied. */
			extent->used_bytes = 0;
			append(shard, queue, number, object, verdict.count);
			link_extent(shard, queue, number);
			return 0;
		} else if (verdict.action == EVICT_MOVE) {
			freed_bytes -= node->size;
			move_to_main(shard, object, verdict.count);
		}
	}
	give_free(shard, number);
	return freed_bytes;
}

static void
make_room(struct shard *shard, uint32_t extents)
{
	unsigned poor_passes = 0;

	while (shard->free_count < extents + SPARE_EXTENTS) {
		uint64_t freed_bytes = reclaim_extent(shard,
		    evict_must_force(poor_passes));

		if (evict_pass_is_poor(freed_bytes, shard->extent_bytes)) {
			poor_passes++;
		}
	}
}

static void
insert_large(struct shard *shard, uint32_t object, uint32_t size)
{
	struct queue *queue = &shard->queues[EVICT_MAIN];
	uint64_t extents = (size + shard->extent_bytes - 1) /
	    shard->extent_bytes;
	uint64_t limit = shard->extent_total / CHAIN_DIVISOR;
	uint32_t number;

	if (extents > limit || extents + SPARE_EXTENTS > shard->extent_total) {
		return;
	}
	make_room(shard, (uint32_t)extents);
	number = take_free(shard, (uint32_t)extents);
	link_extent(shard, queue, number);
	append(shard, queue, number, object, EVICT_COUNT_NEW);
}

static void
insert(struct shard *shard, const struct sim_request *request)
{
	uint32_t object = request->object;
	struct queue *queue;

	shard->nodes.at[object].size = request->size;
	shard->hashes[object] = request->hash;
	if (request->size > shard->extent_bytes / LARGE_DIVISOR) {
		insert_large(shard, object, request->size);
		return;
	}
	queue = &shard->queues[evict_admit(ghost_take(&shard->ghost,
	    shard->ghost_words, shard->ghost_word_count, request->hash))];
	while (!has_room(shard, queue, request->size)) {
		if (shard->free_count > SPARE_EXTENTS) {
			open_extent(shard, queue);
		} else {
			make_room(shard, 1);
		}
	}
	append(shard, queue, queue->open, object, EVICT_COUNT_NEW);
}

/*
 * The object came back with another size: its entry is overwritten, and the
 * old one's bytes stay in their extent, dead.
 */
static void
overwrite(struct shard *shard, const struct sim_request *request)
{
	struct sim_node *node = &shard->nodes.at[request->object];
	struct extent *extent =
	    &shard->extents[(node->mark >> COUNT_BITS) - 1];

	sim_list_remove(&extent->entries, &shard->nodes, request->object);
	shard->queues[extent->role].entries--;
	node->mark = 0;
	insert(shard, request);
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
			overwrite(shard, &requests[i]);
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
