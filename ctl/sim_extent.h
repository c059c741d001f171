/* SPDX-License-Identifier: ISC */

/*
 * The extents of one simulated shard: their queues and their free list, and
 * nothing of what decides between them.  Extents are named by number.
 */
#ifndef SIM_EXTENT_H
#define SIM_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "evict.h"
#include "sim_list.h"

struct sim_extent {
	struct sim_list	entries;
	uint64_t	used_bytes;	/* dead bytes included */
	uint32_t	chain;		/* extents of a chained value, else 1 */
	uint32_t	newer;		/* in its queue, or in the free list */
	enum evict_queue role;
};

struct sim_queue {
	uint32_t	oldest;
	uint32_t	newest;
	uint32_t	open;		/* appended to; SIM_NONE: none */
	uint32_t	extents;	/* chained ones all counted */
	uint64_t	entries;
};

struct sim_extents {
	uint64_t	extent_bytes;
	uint32_t	total;
	uint32_t	free_count;
	uint32_t	free_first;
	struct sim_queue queues[2];	/* by enum evict_queue */
	struct sim_extent *at;
};

/* All free.  False if memory is short; fini is due even then. */
bool	sim_extents_init(struct sim_extents *extents, uint64_t extent_bytes,
	    uint32_t total);
void	sim_extents_fini(struct sim_extents *extents);

/*
 * Take one off the free list; there must be chain free ones.  The first
 * extent of a chain stands for all of them; the rest are only counted.
 */
uint32_t sim_extents_take(struct sim_extents *extents, uint32_t chain);

/* Back to the free list, with all of its chain. */
void	sim_extents_give(struct sim_extents *extents, uint32_t number);

/* Make it the newest of a queue. */
void	sim_extents_link(struct sim_extents *extents, enum evict_queue role,
	    uint32_t number);

/* Take the oldest off a queue that has one; if it was open it is closed. */
uint32_t sim_extents_unlink_oldest(struct sim_extents *extents,
	    enum evict_queue role);

#endif
