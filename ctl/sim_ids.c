/* SPDX-License-Identifier: ISC */

#include "sim_ids.h"

#include <stdlib.h>

#define SLOTS_AT_START	(1u << 14)
#define SLOTS_MAX	(1u << 31)

bool
sim_ids_init(struct sim_ids *ids)
{
	ids->count = 0;
	ids->slot_mask = SLOTS_AT_START - 1;
	ids->slots = calloc(SLOTS_AT_START, sizeof(*ids->slots));
	return ids->slots != NULL;
}

void
sim_ids_fini(struct sim_ids *ids)
{
	free(ids->slots);
	ids->slots = NULL;
}

/* The finaliser of SplitMix64. */
uint64_t
sim_ids_hash(uint64_t id)
{
	id += 0x9e3779b97f4a7c15ull;
	id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9ull;
	id = (id ^ id >> 27) * 0x94d049bb133111ebull;
	return id ^ id >> 31;
}

static struct sim_id_slot *
find_slot(struct sim_id_slot *slots, uint32_t mask, uint64_t id,
    uint64_t hash)
{
	uint32_t i = (uint32_t)hash & mask;

	/* Ends: at most three quarters of the slots are in use. */
	while (slots[i].number_plus_1 != 0 && slots[i].id != id) {
		i = (i + 1) & mask;
	}
	return &slots[i];
}

static bool
double_slots(struct sim_ids *ids)
{
	uint32_t old_count = ids->slot_mask + 1;
	uint32_t mask = old_count * 2 - 1;
	struct sim_id_slot *more;

	if (old_count >= SLOTS_MAX) {
		return false;
	}
	more = calloc((size_t)old_count * 2, sizeof(*more));
	if (more == NULL) {
		return false;
	}
	for (uint32_t i = 0; i < old_count; i++) {
		const struct sim_id_slot *slot = &ids->slots[i];

		if (slot->number_plus_1 != 0) {
			*find_slot(more, mask, slot->id,
			    sim_ids_hash(slot->id)) = *slot;
		}
	}
	free(ids->slots);
	ids->slots = more;
	ids->slot_mask = mask;
	return true;
}

bool
sim_ids_number(struct sim_ids *ids, uint64_t id, uint64_t hash,
    uint32_t *number)
{
	struct sim_id_slot *slot;

	slot = find_slot(ids->slots, ids->slot_mask, id, hash);
	if (slot->number_plus_1 == 0) {
		if (ids->count >= ids->slot_mask / 4 * 3) {
			if (!double_slots(ids)) {
				return false;
			}
			slot = find_slot(ids->slots, ids->slot_mask, id,
			    hash);
		}
		slot->id = id;
		slot->number_plus_1 = ++ids->count;
	}
	*number = slot->number_plus_1 - 1;
	return true;
}
