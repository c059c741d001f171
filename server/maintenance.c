/* SPDX-License-Identifier: ISC */

/*
 * Portions of upkeep.  Shards are dealt out by number: of pool p, worker w
 * has the shards whose number is w modulo the workers.
 */
#include "maintenance.h"

#include "reclaim.h"
#include "sweep.h"

/* Extents reclaimed ahead for one shard in one portion. */
#define AHEAD_MAX	4u
/* Entries of one shard before the next has its turn. */
#define SHARD_ENTRIES	4096u

/* The next shard of ours; false: there is none in any pool. */
static bool
next_shard(struct maintenance *m, const struct heritage *heritage)
{
	uint32_t workers = heritage->config.workers;

	m->shard += workers;
	for (uint32_t i = 0; i <= heritage->config.pool_count; i++) {
		if (m->pool < heritage->config.pool_count && m->shard <
		    heritage->pools[m->pool].g.shard_count) {
			return true;
		}
		m->pool = (m->pool + 1) % heritage->config.pool_count;
		m->shard = heritage->process % workers;
	}
	return false;
}

bool
maintenance_run(struct maintenance *m, const struct heritage *heritage,
    struct boot_ms now)
{
	uint32_t entries = 0;
	uint64_t extents = 0;
	uint32_t first_pool = 0, first_shard = 0;
	bool more = false;

	for (uint32_t i = 0; entries < MAINTENANCE_ENTRIES &&
	    extents < MAINTENANCE_EXTENTS && next_shard(m, heritage); i++) {
		const struct pool *pool = &heritage->pools[m->pool];
		uint32_t done;

		if (i == 0) {
			first_pool = m->pool;
			first_shard = m->shard;
		} else if (m->pool == first_pool && m->shard == first_shard) {
			break;
		}
		for (uint32_t n = 0; n < AHEAD_MAX &&
		    reclaim_ahead(pool, m->shard, now); n++) {
			more = more || n == AHEAD_MAX - 1;
		}
		done = sweep_shard(pool, m->shard, SHARD_ENTRIES, now);
		more = more || done == SHARD_ENTRIES;
		entries += done;
		extents += pool->g.extent_count;
		/*
		 * Each lock of a stopped process costs a tenth of a second:
		 * the watchdog is for that one.  Relaxed: it orders nothing.
		 */
		atomic_store_explicit(&heritage->control->processes[
		    heritage->process].heartbeat_ms, clock_boot_now().ms,
		    memory_order_relaxed);
	}
	return more;
}
