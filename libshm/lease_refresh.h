/* SPDX-License-Identifier: ISC */

/*
 * Refresh bits of slots, under the shard's lock: set when a flight begins for
 * a linked entry, cleared when it is over.  For lease.c, lease_sweep.c and
 * recovery.c.
 */
#ifndef LEASE_REFRESH_H
#define LEASE_REFRESH_H

#include "pool.h"

static inline void
lease_refresh_set(_Atomic uint64_t *slot)
{
	/*
	 * Relaxed, as for counts: the bit orders nothing.  Counts are swapped
	 * without the lock, so that it cannot be a store.
	 */
	(void)atomic_fetch_or_explicit(slot, SLOT_REFRESH,
	    memory_order_relaxed);
}

static inline void
lease_refresh_unset(_Atomic uint64_t *slot)
{
	/* Relaxed: as above. */
	(void)atomic_fetch_and_explicit(slot, ~SLOT_REFRESH,
	    memory_order_relaxed);
}

/* No entry of that hash has the bit, wherever it was moved to. */
void	lease_refresh_clear(const struct pool *pool, uint32_t shard,
    uint64_t hash);

#endif
