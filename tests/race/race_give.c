/* SPDX-License-Identifier: ISC */

/*
 * Shards that want what others hold.  One shard fills the whole pool before
 * the others begin to store; then every set into those is served, and the
 * extents go over until each has its fair share, while readers look on.
 */
#include "actors.h"
#include "geometry.h"
#include "shard.h"
#include "stage.h"

#include <stdio.h>

#define KEYS		8000u
#define SHARDS_HERE	4u
/* The rich one, and who comes later. */
#define RICH		0u

enum tally {
	RICH_READY = STAGE_OWN,	/* its evictions have begun */
	LATE_SETS,
};

static void
set_in_shard(struct actor *actor, uint32_t shard, uint64_t *refused)
{
	struct stage *stage = actor->scene;
	uint32_t key = prng_below(&actor->prng, KEYS);

	while (pool_shard_of(&actor->pool, stage->keys[key].hash) != shard) {
		key = (key + 1) % KEYS;
	}
	if (!stage_set(actor, stage, key,
	    stage_value_bytes(8 + prng_below(&actor->prng, 20)),
	    STAGE_FORGING)) {
		(*refused)++;
	}
}

static void
play_rich(struct actor *actor)
{
	uint64_t refused = 0;

	while (actor_goes_on(actor)) {
		set_in_shard(actor, RICH, &refused);
		if (actors_tally(actor->board, RICH_READY) == 0 &&
		    stats_sum(actor->pool.stats, 1, STAT_evicted_small) > 0) {
			actor_count(actor, RICH_READY);
		}
	}
	if (refused > 0) {
		actor_fail(actor, "%llu sets into the rich shard refused",
		    (unsigned long long)refused);
	}
}

static void
play_late(struct actor *actor)
{
	uint64_t refused = 0;

	while (actor_goes_on(actor)) {
		if (actors_tally(actor->board, RICH_READY) == 0) {
			actor_linger(actor, 2000);
			continue;
		}
		set_in_shard(actor, 1 + prng_below(&actor->prng,
		    SHARDS_HERE - 1), &refused);
		actor_count(actor, LATE_SETS);
		if (refused > 0) {
			actor_fail(actor, "a set into a poor shard was "
			    "refused: %llu times full, %llu busy",
			    (unsigned long long)stats_sum(actor->pool.stats, 1,
			    STAT_set_refused_full),
			    (unsigned long long)stats_sum(actor->pool.stats, 1,
			    STAT_set_refused_busy));
		}
	}
}

static void
play_reader(struct actor *actor)
{
	struct stage *stage = actor->scene;
	struct read_hit hit;

	while (actor_goes_on(actor)) {
		(void)stage_get(actor, stage, prng_below(&actor->prng, KEYS),
		    false, &hit);
	}
}

/* Extents of a shard, in use or kept for moves. */
static uint32_t
share_of(const struct stage *stage, uint32_t shard)
{
	const struct shard_private *sp = &stage->pool.shards_private[shard];

	return sp->owned + sp->index_pages;
}

static bool
shares_are_fair(struct stage *stage, struct plain_test *test,
    const char *name)
{
	uint32_t fair = geometry_fair_share(&stage->pool.g);

	for (uint32_t shard = 0; shard < SHARDS_HERE; shard++) {
		/* An extent may be on its way. */
		if (share_of(stage, shard) + 2 < fair) {
			plain_fail(test, name, "shard %u has %u extents, its "
			    "fair share is %u", shard, share_of(stage, shard),
			    fair);
			return false;
		}
	}
	return true;
}

/* Under their locks: the actors go on meanwhile. */
static bool
all_have_their_share(const struct stage *stage)
{
	uint32_t fair = geometry_fair_share(&stage->pool.g);
	bool all = true;

	for (uint32_t shard = 0; shard < SHARDS_HERE; shard++) {
		if (shard_enter(&stage->pool, shard) != OK) {
			return false;
		}
		/* An extent may be on its way. */
		all = all && share_of(stage, shard) + 2 >= fair;
		shard_leave(&stage->pool, shard);
	}
	return all;
}

static bool
showed(const void *scene)
{
	const struct stage *stage = scene;

	return actors_tally(stage->board, LATE_SETS) != 0 &&
	    stage_stat(stage, STAT_extents_given) != 0 &&
	    all_have_their_share(stage);
}

int
main(int argc, char **argv)
{
	static const char name[] = "the_rich_give_and_the_late_are_served";
	static struct stage stage;
	const struct actors_part parts[] = {
		{ play_rich, 1, false, 512, 4000 },
		{ play_late, 1, false, 512, 4000 },
		{ play_reader, 1, true, 64, 20000 },
	};
	struct actors_play play = {
		.scene = &stage, .parts = parts, .part_count = 3,
		.showed = showed,
	};
	struct plain_test test;
	bool played;

	plain_start(&test, argc, argv);
	if (!plain_wants(&test, name)) {
		return plain_end(&test);
	}
	stage_open(&stage, KEYS, UINT32_MAX);
	play.pool = &stage.pool;
	play.board = stage.board;
	play.seed = test.seed;
	play.run_ms = (uint32_t)plain_amount(&test, 1500, 60000);
	played = actors_run(&play);
	printf("# %llu late sets, %llu given, shares %u %u %u %u\n",
	    (unsigned long long)actors_tally(stage.board, LATE_SETS),
	    (unsigned long long)stage_stat(&stage, STAT_extents_given),
	    share_of(&stage, 0), share_of(&stage, 1), share_of(&stage, 2),
	    share_of(&stage, 3));
	if (played && stage_stat(&stage, STAT_extents_given) == 0) {
		plain_fail(&test, name, "nothing was given");
	} else if (!played || shares_are_fair(&stage, &test, name)) {
		(void)stage_report(&test, name, &stage, played);
	}
	stage_close(&stage);
	return plain_end(&test);
}
