/* SPDX-License-Identifier: ISC */

/*
 * A worker's share of a pool's upkeep: dead entries are swept and a few
 * extents kept free, for the shards that fall to it, in small portions.
 * Workers.
 */
#ifndef MAINTENANCE_H
#define MAINTENANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "heritage.h"

/* Entries looked at in one portion, and extents walked over. */
#define MAINTENANCE_ENTRIES	20000u
#define MAINTENANCE_EXTENTS	1000000u

struct maintenance {
	uint32_t	pool;		/* where the next portion begins */
	uint32_t	shard;
};

/* One portion.  True: there is more to do soon. */
bool	maintenance_run(struct maintenance *maintenance,
    const struct heritage *heritage, struct boot_ms now);

#endif
