/* SPDX-License-Identifier: ISC */

#include "sim_extent.h"

#include <stdlib.h>
#include <string.h>

static void
link_free(struct sim_extents *extents, uint32_t number)
{
	extents->at[number].newer = extents->free_first;
	extents->free_first = number;
}

bool
sim_extents_init(struct sim_extents *extents, uint64_t extent_bytes,
    uint32_t total)
{
	memset(extents, 0, sizeof(*extents));
	for (unsigned i = 0; i < 2; i++) {
		struct sim_queue *queue = &extents->queues[i];

		queue->oldest = SIM_NONE;
		queue->newest = SIM_NONE;
		queue->open = SIM_NONE;
	}
	extents->extent_bytes = extent_bytes;
	extents->total = total;
	extents->free_count = total;
	extents->free_first = SIM_NONE;
	extents->at = calloc(total, sizeof(*extents->at));
	if (extents->at == NULL) {
		return false;
	}
	for (uint32_t i = total; i > 0; i--) {
		link_free(extents, i - 1);
	}
	return true;
}

void
sim_extents_fini(struct sim_extents *extents)
{
	free(extents->at);
	extents->at = NULL;
}

uint32_t
sim_extents_take(struct sim_extents *extents, uint32_t chain)
{
	uint32_t number = extents->free_first;
	struct sim_extent *extent = &extents->at[number];

	extents->free_first = extent->newer;
	extents->free_count -= chain;
	sim_list_init(&extent->entries);
	extent->used_bytes = 0;
	extent->chain = chain;
	return number;
}

void
sim_extents_give(struct sim_extents *extents, uint32_t number)
{
	extents->free_count += extents->at[number].chain;
	link_free(extents, number);
}

void
sim_extents_link(struct sim_extents *extents, enum evict_queue role,
    uint32_t number)
{
	struct sim_queue *queue = &extents->queues[role];
	struct sim_extent *extent = &extents->at[number];

	extent->role = role;
	extent->newer = SIM_NONE;
	if (queue->newest == SIM_NONE) {
		queue->oldest = number;
	} else {
		extents->at[queue->newest].newer = number;
	}
	queue->newest = number;
	queue->extents += extent->chain;
}

uint32_t
sim_extents_unlink_oldest(struct sim_extents *extents, enum evict_queue role)
{
	struct sim_queue *queue = &extents->queues[role];
	uint32_t number = queue->oldest;
	struct sim_extent *extent = &extents->at[number];

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
