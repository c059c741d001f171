/* SPDX-License-Identifier: ISC */

/*
 * What concerns all flights of a shard, and the refresh bits of a hash.
 */
#include "lease.h"

#include "epoch.h"
#include "index.h"
#include "lease_refresh.h"
#include "point.h"
#include "shard.h"

void
lease_refresh_clear(const struct pool *pool, uint32_t shard, uint64_t hash)
{
	uint64_t count = index_bucket_count(pool, shard);
	struct index_walk walk;
	_Atomic uint64_t *slot = count == 0 ? NULL : index_walk_bucket(&walk,
	    pool, shard, index_bucket(hash, count));

	for (; slot != NULL; slot = index_walk_next(&walk)) {
		/* Relaxed: under the lock. */
		uint64_t word = atomic_load_explicit(slot,
		    memory_order_relaxed);
		uint64_t of;

		if ((word & SLOT_REFRESH) != 0 && !slot_is_link(word) &&
		    word >> SLOT_TAG_SHIFT == hash >> SLOT_TAG_SHIFT &&
		    index_hash_of(pool, word, &of) && of == hash) {
			lease_refresh_unset(slot);
		}
	}
}

struct sweep {
	const struct pool *pool;
	const struct lease_door *door;
	uint32_t	shard;
};

static void
swept(void *arg, uint32_t index, uint64_t hash, uint64_t workers, bool over)
{
	const struct sweep *sweep = arg;

	SHM_POINT(lease_swept);
	if (over) {
		lease_refresh_clear(sweep->pool, sweep->shard, hash);
	}
	if (workers != 0 && sweep->door->tell != NULL) {
		sweep->door->tell(sweep->door->arg, sweep->pool,
		    sweep->shard, index, workers);
	}
}

enum result
lease_sweep(const struct pool *pool, const struct lease_door *door,
    uint32_t shard, uint64_t dead_workers, struct boot_ms now)
{
	struct sweep sweep = { pool, door, shard };
	struct flight_scene scene = {
		.now = now,
		.dead = door->dead,
		.arg = door->arg,
	};
	struct flight_table table;
	enum result result;

	if (shard >= pool->g.shard_count) {
		return INVALID;
	}
	result = shard_enter(pool, shard);
	if (result != OK) {
		return result;
	}
	table = pool_flights(pool, shard);
	flight_sweep(&table, dead_workers, &scene, swept, &sweep);
	shard_leave(pool, shard);
	return OK;
}

enum result
lease_keep_known(const struct pool *pool, const struct lease_door *door,
    uint32_t shard, uint64_t holder, flight_knows_fn knows, void *knower,
    struct boot_ms now)
{
	struct sweep sweep = { pool, door, shard };
	struct flight_table table;
	enum result result;

	if (shard >= pool->g.shard_count) {
		return INVALID;
	}
	result = shard_enter(pool, shard);
	if (result != OK) {
		return result;
	}
	table = pool_flights(pool, shard);
	flight_keep_known(&table, holder, pool->worker, knows, knower, now,
	    swept, &sweep);
	shard_leave(pool, shard);
	return OK;
}

enum result
lease_list(const struct pool *pool, uint32_t shard, lease_list_fn fn,
    void *arg)
{
	struct flight_table table;
	enum result result;

	if (shard >= pool->g.shard_count) {
		return INVALID;
	}
	result = shard_enter(pool, shard);
	if (result != OK) {
		return result;
	}
	table = pool_flights(pool, shard);
	for (uint32_t i = 1; i <= table.capacity + FLIGHT_NOTES *
	    table.notes && table.state->used + table.state->noted != 0;
	    i++) {
		if (table.flights[i].state != FLIGHT_FREE &&
		    !fn(arg, shard, &table.flights[i])) {
			break;
		}
	}
	shard_leave(pool, shard);
	return OK;
}
