/* SPDX-License-Identifier: ISC */

/*
 * Counters that several workers add to, while reclaim moves them about: no
 * addition is lost, and a get returns a sum between what had ended before it
 * and what had begun after.
 */
#include "actors.h"
#include "stage.h"

#include <stdio.h>
#include <string.h>

#define COUNTERS	8u
#define OTHERS		8u
#define SHARD		0u
#define KEEP_EXTENTS	5u

static void
play_adder(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, COUNTERS);
		struct stage_window *window = &stage->windows[key];
		struct entry_spec spec = stage_spec(actor, stage, key, NULL,
		    0);
		uint64_t delta = 1 + prng_below(&actor->prng, 1000);
		enum result result;
		int64_t number;

		atomic_fetch_add(&window->begun, delta);
		do {
			result = write_counter_add(&actor->pool,
			    &stage->keys[key], (int64_t)delta, 0, &spec,
			    stage->now, &number);
		} while (result == BUSY);
		atomic_fetch_add(&window->ended, delta);
		if (result != OK) {
			actor_fail(actor, "an addition says %d", result);
		}
	}
}

static void
play_mover(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t key = COUNTERS + prng_below(&actor->prng, OTHERS);

		(void)stage_set(actor, stage, key, stage_value_bytes(
		    prng_below(&actor->prng, STAGE_STEPS_MAX + 1)),
		    STAGE_FORGING);
		(void)stage_compact(actor, stage, SHARD, KEEP_EXTENTS);
	}
}

static void
read_counter(struct actor *actor, struct stage *stage, uint32_t key)
{
	struct stage_window *window = &stage->windows[key];
	uint64_t low = atomic_load(&window->ended), high, sum;
	uint64_t gave_up = stage_gave_up(actor);
	struct read_hit hit;
	enum result result = read_copy(&actor->pool, &stage->keys[key],
	    stage->now, &sum, sizeof(sum), &hit);

	high = atomic_load(&window->begun);
	if (result == MISS) {
		stage_judge_miss(actor, key, true, low, gave_up);
	} else if (result != OK || hit.value_bytes != sizeof(sum)) {
		actor_fail(actor, "counter %u: a get says %d, %llu bytes",
		    key, result, (unsigned long long)hit.value_bytes);
	} else if (sum < low || sum > high) {
		actor_fail(actor, "counter %u: %llu outside %llu..%llu", key,
		    (unsigned long long)sum, (unsigned long long)low,
		    (unsigned long long)high);
	} else {
		actor_count(actor, STAGE_HITS);
	}
}

static void
play_reader(struct actor *actor)
{
	struct stage *stage = actor->scene;
	struct read_hit hit;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, COUNTERS + OTHERS);

		if (key < COUNTERS) {
			read_counter(actor, stage, key);
		} else {
			(void)stage_get(actor, stage, key, true, &hit);
		}
	}
}

/* When all is quiet each counter is exact. */
static bool
sums_are_exact(struct stage *stage, struct plain_test *test,
    const char *name)
{
	for (uint32_t key = 0; key < COUNTERS; key++) {
		uint64_t wanted = atomic_load(&stage->windows[key].ended);
		uint64_t sum = 0;
		struct read_hit hit;

		if (read_copy(&stage->pool, &stage->keys[key], stage->now,
		    &sum, sizeof(sum), &hit) != OK || sum != wanted) {
			plain_fail(test, name, "counter %u is %llu, wanted "
			    "%llu", key, (unsigned long long)sum,
			    (unsigned long long)wanted);
			return false;
		}
	}
	return true;
}

int
main(int argc, char **argv)
{
	static const char name[] = "no_addition_is_lost";
	static struct stage stage;
	const struct actors_part parts[] = {
		{ play_adder, 2, false, 128, 4000 },
		{ play_mover, 1, false, 256, 4000 },
		{ play_reader, 1, true, 48, 60000 },
	};
	struct actors_play play = {
		.scene = &stage, .parts = parts, .part_count = 3,
	};
	struct plain_test test;
	bool played;

	plain_start(&test, argc, argv);
	if (!plain_wants(&test, name)) {
		return plain_end(&test);
	}
	stage_open(&stage, COUNTERS + OTHERS, SHARD);
	play.pool = &stage.pool;
	play.board = stage.board;
	play.seed = test.seed;
	play.run_ms = (uint32_t)plain_amount(&test, 1500, 60000);
	played = actors_run(&play);
	printf("# %llu additions, %llu hits, %llu extents reclaimed\n",
	    (unsigned long long)stage_stat(&stage, STAT_counter_adds),
	    (unsigned long long)actors_tally(stage.board, STAGE_HITS),
	    (unsigned long long)stage_stat(&stage, STAT_extents_reclaimed));
	if (!played || sums_are_exact(&stage, &test, name)) {
		(void)stage_report(&test, name, &stage, played);
	}
	stage_close(&stage);
	return plain_end(&test);
}
