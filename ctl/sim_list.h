/* SPDX-License-Identifier: ISC */

/*
 * Doubly linked lists over an array of objects, linked by number: the
 * queues of the simulated policies.  The head is the newest end, the tail
 * the oldest.  An object is in one list at a time.
 */
#ifndef SIM_LIST_H
#define SIM_LIST_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_NONE	UINT32_MAX

/* A new node is all zero: in no list. */
struct sim_node {
	uint32_t	newer;
	uint32_t	older;
	uint32_t	size;
	uint32_t	mark;		/* the policy's own; 0 = not linked */
};

struct sim_nodes {
	struct sim_node	*at;
	uint32_t	count;
};

struct sim_list {
	uint32_t	head;
	uint32_t	tail;
	uint64_t	bytes;		/* sum of the sizes */
};

void	sim_list_init(struct sim_list *list);

/* At least count nodes, the new ones zero.  False if memory is short. */
bool	sim_nodes_grow(struct sim_nodes *nodes, uint32_t count);

static inline void
sim_list_push(struct sim_list *list, struct sim_nodes *nodes, uint32_t object)
{
	struct sim_node *node = &nodes->at[object];

	node->newer = SIM_NONE;
	node->older = list->head;
	if (list->head == SIM_NONE) {
		list->tail = object;
	} else {
		nodes->at[list->head].newer = object;
	}
	list->head = object;
	list->bytes += node->size;
}

static inline void
sim_list_remove(struct sim_list *list, struct sim_nodes *nodes,
    uint32_t object)
{
	struct sim_node *node = &nodes->at[object];

	if (node->newer == SIM_NONE) {
		list->head = node->older;
	} else {
		nodes->at[node->newer].older = node->older;
	}
	if (node->older == SIM_NONE) {
		list->tail = node->newer;
	} else {
		nodes->at[node->older].newer = node->newer;
	}
	list->bytes -= node->size;
}

/* Give the object, which is in the list, another size. */
static inline void
sim_list_resize(struct sim_list *list, struct sim_nodes *nodes,
    uint32_t object, uint32_t size)
{
	list->bytes -= nodes->at[object].size;
	list->bytes += size;
	nodes->at[object].size = size;
}

#endif
