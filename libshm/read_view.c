/* SPDX-License-Identifier: ISC */

/*
 * Views: where a value lies, for whoever sends or scans it without a copy.
 * Any process; built on the read protocol (read.c).
 */
#include "read.h"

#include "chain.h"
#include "shm_fence.h"

/* As in read.c: a value that is replaced meanwhile is looked up again. */
#define VIEW_TRIES	8

static enum result
view_inside(const struct pool *pool, const struct read_hit *hit,
    uint64_t from, struct read_view *view)
{
	uint8_t *value = (uint8_t *)pool_extent(pool, hit->extent) +
	    hit->offset + entry_value_at(&hit->head);

	if (from > hit->value_bytes) {
		return INVALID;
	}
	view->part[0].iov_base = value + from;
	view->part[0].iov_len = hit->value_bytes - from;
	view->extent[0] = hit->extent;
	view->generation[0] = hit->generation;
	view->part_count = 1;
	view->bytes = hit->value_bytes - from;
	return OK;
}

enum result
read_view(const struct pool *pool, const struct key *key, struct boot_ms now,
    uint64_t from, struct read_view *view, struct read_hit *hit)
{
	for (int tries = 0; tries < VIEW_TRIES; tries++) {
		enum result result = read_peek(pool, key, now, hit);
		enum result made;

		view->part_count = 0;
		view->from = from;
		view->bytes = 0;
		if (result == MISS) {
			break;
		}
		if ((hit->head.flags & ENTRY_CHAIN) != 0) {
			made = chain_view(pool, hit, from, view);
		} else {
			made = view_inside(pool, hit, from, view);
		}
		if (made != MISS) {
			return made == OK ? read_count(pool, result) : made;
		}
		stats_add(pool->stats, tries + 1 < VIEW_TRIES ?
		    STAT_get_retries : STAT_get_retries_exhausted, 1);
	}
	return read_count(pool, MISS);
}

bool
read_view_valid(const struct pool *pool, const struct read_view *view)
{
	/* After the caller's reads; pairs with extent_retire(). */
	shm_fence_acquire();
	for (unsigned i = 0; i < view->part_count; i++) {
		/* Relaxed: ordered by the fence. */
		if (atomic_load_explicit(&pool->generations[view->extent[i]],
		    memory_order_relaxed) != view->generation[i]) {
			return false;
		}
	}
	return true;
}
