/* SPDX-License-Identifier: ISC */

/*
 * Numbers the objects of a trace 0, 1, 2, ... in order of first request:
 * one open-addressing table that all policies of a run share, so that each
 * of them needs no hash table of its own.
 */
#ifndef SIM_IDS_H
#define SIM_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_id_slot {
	uint64_t	id;
	uint32_t	number_plus_1;	/* 0 = free */
	uint32_t	unused;
};

struct sim_ids {
	struct sim_id_slot *slots;
	uint32_t	slot_mask;
	uint32_t	count;		/* objects numbered so far */
};

/* False if memory is short.  fini is due even then. */
bool	sim_ids_init(struct sim_ids *ids);
void	sim_ids_fini(struct sim_ids *ids);

/* 64 good bits from an object id; ids are often small and consecutive. */
uint64_t sim_ids_hash(uint64_t id);

/*
 * The number of id, whose hash the caller gives; a new id gets the next
 * one.  False if memory is short or the trace has too many objects.
 */
bool	sim_ids_number(struct sim_ids *ids, uint64_t id, uint64_t hash,
	    uint32_t *number);

#endif
