/* SPDX-License-Identifier: ISC */

/*
 * Leases: what callers do to one flight.  Going over all of them is
 * lease_sweep.c.
 *
 * The digest that tells keys of one hash apart is BLAKE2b of 128 bits.  The
 * pool's hash key lies in a segment that clients read, so a short keyed hash
 * is no secret to them, and two keys with one digest could be made; of this
 * one they cannot be, key or no key.  It takes 300 ns, on the way of a miss
 * alone.
 */
#include "lease.h"

#include <sodium/crypto_generichash.h>
#include <string.h>

#include "chain_write.h"
#include "epoch.h"
#include "fault.h"
#include "index.h"
#include "lease_refresh.h"
#include "point.h"
#include "shard.h"

_Static_assert(sizeof(((struct flight_key *)NULL)->digest) >=
    crypto_generichash_BYTES_MIN, "a digest the library makes");
_Static_assert(sizeof(struct hash_key) >= crypto_generichash_KEYBYTES_MIN,
    "a key the library takes");

static struct flight_key
digest_of(const struct pool *pool, const struct key *key)
{
	struct flight_key of = { .hash = key->hash };

	/* Always 0: lengths are in range. */
	(void)crypto_generichash((unsigned char *)of.digest,
	    sizeof(of.digest), key->bytes, key->length, pool->hash_key.bytes,
	    sizeof(pool->hash_key.bytes));
	return of;
}

static void
tell(const struct lease_door *door, const struct pool *pool, uint32_t shard,
    uint32_t index, uint64_t workers)
{
	if (workers != 0 && door->tell != NULL) {
		door->tell(door->arg, pool, shard, index, workers);
	}
}

static struct flight_scene
scene_of(const struct pool *pool, const struct lease_door *door,
    uint32_t lease_ms, struct boot_ms now)
{
	return (struct flight_scene){
		.lease_ms = lease_ms,
		.epoch = epoch_now(pool),
		.now = now,
		.dead = door->dead,
		.arg = door->arg,
	};
}

/* The version of a live entry that readers can use; 0: compute it. */
static uint64_t
usable_version(const struct pool *pool, uint32_t shard,
    const _Atomic uint64_t *slot, struct boot_ms now)
{
	uint64_t version = shard_live_version(pool, shard, slot, now);
	/* Relaxed: under the lock. */
	uint32_t extent = version == 0 ? 0 : slot_extent(atomic_load_explicit(
	    slot, memory_order_relaxed));
	struct entry_head head;

	if (version == 0 || shard_entry(pool, atomic_load_explicit(slot,
	    memory_order_relaxed), &head) == NULL) {
		return 0;
	}
	/* Its writer is gone: it will never be whole. */
	if ((head.flags & ENTRY_CHAIN) != 0 &&
	    chain_stalled(pool, extent, now)) {
		return 0;
	}
	return version;
}

static void
count_answer(const struct pool *pool, enum flight_answer answer,
    bool took_over)
{
	static const enum stat_id stats[FLIGHT_ANSWERS] = {
		[FLIGHT_LEAD] = STAT_leases_led,
		[FLIGHT_WAIT] = STAT_leases_joined,
		[FLIGHT_UNDER_WAY] = STAT_leases_joined,
		[FLIGHT_FOUND] = STAT_leases_found,
		[FLIGHT_ENDED_NOW] = STAT_COUNT,
		[FLIGHT_BACK_OFF] = STAT_leases_backed_off,
		[FLIGHT_ALONE] = STAT_leases_alone,
		[FLIGHT_DEADLOCK] = STAT_leases_deadlock,
		[FLIGHT_TABLE_FULL] = STAT_leases_full,
		[FLIGHT_WAITERS_FULL] = STAT_leases_full,
	};

	if (stats[answer] != STAT_COUNT) {
		stats_add(pool->stats, stats[answer], 1);
	}
	if (answer == FLIGHT_LEAD && took_over) {
		stats_add(pool->stats, STAT_leases_taken_over, 1);
	}
}

enum result
lease_begin(const struct pool *pool, const struct lease_door *door,
    const struct key *key, const struct lease_request *request,
    struct boot_ms now, enum flight_answer *answer, struct lease *lease)
{
	struct flight_table table;
	struct flight_scene scene;
	_Atomic uint64_t *slot;
	enum result result;
	uint64_t version;

	memset(lease, 0, sizeof(*lease));
	lease->shard = pool_shard_of(pool, key->hash);
	lease->key = digest_of(pool, key);
	result = shard_enter(pool, lease->shard);
	if (result != OK) {
		return result;
	}
	table = pool_flights(pool, lease->shard);
	scene = scene_of(pool, door, request->lease_ms, now);
	slot = index_find(pool, lease->shard, key);
	version = usable_version(pool, lease->shard, slot, now);
	if (version != 0 && version != request->seen_version) {
		*answer = FLIGHT_FOUND;
	} else {
		*answer = flight_begin(&table, &lease->key, &request->caller,
		    &scene, &lease->ticket);
		SHM_POINT(lease_begun);
	}
	if (*answer == FLIGHT_LEAD && version != 0) {
		lease_refresh_set(slot);
		SHM_POINT(lease_refresh_set);
	}
	shard_leave(pool, lease->shard);
	count_answer(pool, *answer, lease->ticket.took_over);
	return OK;
}

/* FLIGHT_UNDER_WAY cannot be: who collects was waiting. */
enum result
lease_collect(const struct pool *pool, const struct lease_door *door,
    const struct lease_request *request, uint32_t waiters,
    struct boot_ms now, struct lease *lease, enum flight_answer *answer,
    struct flight_ending *ending)
{
	struct flight_table table;
	struct flight_scene scene;
	enum result result;

	if (lease->shard >= pool->g.shard_count || waiters == 0) {
		return INVALID;
	}
	result = shard_enter(pool, lease->shard);
	if (result != OK) {
		return result;
	}
	table = pool_flights(pool, lease->shard);
	scene = scene_of(pool, door, request->lease_ms, now);
	*answer = flight_collect(&table, &lease->key, &request->caller,
	    waiters, &scene, &lease->ticket, ending);
	SHM_POINT(lease_collected);
	shard_leave(pool, lease->shard);
	if (*answer == FLIGHT_LEAD) {
		count_answer(pool, *answer, true);
	}
	return OK;
}

enum result
lease_leave(const struct pool *pool, const struct lease_door *door,
    const struct lease *lease, uint32_t worker, uint32_t waiters,
    uint32_t left)
{
	struct flight_table table;
	uint64_t workers;
	enum result result;

	if (lease->shard >= pool->g.shard_count) {
		return INVALID;
	}
	result = shard_enter(pool, lease->shard);
	if (result != OK) {
		return result;
	}
	table = pool_flights(pool, lease->shard);
	if (flight_leave(&table, &lease->key, lease->ticket.index, worker,
	    waiters, left, &workers)) {
		lease_refresh_clear(pool, lease->shard, lease->key.hash);
	}
	tell(door, pool, lease->shard, lease->ticket.index, workers);
	shard_leave(pool, lease->shard);
	return OK;
}

/*
 * The flight that this holder leads with this token.  OK: locked; BUSY, or
 * LEASE_LOST, which is counted: not locked.
 */
static enum result
enter_own(const struct pool *pool, uint32_t shard,
    const struct flight_key *key, uint64_t token, uint64_t holder,
    struct boot_ms now, struct flight_table *table, uint32_t *index)
{
	enum result result = shard_enter(pool, shard);

	if (result != OK) {
		return result;
	}
	*table = pool_flights(pool, shard);
	result = flight_check(table, key, token, holder, now, index);
	if (result != OK) {
		shard_leave(pool, shard);
		stats_add(pool->stats, STAT_leases_lost, 1);
	}
	return result;
}

/* Under the lock: end, clear the bit, tell. */
static void
end(const struct pool *pool, uint32_t shard, const struct lease_door *door,
    uint32_t index, const struct flight_ending *ending, uint64_t jitter,
    struct boot_ms now)
{
	struct flight_table table = pool_flights(pool, shard);
	uint64_t hash = table.flights[index].hash;
	uint64_t workers = flight_end(&table, index, ending, jitter, now);

	SHM_POINT(lease_ended_not_told);
	lease_refresh_clear(pool, shard, hash);
	tell(door, pool, shard, index, workers);
}

enum result
lease_end(const struct pool *pool, const struct lease_door *door,
    const struct key *key, uint64_t token, uint64_t holder,
    const struct flight_ending *ending, uint64_t jitter, struct boot_ms now)
{
	uint32_t shard = pool_shard_of(pool, key->hash);
	struct flight_key of = digest_of(pool, key);
	struct flight_table table;
	uint32_t index;
	enum result result;

	if ((unsigned)ending->outcome >= FLIGHT_OUTCOMES) {
		return INVALID;
	}
	result = enter_own(pool, shard, &of, token, holder, now, &table,
	    &index);
	if (result != OK) {
		return result;
	}
	end(pool, shard, door, index, ending, jitter, now);
	shard_leave(pool, shard);
	if (ending->outcome == FLIGHT_FAILED) {
		stats_add(pool->stats, STAT_leases_failed, 1);
	} else if (ending->outcome == FLIGHT_UNCACHEABLE) {
		stats_add(pool->stats, STAT_leases_uncacheable, 1);
	}
	return OK;
}

enum result
lease_restart(const struct pool *pool, const struct key *key, uint64_t token,
    uint64_t holder, uint32_t lease_ms, struct boot_ms now)
{
	uint32_t shard = pool_shard_of(pool, key->hash);
	struct flight_key of = digest_of(pool, key);
	struct flight_table table;
	uint32_t index;
	enum result result = enter_own(pool, shard, &of, token, holder, now,
	    &table, &index);

	if (result != OK) {
		return result;
	}
	table.flights[index].deadline_ms = now.ms + lease_ms;
	shard_leave(pool, shard);
	return OK;
}

enum result
lease_abandon(const struct pool *pool, const struct lease_door *door,
    const struct lease *lease, uint64_t holder, struct boot_ms now)
{
	struct flight_table table;
	uint32_t index;
	uint64_t workers;
	enum result result;

	if (lease->shard >= pool->g.shard_count) {
		return INVALID;
	}
	result = enter_own(pool, lease->shard, &lease->key,
	    lease->ticket.token, holder, now, &table, &index);
	if (result != OK) {
		return result;
	}
	workers = flight_hand_over(&table, index, pool->worker, now);
	SHM_POINT(lease_handed_over);
	if (table.flights[index].state != FLIGHT_OFFERED) {
		lease_refresh_clear(pool, lease->shard, lease->key.hash);
	}
	tell(door, pool, lease->shard, index, workers);
	shard_leave(pool, lease->shard);
	return OK;
}

enum result
lease_fill_check(const struct pool *pool, uint32_t shard,
    const struct key *key, const struct lease_fill *fill, struct boot_ms now,
    uint64_t *epoch)
{
	static const struct flight_ending changed = {
		.outcome = FLIGHT_LOOK_AGAIN,
	};
	struct flight_table table = pool_flights(pool, shard);
	struct flight_key of = digest_of(pool, key);
	uint32_t index;
	enum result result = flight_check(&table, &of, fill->token,
	    fill->holder, now, &index);
	struct flight *flight;

	if (result != OK) {
		stats_add(pool->stats, STAT_leases_lost, 1);
		return result;
	}
	flight = &table.flights[index];
	if (flight->touched != 0 && !FAULT(fill_ignores_touch)) {
		end(pool, shard, fill->door, index, &changed, 0, now);
		return CHANGED;
	}
	/* From here on a death leaves open whether it was linked. */
	flight->filling = 1;
	*epoch = FAULT(flight_epoch_of_fill) ? epoch_now(pool) :
	    flight->epoch;
	SHM_POINT(lease_filling);
	return OK;
}

void
lease_fill_end(const struct pool *pool, uint32_t shard, uint64_t hash,
    const struct lease_fill *fill, struct boot_ms now)
{
	static const struct flight_ending filled = {
		.outcome = FLIGHT_FILLED,
	};
	struct flight_table table = pool_flights(pool, shard);
	uint32_t index = flight_filling(&table, hash, fill->token);

	SHM_POINT(lease_linked_not_ended);
	if (index != 0) {
		end(pool, shard, fill->door, index, &filled, 0, now);
	}
	stats_add(pool->stats, STAT_leases_filled, 1);
}

void
lease_fill_later(const struct pool *pool, uint32_t shard, uint64_t hash,
    const struct lease_fill *fill)
{
	struct flight_table table = pool_flights(pool, shard);
	uint32_t index = flight_filling(&table, hash, fill->token);

	if (index != 0) {
		table.flights[index].filling = 0;
	}
}

void
lease_touch(const struct pool *pool, uint32_t shard, uint64_t hash)
{
	struct flight_table table = pool_flights(pool, shard);
	uint32_t touched = flight_touch(&table, hash);

	if (touched != 0) {
		stats_add(pool->stats, STAT_leases_touched, touched);
	}
}
