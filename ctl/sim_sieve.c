/* SPDX-License-Identifier: ISC */

/*
 * SIEVE: a hit sets a bit and moves nothing; a hand walks from the oldest
 * object to the newest, clears bits, and evicts the first object without
 * one.  The hand stays where it stopped.
 */
#include "sim_policy.h"

#include <stdlib.h>

#include "sim_list.h"

/* The mark of a node. */
enum {
	ABSENT,
	CACHED,
	VISITED,
};

struct sieve {
	uint64_t	capacity;
	struct sim_list	list;
	struct sim_nodes nodes;
	uint32_t	hand;		/* SIM_NONE: start at the oldest */
};

static void *
create(const struct sim_setup *setup)
{
	struct sieve *sieve = calloc(1, sizeof(*sieve));

	if (sieve != NULL) {
		sieve->capacity = setup->capacity;
		sim_list_init(&sieve->list);
		sieve->hand = SIM_NONE;
	}
	return sieve;
}

static void
destroy(void *policy)
{
	struct sieve *sieve = policy;

	free(sieve->nodes.at);
	free(sieve);
}

static bool
grow(void *policy, uint32_t count)
{
	struct sieve *sieve = policy;

	return sim_nodes_grow(&sieve->nodes, count);
}

static void
evict(struct sieve *sieve)
{
	uint32_t object = sieve->hand == SIM_NONE ?
	    sieve->list.tail : sieve->hand;

	/* Ends within two rounds: the first one clears every bit. */
	while (sieve->nodes.at[object].mark == VISITED) {
		sieve->nodes.at[object].mark = CACHED;
		object = sieve->nodes.at[object].newer;
		if (object == SIM_NONE) {
			object = sieve->list.tail;
		}
	}
	sieve->hand = sieve->nodes.at[object].newer;
	sim_list_remove(&sieve->list, &sieve->nodes, object);
	sieve->nodes.at[object].mark = ABSENT;
}

static void
insert(struct sieve *sieve, const struct sim_request *request)
{
	struct sim_node *node = &sieve->nodes.at[request->object];

	if (request->size > sieve->capacity) {
		return;
	}
	while (sieve->list.bytes + request->size > sieve->capacity) {
		evict(sieve);
	}
	node->size = request->size;
	node->mark = CACHED;
	sim_list_push(&sieve->list, &sieve->nodes, request->object);
}

static uint64_t
replay(void *policy, const struct sim_request *requests, size_t count)
{
	struct sieve *sieve = policy;
	uint64_t misses = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sim_request *request = &requests[i];

		if (sieve->nodes.at[request->object].mark != ABSENT) {
			sieve->nodes.at[request->object].mark = VISITED;
			sim_list_resize(&sieve->list, &sieve->nodes,
			    request->object, request->size);
		} else {
			misses++;
			insert(sieve, request);
		}
	}
	return misses;
}

const struct sim_ops sim_sieve = {
	.name = "sieve",
	.help = "one queue, a visited bit and a hand",
	.create = create,
	.destroy = destroy,
	.grow = grow,
	.replay = replay,
};
