/* SPDX-License-Identifier: ISC */

/*
 * Least recently used: a hit makes the object the newest.
 */
#include "sim_policy.h"

#include <stdlib.h>

#include "sim_list.h"

struct lru {
	uint64_t	capacity;
	struct sim_list	list;
	struct sim_nodes nodes;		/* mark 1: cached */
};

static void *
create(const struct sim_setup *setup)
{
	struct lru *lru = calloc(1, sizeof(*lru));

	if (lru != NULL) {
		lru->capacity = setup->capacity;
		sim_list_init(&lru->list);
	}
	return lru;
}

static void
destroy(void *policy)
{
	struct lru *lru = policy;

	free(lru->nodes.at);
	free(lru);
}

static bool
grow(void *policy, uint32_t count)
{
	struct lru *lru = policy;

	return sim_nodes_grow(&lru->nodes, count);
}

static void
insert(struct lru *lru, const struct sim_request *request)
{
	struct sim_node *node = &lru->nodes.at[request->object];

	if (request->size > lru->capacity) {
		return;
	}
	while (lru->list.bytes + request->size > lru->capacity) {
		uint32_t oldest = lru->list.tail;

		sim_list_remove(&lru->list, &lru->nodes, oldest);
		lru->nodes.at[oldest].mark = 0;
	}
	node->size = request->size;
	node->mark = 1;
	sim_list_push(&lru->list, &lru->nodes, request->object);
}

static uint64_t
replay(void *policy, const struct sim_request *requests, size_t count)
{
	struct lru *lru = policy;
	uint64_t misses = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sim_request *request = &requests[i];

		if (lru->nodes.at[request->object].mark != 0) {
			sim_list_resize(&lru->list, &lru->nodes,
			    request->object, request->size);
			sim_list_remove(&lru->list, &lru->nodes,
			    request->object);
			sim_list_push(&lru->list, &lru->nodes,
			    request->object);
		} else {
			misses++;
			insert(lru, request);
		}
	}
	return misses;
}

const struct sim_ops sim_lru = {
	.name = "lru",
	.help = "least recently used",
	.create = create,
	.destroy = destroy,
	.grow = grow,
	.replay = replay,
};
