/* SPDX-License-Identifier: ISC */

/*
 * Dead entries give their memory back without being touched: an extent that
 * may hold some (its earliest expiry has passed, or a purge came since it
 * was last swept) is walked; one where nothing lives is freed, one where
 * little lives is compacted.  Workers alone, from their idle timers.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "pool.h"

/*
 * Sweep a shard for at most budget entries and 16 x budget extents, going on
 * where the last call stopped.  The lock is let go every RECLAIM_STEP
 * entries.  Entries that a compaction looks at count too: one that does not
 * fit into what is left waits for the next call, and only an extent of more
 * entries than a whole budget is compacted beyond it.  Returns the entries
 * looked at, at most budget.
 */
uint32_t sweep_shard(const struct pool *pool, uint32_t shard,
    uint32_t budget, struct boot_ms now);

#endif
