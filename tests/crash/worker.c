/* SPDX-License-Identifier: ISC */

/*
 * The operations of a worker.
 */
#include "worker.h"

#include <string.h>

#include "access.h"
#include "chain_write.h"
#include "epoch.h"
#include "extent.h"
#include "pin.h"
#include "reclaim.h"
#include "scan.h"
#include "sweep.h"
#include "write.h"

/* Every so many operations the common clock goes on by one. */
#define OPERATIONS_PER_MS	8u
#define SWEEP_ENTRIES		600u
#define PURGES_PER_ALL		20u
#define LARGE_EXTENTS		6ull

static struct boot_ms
now_of(const struct world_shared *shared)
{
	return (struct boot_ms){ atomic_load(&shared->now_ms) };
}

void
worker_init(struct worker *worker, const struct world *world,
    uint32_t number, uint64_t seed, uint8_t *buffer)
{
	memset(worker, 0, sizeof(*worker));
	worker->shared = world->shared;
	worker->profile = world->profile;
	worker->pool = world->pool;
	worker->number = number;
	worker->buffer = buffer;
	pool_become_worker(&worker->pool, number);
	prng_init(&worker->prng, seed);
}

static uint64_t
tag_hash(const struct pool *pool, uint32_t tag)
{
	return epoch_tag_hash(pool, &tag, sizeof(tag));
}

/* A key of this worker's own; half of the time one of a few hot ones. */
static uint32_t
own_key(struct worker *w)
{
	uint32_t most = w->profile->keys / WORLD_WORKERS;
	uint32_t n = prng_below(&w->prng, prng_one_in(&w->prng, 2) ?
	    most / 16 : most);

	return n * WORLD_WORKERS + w->number;
}

static bool
expires(const struct worker *w, uint32_t key)
{
	return w->profile->expiring_one_in != 0 &&
	    key / WORLD_WORKERS % w->profile->expiring_one_in == 0;
}

/* An answer that a change may have beside OK: the key is as before. */
static bool
refused(struct worker *w, uint32_t key, const char *what, enum result result)
{
	ledger_refused(&w->shared->ledger, key);
	if (result == BUSY || (result == FULL && !w->profile->keeps_all)) {
		return true;
	}
	world_fail(w->shared, "%s of key %u: %s", what, key,
	    result_name(result));
	return false;
}

static struct entry_spec
spec_of(struct worker *w, const struct key *key, uint64_t *tag,
    struct ledger_life *life, uint32_t number)
{
	uint64_t now_ms = atomic_load(&w->shared->now_ms);

	life->epoch = epoch_now(&w->pool);
	life->hard_ms = expires(w, number) ?
	    now_ms + 1 + prng_below(&w->prng, 40) : LEDGER_NEVER;
	*tag = tag_hash(&w->pool, ledger_tag_of(number));
	return (struct entry_spec){
		.key = key,
		.tags = tag,
		.tag_count = 1,
		.value = w->buffer,
		.soft_ms = UINT64_MAX,
		.hard_ms = life->hard_ms,
		.epoch = life->epoch,
	};
}

/* A large value piece by piece; early: readable from the first on. */
static enum result
write_pieces(struct worker *w, const struct entry_spec *spec, bool early,
    uint64_t *version)
{
	struct boot_ms now = now_of(w->shared);
	struct chain_writer writer;
	uint64_t done = 0;
	enum result result = chain_begin(&w->pool, spec, early, now, &writer);

	if (result != OK) {
		return result;
	}
	while (result == OK && done < spec->value_bytes) {
		uint64_t piece = 1 + prng_below(&w->prng, 6000);

		if (piece > spec->value_bytes - done) {
			piece = spec->value_bytes - done;
		}
		result = chain_append(&w->pool, &writer, w->buffer + done,
		    piece, now);
		done += piece;
	}
	if (result == OK) {
		result = chain_finish(&w->pool, &writer, now, version);
	}
	if (result != OK) {
		chain_abort(&w->pool, &writer);
	}
	return result;
}

/* Some extents of a chain, as many as the pool allows. */
static uint32_t
large_most(const struct pool *pool)
{
	uint64_t most = geometry_value_max_bytes(&pool->g);

	most = most < WORKER_VALUE_MAX ? most : WORKER_VALUE_MAX;
	most = most < LARGE_EXTENTS << pool->g.extent_shift ? most :
	    LARGE_EXTENTS << pool->g.extent_shift;
	return (uint32_t)(most - sizeof(struct stamp));
}

static bool
step_set(struct worker *w, uint32_t key)
{
	const struct profile *p = w->profile;
	bool large = p->large_one_in != 0 &&
	    prng_one_in(&w->prng, p->large_one_in);
	bool early = large && prng_one_in(&w->prng, 2);
	bool pieces = early || (large && prng_one_in(&w->prng, 2));
	size_t bytes = sizeof(struct stamp) + prng_below(&w->prng, large ?
	    large_most(&w->pool) : p->value_most_bytes);
	char name[16];
	struct key k = worker_key(&w->pool, key, name);
	struct ledger_life life;
	uint64_t tag, number, version;
	struct entry_spec spec = spec_of(w, &k, &tag, &life, key);
	enum result result;

	spec.value_bytes = bytes;
	number = ledger_begin(&w->shared->ledger, key, 1,
	    early ? FLIGHT_ANY : FLIGHT_SET, life);
	ledger_fill(w->buffer, bytes, key, number, life);
	result = pieces ? write_pieces(w, &spec, early, &version) :
	    write_set(&w->pool, &spec, now_of(w->shared), &version);
	if (result != OK) {
		return refused(w, key, "set", result);
	}
	ledger_ack(&w->shared->ledger, key, number, LEDGER_VALUE);
	return true;
}

static bool
step_counter(struct worker *w, uint32_t key)
{
	uint64_t before = atomic_load(&w->shared->ledger.key[key].highest);
	int64_t delta = 1 + (int64_t)prng_below(&w->prng, 9), number = 0;
	char name[16];
	struct key k = worker_key(&w->pool, key, name);
	struct ledger_life life;
	uint64_t tag, wanted;
	struct entry_spec spec = spec_of(w, &k, &tag, &life, key);
	enum result result;

	/* No tag and no end, so that a number once seen stays. */
	spec.tag_count = 0;
	spec.hard_ms = UINT64_MAX;
	life.hard_ms = LEDGER_NEVER;
	wanted = ledger_begin(&w->shared->ledger, key, (uint64_t)delta,
	    FLIGHT_SET, life);
	result = write_counter_add(&w->pool, &k, delta, (int64_t)before,
	    &spec, now_of(w->shared), &number);
	if (result != OK) {
		return refused(w, key, "add", result);
	}
	if ((uint64_t)number > wanted || number <
	    (int64_t)atomic_load(&w->shared->ledger.key[key].lowest)) {
		world_fail(w->shared, "add to key %u gave %lld of %llu", key,
		    (long long)number, (unsigned long long)wanted);
		return false;
	}
	ledger_ack(&w->shared->ledger, key, (uint64_t)number, LEDGER_VALUE);
	return true;
}

static bool
step_delete(struct worker *w, uint32_t key)
{
	char name[16];
	struct key k = worker_key(&w->pool, key, name);
	struct ledger_life none = { 0, 0 };
	uint64_t number = ledger_begin(&w->shared->ledger, key, 1,
	    FLIGHT_ANY, none);
	enum result result = write_delete(&w->pool, &k, 0, now_of(w->shared));

	if (result != OK && result != MISS) {
		return refused(w, key, "delete", result);
	}
	ledger_ack(&w->shared->ledger, key, number, LEDGER_NOTHING);
	return true;
}

static bool
step_touch(struct worker *w, uint32_t key)
{
	struct boot_ms now = now_of(w->shared);
	char name[16];
	struct key k = worker_key(&w->pool, key, name);
	enum result result;

	if (expires(w, key)) {
		return true;
	}
	result = write_touch(&w->pool, &k, now.ms + prng_below(&w->prng,
	    100), UINT64_MAX, 0, now);
	if (result != OK && result != MISS && result != BUSY) {
		world_fail(w->shared, "touch of key %u: %s", key,
		    result_name(result));
		return false;
	}
	return true;
}

static bool
step_purge(struct worker *w)
{
	bool all = prng_one_in(&w->prng, PURGES_PER_ALL);
	bool hard = !prng_one_in(&w->prng, 4);
	uint32_t tag = all ? LEDGER_TAGS : prng_below(&w->prng, LEDGER_TAGS);
	enum epoch_kind kind = hard ? EPOCH_KIND_HARD : EPOCH_KIND_SOFT;
	uint64_t newest = epoch_now(&w->pool), number;
	enum result result;

	/* A purger that died left a number that its follower finishes. */
	if (w->pool.priv->epoch_next > newest) {
		newest = w->pool.priv->epoch_next;
	}
	ledger_purge_begin(&w->shared->ledger, tag, newest + 1, hard);
	result = all ? epoch_purge_all(&w->pool, kind, &number) :
	    epoch_purge_tag(&w->pool, tag_hash(&w->pool, tag), kind, &number);
	if (result != OK) {
		ledger_purge_cancel(&w->shared->ledger, tag);
		if (result != BUSY) {
			world_fail(w->shared, "purge: %s",
			    result_name(result));
		}
		return result == BUSY;
	}
	ledger_purge_ack(&w->shared->ledger, tag, number);
	return true;
}

static bool
step_read(struct worker *w, uint32_t key)
{
	struct read_hit hit;
	bool found;

	if (!worker_look(w->shared, &w->pool, key, w->buffer, &hit, &found)) {
		return false;
	}
	if (found) {
		access_touch(&w->pool, &hit);
	}
	return true;
}

/* Pin where a value lies, in the place of an older pin. */
static bool
step_pin(struct worker *w, uint32_t key)
{
	uint32_t *place = &w->pinned[prng_below(&w->prng, WORKER_PINS)];
	char name[16];
	struct key k = worker_key(&w->pool, key, name);
	struct read_hit hit;

	if (*place != 0) {
		pin_release(&w->pool, *place);
		*place = 0;
	}
	if (read_peek(&w->pool, &k, now_of(w->shared), &hit) == OK &&
	    pin_acquire(&w->pool, hit.extent, hit.generation)) {
		*place = hit.extent;
	}
	return true;
}

static bool
met_item(const struct scan_item *item, void *arg)
{
	uint64_t *met = arg;

	*met += item->version != 0;
	return true;
}

/* What a worker does when it has nothing to do. */
static void
step_idle(struct worker *w)
{
	uint32_t shard = prng_below(&w->prng, w->pool.g.shard_count);
	struct boot_ms now = now_of(w->shared);
	uint64_t met = 0;

	switch (prng_below(&w->prng, 6)) {
	case 0:
		(void)reclaim_ahead(&w->pool, shard, now);
		break;
	case 1:
		(void)scan_next(&w->pool, (uint64_t)shard << 48, 8, now,
		    met_item, &met);
		break;
	default:
		(void)sweep_shard(&w->pool, shard, SWEEP_ENTRIES, now);
		break;
	}
}

/*
 * A sibling that runs on while the victim waits for a processor would fill
 * the pool, and what was forgotten would mean nothing: it reads then.  So
 * does a victim that is killed at any moment.
 */
static bool
must_hold_back(const struct worker *w)
{
	return w->profile->keeps_all && (w->number != WORLD_VICTIM ||
	    atomic_load(&w->shared->all_hold_back) != 0) &&
	    extent_free_count(&w->pool) < w->pool.g.extent_count / 4;
}

static bool
due(struct worker *w, uint32_t one_in)
{
	return one_in != 0 && prng_one_in(&w->prng, one_in);
}

bool
worker_step(struct worker *w)
{
	const struct profile *p = w->profile;
	uint32_t key = own_key(w);

	atomic_fetch_add(&w->shared->operations, 1);
	if (prng_one_in(&w->prng, OPERATIONS_PER_MS)) {
		atomic_fetch_add(&w->shared->now_ms, 1);
	}
	if (must_hold_back(w)) {
		return step_read(w, key);
	}
	if (w->number == WORLD_VICTIM && due(w, p->purge_one_in)) {
		return step_purge(w);
	}
	if (due(w, p->sweep_one_in)) {
		step_idle(w);
		return true;
	}
	if (due(w, p->pin_one_in)) {
		return step_pin(w, key);
	}
	if (due(w, p->delete_one_in)) {
		return step_delete(w, key);
	}
	if (worker_is_counter(key)) {
		return step_counter(w, key);
	}
	switch (prng_below(&w->prng, 8)) {
	case 0:
		return step_touch(w, key);
	case 1:
	case 2:
	case 3:
		return step_read(w, key);
	default:
		return step_set(w, key);
	}
}

void
worker_end(struct worker *w)
{
	for (unsigned i = 0; i < WORKER_PINS; i++) {
		if (w->pinned[i] != 0) {
			pin_release(&w->pool, w->pinned[i]);
			w->pinned[i] = 0;
		}
	}
}
