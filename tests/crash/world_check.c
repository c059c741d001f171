/* SPDX-License-Identifier: ISC */

/*
 * The judgement over a world after a death: verify finds nothing, every key
 * reads as the ledger says, and where there was room nothing acked is gone.
 */
#include "world.h"

#include <stdlib.h>

#include "verify.h"
#include "worker.h"

static void
report_fault(void *arg, unsigned invariant, uint32_t shard, uint64_t where,
    const char *text)
{
	struct world *world = arg;

	world_fail(world->shared, "verify I%u, shard %u, %llx: %s",
	    invariant, shard, (unsigned long long)where, text);
}

/* What the cache itself dropped for want of room. */
static uint64_t
evictions(const struct world *world)
{
	return world_stat(world, STAT_evicted_small) +
	    world_stat(world, STAT_evicted_main) +
	    world_stat(world, STAT_extents_forced) +
	    world_stat(world, STAT_index_bucket_full);
}

static bool
check_key(struct world *world, uint32_t key, uint8_t *buffer, bool all_kept)
{
	struct world_shared *shared = world->shared;
	bool due = ledger_must_hold(&shared->ledger, key,
	    atomic_load(&shared->now_ms));
	struct read_hit hit;
	bool found;

	if (!worker_look(shared, &world->pool, key, buffer, &hit, &found)) {
		return false;
	}
	ledger_settle(&shared->ledger, key);
	if (!found && hit.shard == world->emptied_shard) {
		ledger_forget(&shared->ledger, key);
		due = false;
	}
	world->looked_at += due;
	if (found || !due) {
		return true;
	}
	world->forgotten++;
	ledger_forget(&shared->ledger, key);
	if (all_kept) {
		world_fail(shared, "key %u was acked and is gone", key);
	}
	return !all_kept;
}

bool
world_check(struct world *world)
{
	const struct profile *profile = world->profile;
	uint8_t *buffer = malloc(WORKER_VALUE_MAX);
	bool good;

	if (buffer == NULL) {
		abort();	/* no memory for a test */
	}
	good = verify_pool(&world->pool, world->scratch, report_fault,
	    world) == 0;
	if (good && profile->keeps_all && evictions(world) != 0) {
		/* Else the look at what was forgotten would mean nothing. */
		world_fail(world->shared, "profile %s has no room",
		    profile->name);
		good = false;
	}
	for (uint32_t key = 0; good && key < profile->keys; key++) {
		good = check_key(world, key, buffer, profile->keeps_all);
	}
	free(buffer);
	return good && *world_error(world) == '\0';
}
