/* SPDX-License-Identifier: ISC */

#include "sim_list.h"

#include <stdlib.h>
#include <string.h>

void
sim_list_init(struct sim_list *list)
{
	list->head = SIM_NONE;
	list->tail = SIM_NONE;
	list->bytes = 0;
}

bool
sim_nodes_grow(struct sim_nodes *nodes, uint32_t count)
{
	struct sim_node *more;

	if (count <= nodes->count) {
		return true;
	}
	more = reallocarray(nodes->at, count, sizeof(*more));
	if (more == NULL) {
		return false;
	}
	memset(more + nodes->count, 0,
	    (size_t)(count - nodes->count) * sizeof(*more));
	nodes->at = more;
	nodes->count = count;
	return true;
}
