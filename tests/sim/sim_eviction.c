/* SPDX-License-Identifier: ISC */

/*
 * The eviction of a real pool beside its simulation: the same requests give
 * the same hit ratio but for what a simulation leaves out (index pages,
 * headers, shards).  And a pool whose every entry is in use still takes new
 * ones.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "plain_test.h"
#include "sim_policy.h"
#include "verify.h"
#include "write.h"

#define EXTENT_BYTES	(16u << 10)
#define UNIT_BYTES	1024u		/* an entry, header and all */
#define OBJECTS		20000u
#define DIFFERENCE_MOST	0.01
#define FIRST_MS	1000u
/* 16 poor passes and a forced one, for the value and for an index page. */
#define TAKEN_APART_MOST 40u

struct popularity {
	double		*upto;		/* cumulated, of OBJECTS */
};

/* Zipf with that exponent. */
static void
make_popularity(struct popularity *p, double exponent)
{
	double sum = 0;

	p->upto = calloc(OBJECTS, sizeof(*p->upto));
	if (p->upto == NULL) {
		abort();	/* no memory for a test */
	}
	for (uint32_t i = 0; i < OBJECTS; i++) {
		sum += pow(i + 1.0, -exponent);
		p->upto[i] = sum;
	}
	for (uint32_t i = 0; i < OBJECTS; i++) {
		p->upto[i] /= sum;
	}
}

static uint32_t
draw(const struct popularity *p, struct prng *prng)
{
	double at = prng_unit(prng);
	uint32_t low = 0, high = OBJECTS - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (p->upto[middle] < at) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static void
open_pool(struct pool *pool, uint64_t bytes)
{
	struct pool_params params = {
		.name = "eviction", .pool_bytes = bytes,
		.extent_bytes = EXTENT_BYTES, .worker_count = 1,
		.now = { FIRST_MS },
	};

	if (pool_create(pool, &params) != OK) {
		abort();	/* no memory for a test */
	}
	pool_become_worker(pool, 0);
}

static enum result
store(const struct pool *pool, const struct key *key)
{
	static const uint8_t value[UNIT_BYTES];
	uint64_t version;
	struct entry_spec spec = {
		.key = key, .value = value,
		.value_bytes = UNIT_BYTES - sizeof(struct entry) -
		    key->length,
		.soft_ms = UINT64_MAX, .hard_ms = UINT64_MAX,
		.epoch = 1,
	};

	return write_set(pool, &spec, (struct boot_ms){ FIRST_MS },
	    &version);
}

/* A look, and if it misses a store.  True: a hit. */
static bool
request(const struct pool *pool, uint32_t object, enum result *stored)
{
	struct read_hit hit;
	struct key key;

	(void)key_init(&key, pool, &object, sizeof(object));
	*stored = OK;
	if (read_peek(pool, &key, (struct boot_ms){ FIRST_MS }, &hit) == OK) {
		access_touch(pool, &hit);
		return true;
	}
	*stored = store(pool, &key);
	return false;
}

/* Units that a pool has room for: its extents but the index pages. */
static uint64_t
capacity_units(const struct pool *pool)
{
	uint64_t extents = pool->g.extent_count;

	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		extents -= pool->shards_private[s].index_pages;
	}
	return extents * (EXTENT_BYTES / UNIT_BYTES);
}

static double
simulated_hits(const uint32_t *objects, uint64_t count, uint64_t capacity)
{
	struct sim_setup setup = { capacity, UNIT_BYTES };
	void *policy = sim_weir.create(&setup);
	uint64_t misses = 0;

	if (policy == NULL || !sim_weir.grow(policy, OBJECTS)) {
		abort();	/* no memory for a test */
	}
	for (uint64_t i = 0; i < count; i++) {
		struct sim_request r = {
			.hash = (objects[i] + 1) * 0x9e3779b97f4a7c15ull,
			.next = -1, .object = objects[i], .size = 1,
		};

		r.hash ^= r.hash >> 29;
		misses += sim_weir.replay(policy, &r, 1);
	}
	sim_weir.destroy(policy);
	return 1.0 - (double)misses / (double)count;
}

static void
check_hit_ratio(struct plain_test *test, const char *name, double exponent,
    uint64_t pool_bytes)
{
	uint64_t count = plain_amount(test, 200000, 2000000), hits = 0;
	uint32_t *objects = calloc(count, sizeof(*objects));
	enum result stored, worst = OK;
	struct popularity popularity;
	struct prng prng;
	struct pool pool;
	double real, simulated;

	if (!plain_wants(test, name)) {
		free(objects);
		return;
	}
	make_popularity(&popularity, exponent);
	prng_init(&prng, test->seed);
	open_pool(&pool, pool_bytes);
	for (uint64_t i = 0; objects != NULL && i < count; i++) {
		objects[i] = draw(&popularity, &prng);
		hits += request(&pool, objects[i], &stored);
		worst = stored != OK ? stored : worst;
	}
	real = (double)hits / (double)count;
	simulated = simulated_hits(objects, count, capacity_units(&pool));
	printf("# %s: %.4f, simulated %.4f, %u extents to a shard\n", name,
	    real, simulated, pool.g.extent_count / pool.g.shard_count);
	(void)plain_check(test, name, worst == OK &&
	    fabs(real - simulated) <= DIFFERENCE_MOST,
	    "%.4f of the requests hit, simulated %.4f; worst store: %s",
	    real, simulated, result_name(worst));
	free(popularity.upto);
	free(objects);
	pool_destroy(&pool);
}

/* Raise the counts of all that are there to their highest. */
static void
touch_all(const struct pool *pool, uint32_t objects)
{
	for (uint32_t object = 0; object < objects; object++) {
		struct read_hit hit;
		struct key key;

		(void)key_init(&key, pool, &object, sizeof(object));
		while (read_peek(pool, &key, (struct boot_ms){ FIRST_MS },
		    &hit) == OK && slot_count(hit.slot_word) <
		    SLOT_COUNT_MAX) {
			access_touch(pool, &hit);
		}
	}
}

static uint64_t
sum_of(const struct pool *pool, enum stat_id stat)
{
	return stats_sum(pool->all_stats, pool->g.stats_blocks, stat);
}

/*
 * Every entry is in full use before each store of a new one: it finds room,
 * and by taking few extents apart, as a pass that frees too little has the
 * next one drop all.
 */
static void
check_hot_pool(struct plain_test *test)
{
	static const char name[] = "a_pool_in_full_use_takes_new_values";
	uint32_t rounds = (uint32_t)plain_amount(test, 300, 3000);
	/* More extents to a shard than one store may take apart. */
	uint64_t pool_bytes = 2 * POOL_MIN_BYTES, longest = 0, faults;
	uint32_t fill = (uint32_t)(pool_bytes / UNIT_BYTES);
	enum result stored, worst = OK;
	struct pool pool;
	void *scratch;

	if (!plain_wants(test, name)) {
		return;
	}
	open_pool(&pool, pool_bytes);
	for (uint32_t object = 0; object < fill + rounds; object++) {
		uint64_t before = sum_of(&pool, STAT_extents_reclaimed);

		if (object >= fill) {
			touch_all(&pool, object);
		}
		(void)request(&pool, object, &stored);
		worst = stored != OK ? stored : worst;
		before = sum_of(&pool, STAT_extents_reclaimed) - before;
		longest = before > longest ? before : longest;
	}
	scratch = malloc(verify_scratch_bytes(&pool));
	faults = scratch == NULL ? 1 : verify_pool(&pool, scratch, NULL,
	    NULL);
	printf("# %s: %llu moved, %llu extents forced, at most %llu taken "
	    "apart for one store\n", name, (unsigned long long)
	    (sum_of(&pool, STAT_moved_to_main) + sum_of(&pool,
	    STAT_moved_again)), (unsigned long long)sum_of(&pool,
	    STAT_extents_forced), (unsigned long long)longest);
	(void)plain_check(test, name, worst == OK && faults == 0 &&
	    sum_of(&pool, STAT_extents_forced) > 0 &&
	    longest <= TAKEN_APART_MOST, "a store said %s, one took %llu "
	    "extents apart, verify %llu faults", result_name(worst),
	    (unsigned long long)longest, (unsigned long long)faults);
	free(scratch);
	pool_destroy(&pool);
}

int
main(int argc, char **argv)
{
	struct plain_test test;

	plain_start(&test, argc, argv);
	check_hit_ratio(&test, "hit_ratio_of_a_flat_trace", 0.8,
	    POOL_MIN_BYTES);
	check_hit_ratio(&test, "hit_ratio_of_a_steep_trace", 1.1,
	    POOL_MIN_BYTES);
	check_hit_ratio(&test, "hit_ratio_of_a_larger_pool", 0.9,
	    2 * POOL_MIN_BYTES);
	check_hot_pool(&test);
	return plain_end(&test);
}
