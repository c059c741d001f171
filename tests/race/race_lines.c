/* SPDX-License-Identifier: ISC */

/*
 * Buckets with several overflow lines, which come and go as keys are stored
 * and deleted: slots are pulled into earlier lines under the eyes of readers.
 * A key that stays is found, wherever its slot goes.
 */
#include "actors.h"
#include "stage.h"

#include <stdio.h>

#define SHARD		0u
#define BUCKETS		3u
#define KEYS		96u
#define KEEP_EXTENTS	6u

/*
 * Half of a bucket's keys are stored at a time: one line and a little, two
 * and a little, three and a little.
 */
static const uint32_t keys_of_bucket[BUCKETS] = { 18, 32, 46 };

/* All with one tag, so that readers look at each entry on their way. */
static void
crowd_keys(struct stage *stage)
{
	uint32_t key = 0;

	for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
		for (uint32_t i = 0; i < keys_of_bucket[bucket]; i++) {
			stage->keys[key].hash =
			    UINT64_C(1) << SLOT_TAG_SHIFT |
			    (uint64_t)SHARD << 40 |
			    (uint64_t)(key + 1) << 16 | bucket;
			key++;
		}
	}
}

/* An odd version is a set, an even one a delete. */
static bool
is_there(uint64_t version)
{
	return version % 2 == 1;
}

static void
play_churner(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, KEYS);

		if (is_there(atomic_load(&stage->windows[key].begun))) {
			stage_delete(actor, stage, key);
		} else if (!stage_set(actor, stage, key,
		    stage_value_bytes(0), STAGE_PLAIN)) {
			actor_fail(actor, "the only writer is refused");
		}
		(void)stage_compact(actor, stage, SHARD, KEEP_EXTENTS);
	}
}

/* A miss is wrong if nothing was done to the key since its last set. */
static void
play_reader(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, KEYS);
		struct stage_window *window = &stage->windows[key];
		uint64_t low = atomic_load(&window->ended);
		uint64_t gave_up = stage_gave_up(actor);
		struct read_hit hit;
		enum result result = read_copy(&actor->pool,
		    &stage->keys[key], stage->now, actor->buffer,
		    sizeof(actor->buffer), &hit);

		if (result == OK) {
			stage_judge_hit(actor, stage, key, hit.value_bytes,
			    true, low);
		} else {
			stage_judge_miss(actor, key, is_there(low) &&
			    atomic_load(&window->begun) == low, low, gave_up);
		}
	}
}

int
main(int argc, char **argv)
{
	static const char name[] = "a_slot_that_is_pulled_forward_is_found";
	static struct stage stage;
	const struct actors_part parts[] = {
		{ play_churner, 1, false, 64, 2000 },
		{ play_reader, 2, true, 32, 20000 },
	};
	struct actors_play play = {
		.scene = &stage, .parts = parts, .part_count = 2,
	};
	struct plain_test test;
	uint64_t lines;
	bool played;

	plain_start(&test, argc, argv);
	if (!plain_wants(&test, name)) {
		return plain_end(&test);
	}
	stage_open(&stage, KEYS, SHARD);
	crowd_keys(&stage);
	play.pool = &stage.pool;
	play.board = stage.board;
	play.seed = test.seed;
	play.run_ms = (uint32_t)plain_amount(&test, 2000, 60000);
	played = actors_run(&play);
	lines = stage_stat(&stage, STAT_index_overflow_lines);
	printf("# %llu lines, %llu hits, %llu misses, %llu given up\n",
	    (unsigned long long)lines,
	    (unsigned long long)actors_tally(stage.board, STAGE_HITS),
	    (unsigned long long)actors_tally(stage.board, STAGE_MISSES),
	    (unsigned long long)actors_tally(stage.board, STAGE_LOST));
	if (played && lines < 100) {
		plain_fail(&test, name, "only %llu lines came",
		    (unsigned long long)lines);
	} else {
		(void)stage_report(&test, name, &stage, played);
	}
	stage_close(&stage);
	return plain_end(&test);
}
