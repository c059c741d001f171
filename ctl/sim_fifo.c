/* SPDX-License-Identifier: ISC */

/*
 * First in, first out: a hit changes nothing.
 */
#include "sim_policy.h"

#include <stdlib.h>

#include "sim_list.h"

struct fifo {
	uint64_t	capacity;
	struct sim_list	list;
	struct sim_nodes nodes;		/* mark 1: cached */
};

static void *
create(const struct sim_setup *setup)
{
	struct fifo *fifo = calloc(1, sizeof(*fifo));

	if (fifo != NULL) {
		fifo->capacity = setup->capacity;
		sim_list_init(&fifo->list);
	}
	return fifo;
}

static void
destroy(void *policy)
{
	struct fifo *fifo = policy;

	free(fifo->nodes.at);
	free(fifo);
}

static bool
grow(void *policy, uint32_t count)
{
	struct fifo *fifo = policy;

	return sim_nodes_grow(&fifo->nodes, count);
}

static void
insert(struct fifo *fifo, const struct sim_request *request)
{
	struct sim_node *node = &fifo->nodes.at[request->object];

	if (request->size > fifo->capacity) {
		return;
	}
	while (fifo->list.bytes + request->size > fifo->capacity) {
		uint32_t oldest = fifo->list.tail;

		sim_list_remove(&fifo->list, &fifo->nodes, oldest);
		fifo->nodes.at[oldest].mark = 0;
	}
	node->size = request->size;
	node->mark = 1;
	sim_list_push(&fifo->list, &fifo->nodes, request->object);
}

static uint64_t
replay(void *policy, const struct sim_request *requests, size_t count)
{
	struct fifo *fifo = policy;
	uint64_t misses = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sim_request *request = &requests[i];

		if (fifo->nodes.at[request->object].mark != 0) {
			sim_list_resize(&fifo->list, &fifo->nodes,
			    request->object, request->size);
		} else {
			misses++;
			insert(fifo, request);
		}
	}
	return misses;
}

const struct sim_ops sim_fifo = {
	.name = "fifo",
	.help = "first in, first out",
	.create = create,
	.destroy = destroy,
	.grow = grow,
	.replay = replay,
};
