/* SPDX-License-Identifier: ISC */

/*
 * The index grows while readers look: each split moves slots to another
 * bucket, overflow lines are linked and absorbed.  A key that was set stays
 * found.  An index never shrinks, so the race is run again and again in fresh
 * pools.
 */
#include "actors.h"
#include "index.h"
#include "stage.h"

#include <stdio.h>

#define KEYS		8000u
#define WRITERS		1u
/* A pool's index starts with 64 buckets to a shard. */
#define GROUPS		64u
#define SHARDS_MAX_HERE	4u
#define GROUP_KEYS	128u

/* Keys by shard and by the lowest bits of their hash, for who reads. */
struct groups {
	uint32_t	key[SHARDS_MAX_HERE][GROUPS][GROUP_KEYS];
	uint32_t	count[SHARDS_MAX_HERE][GROUPS];
};

struct split_scene {
	struct stage	stage;
	struct groups	groups;
};

static void
sort_keys(struct split_scene *scene)
{
	struct stage *stage = &scene->stage;

	for (uint32_t k = 0; k < stage->key_count; k++) {
		uint64_t hash = stage->keys[k].hash;
		uint32_t shard = pool_shard_of(&stage->pool, hash) %
		    SHARDS_MAX_HERE;
		uint32_t *count = &scene->groups.count[shard][hash % GROUPS];

		if (*count < GROUP_KEYS) {
			scene->groups.key[shard][hash % GROUPS][(*count)++] =
			    k;
		}
	}
}

/* Sets each key once, in order; ended tells which are there. */
static void
play_grower(struct actor *actor)
{
	struct split_scene *scene = actor->scene;

	for (uint32_t k = 0; k < KEYS && actor_goes_on(actor); k++) {
		while (!stage_set(actor, &scene->stage, k,
		    stage_value_bytes(0), STAGE_PLAIN) &&
		    actor_goes_on(actor)) {
			continue;
		}
		/* Deletes among the first take lines away again. */
		if (k % 16 == 15) {
			stage_delete(actor, &scene->stage, k - 8);
		}
	}
	atomic_store(&actor->board->stop, 1);
}

/* A key that may well lie in the bucket which is split next. */
static uint32_t
choose_key(struct actor *actor, const struct split_scene *scene)
{
	const struct pool *pool = &actor->pool;
	uint32_t shard = prng_below(&actor->prng, pool->g.shard_count);
	uint64_t count = index_bucket_count(pool, shard);
	uint64_t next = count - (UINT64_C(1) << (63 - __builtin_clzll(count)));
	uint32_t group = (uint32_t)(next % GROUPS);
	uint32_t keys = scene->groups.count[shard % SHARDS_MAX_HERE][group];

	if (keys == 0 || prng_one_in(&actor->prng, 8)) {
		return prng_below(&actor->prng, KEYS);
	}
	return scene->groups.key[shard % SHARDS_MAX_HERE][group]
	    [prng_below(&actor->prng, keys)];
}

static void
play_looker(struct actor *actor)
{
	struct split_scene *scene = actor->scene;
	struct read_hit hit;

	while (actor_goes_on(actor)) {
		uint32_t key = choose_key(actor, scene);

		/* Those in the seventh place of sixteen get deleted. */
		(void)stage_get(actor, &scene->stage, key, key % 16 != 7,
		    &hit);
	}
}

/* One pool from its first key to its last.  False: said why. */
static bool
run_round(struct plain_test *test, const char *name,
    struct split_scene *scene, uint64_t round, uint64_t *splits)
{
	const struct actors_part parts[] = {
		{ play_grower, WRITERS, false, 8, 20000 },
		{ play_looker, 2, true, 24, 20000 },
	};
	struct actors_play play = {
		.scene = scene, .parts = parts, .part_count = 2,
		.seed = test->seed + round, .run_ms = 10000,
	};
	bool played;

	stage_open(&scene->stage, KEYS, UINT32_MAX);
	scene->groups = (struct groups){ .count = { { 0 } } };
	sort_keys(scene);
	play.pool = &scene->stage.pool;
	play.board = scene->stage.board;
	played = actors_run(&play);
	*splits += stage_stat(&scene->stage, STAT_index_splits);
	if (!played) {
		(void)stage_report(test, name, &scene->stage, false);
	}
	stage_close(&scene->stage);
	return played;
}

int
main(int argc, char **argv)
{
	static const char name[] = "a_split_hides_no_key";
	static struct split_scene scene;
	struct plain_test test;
	uint64_t splits = 0, rounds;

	plain_start(&test, argc, argv);
	if (plain_wants(&test, name)) {
		rounds = plain_amount(&test, 60, 2000);
		for (uint64_t i = 0; i < rounds; i++) {
			if (!run_round(&test, name, &scene, i, &splits)) {
				return plain_end(&test);
			}
		}
		printf("# %llu splits\n", (unsigned long long)splits);
		(void)plain_check(&test, name, splits > rounds,
		    "%llu splits in %llu rounds",
		    (unsigned long long)splits, (unsigned long long)rounds);
	}
	return plain_end(&test);
}
