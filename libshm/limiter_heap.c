/* SPDX-License-Identifier: ISC */

/*
 * Pairing heaps whose links are row numbers: a row goes in and comes out at
 * any place without being searched for.  A node of a partition's row stands
 * for one of its queues and lies in a heap of its host; a node of a host's
 * row stands for one of the host's heaps and lies in the limiter's.  Daemon
 * processes, with the origin's lock.
 */
#include "limiter_heap.h"

#include "limiter_rows.h"

static uint32_t
node_of(uint32_t row, unsigned which)
{
	return row * LIMITER_HEAPS + which;
}

struct limiter_node *
limiter_node_at(const struct limiter *limiter, uint32_t node)
{
	return &limiter_row_at(limiter, node / LIMITER_HEAPS)->
	    node[node % LIMITER_HEAPS];
}

static uint32_t
merge(struct limiter *limiter, uint32_t one, uint32_t other)
{
	struct limiter_node *parent = limiter_node_at(limiter, one);
	struct limiter_node *child = limiter_node_at(limiter, other);

	if (one == 0 || other == 0) {
		return one + other;
	}
	if (child->rank < parent->rank) {
		return merge(limiter, other, one);
	}
	child->next = parent->child;
	child->previous = one;
	if (parent->child != 0) {
		limiter_node_at(limiter, parent->child)->previous = other;
	}
	parent->child = other;
	return one;
}

static uint32_t
take_first(struct limiter *limiter, uint32_t *list)
{
	uint32_t first = *list;

	if (first != 0) {
		struct limiter_node *node = limiter_node_at(limiter, first);

		*list = node->next;
		node->next = 0;
		node->previous = 0;
	}
	return first;
}

/*
 * Siblings by two and two, then all from the last to the first: what makes
 * the cost of a removal logarithmic, in the long run.
 */
static uint32_t
merge_siblings(struct limiter *limiter, uint32_t list)
{
	uint32_t bound = LIMITER_HEAPS * (limiter->row_capacity + 1);
	uint32_t pairs = 0, root = 0;

	for (uint32_t i = 0; list != 0 && i < bound; i++) {
		uint32_t one = take_first(limiter, &list);
		uint32_t pair = merge(limiter, one,
		    take_first(limiter, &list));

		limiter_node_at(limiter, pair)->next = pairs;
		pairs = pair;
	}
	for (uint32_t i = 0; pairs != 0 && i < bound; i++) {
		uint32_t pair = take_first(limiter, &pairs);

		root = merge(limiter, root, pair);
	}
	return root;
}

static void
heap_remove(struct limiter *limiter, uint32_t *root, uint32_t number)
{
	struct limiter_node *node = limiter_node_at(limiter, number);
	uint32_t rest = merge_siblings(limiter, node->child);

	if (*root == number) {
		*root = rest;
	} else {
		struct limiter_node *previous = limiter_node_at(limiter,
		    node->previous);

		if (previous->child == number) {
			previous->child = node->next;
		} else {
			previous->next = node->next;
		}
		if (node->next != 0) {
			limiter_node_at(limiter, node->next)->previous =
			    node->previous;
		}
		*root = merge(limiter, *root, rest);
	}
	node->child = 0;
	node->next = 0;
	node->previous = 0;
	node->heap = 0;
}

/* Into the heap `wanted` of these (from 1; 0: into none), with that rank. */
static void
move_to(struct limiter *limiter, uint32_t roots[LIMITER_HEAPS],
    uint32_t number, uint32_t wanted, uint64_t rank)
{
	struct limiter_node *node = limiter_node_at(limiter, number);

	if (node->heap == wanted && (wanted == 0 || node->rank == rank)) {
		return;
	}
	if (node->heap != 0 && node->heap <= LIMITER_HEAPS) {
		heap_remove(limiter, &roots[node->heap - 1], number);
	}
	if (wanted != 0) {
		node->heap = wanted;
		node->rank = rank;
		roots[wanted - 1] = merge(limiter, roots[wanted - 1], number);
	}
}

uint32_t
limiter_heap_wanted(const struct limiter *limiter,
    const struct limiter_config *config, uint32_t number, unsigned queue)
{
	const struct limiter_row *row = limiter_row_at(limiter, number);

	if (row->head[queue] == 0) {
		return 0;
	}
	if (!limiter_partition_is_full(limiter, config, number)) {
		return LIMITER_PLAIN + 1;
	}
	return queue == LIMITER_MARKED ? LIMITER_MARKED + 1 : 0;
}

void
limiter_heap_settle(struct limiter *limiter,
    const struct limiter_config *config, uint32_t number)
{
	struct limiter_row *row = limiter_row_at(limiter, number);
	uint32_t host_number = row->host_row;
	struct limiter_row *host = limiter_row_at(limiter, host_number);
	bool full = limiter_host_is_full(limiter, config, host_number);

	for (unsigned queue = 0; queue < LIMITER_HEAPS; queue++) {
		move_to(limiter, host->root, node_of(number, queue),
		    limiter_heap_wanted(limiter, config, number, queue),
		    limiter_place_at(limiter, row->head[queue])->number);
	}
	for (unsigned heap = 0; heap < LIMITER_HEAPS; heap++) {
		bool runs = !full && host->root[heap] != 0;

		move_to(limiter, limiter->state->root,
		    node_of(host_number, heap), runs ? heap + 1 : 0,
		    limiter_node_at(limiter, host->root[heap])->rank);
	}
}

uint32_t
limiter_heap_first(const struct limiter *limiter,
    const struct limiter_config *config)
{
	const uint32_t *roots = limiter->state->root;
	uint32_t host = roots[LIMITER_PLAIN];
	uint32_t node;

	if (roots[LIMITER_MARKED] != 0 &&
	    limiter_has_headroom(limiter, config) && (host == 0 ||
	    limiter_node_at(limiter, roots[LIMITER_MARKED])->rank <
	    limiter_node_at(limiter, host)->rank)) {
		host = roots[LIMITER_MARKED];
	}
	node = limiter_row_at(limiter, host / LIMITER_HEAPS)->
	    root[host % LIMITER_HEAPS];
	return host == 0 ? 0 : limiter_row_at(limiter, node / LIMITER_HEAPS)->
	    head[node % LIMITER_HEAPS];
}
