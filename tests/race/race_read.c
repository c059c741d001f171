/* SPDX-License-Identifier: ISC */

/*
 * The read protocol against everything that moves bytes and slots: sets,
 * overwrites, deletes, reclaim with moves, splits, overflow lines that come and
 * go, a recovery of the shard under the eyes of readers.  Some values are made
 * of forged entries.  No get returns anything but a whole value of its key in
 * a version of its window, and keys that are there throughout are never missed.
 */
#include "actors.h"
#include "epoch.h"
#include "index.h"
#include "recovery.h"
#include "shard.h"
#include "stage.h"

#include <stdio.h>

/* Keys 0 .. PRESENT - 1 are always there, the others come and go. */
#define PRESENT		64u
#define CHURN		16u
#define SHARD		1u
/* As few extents as hold it all, so that each is reused at once. */
#define KEEP_EXTENTS	8u

static void
churn(struct actor *actor, bool recovers)
{
	struct stage *stage = actor->scene;

	for (uint32_t k = 0; k < PRESENT; k++) {
		while (!stage_set(actor, stage, k, stage_value_bytes(1),
		    STAGE_PLAIN)) {
			continue;
		}
	}
	while (actor_goes_on(actor)) {
		uint32_t dice = prng_below(&actor->prng, 100);
		uint32_t other = PRESENT + prng_below(&actor->prng, CHURN);

		if (dice < 50) {
			(void)stage_set(actor, stage,
			    prng_below(&actor->prng, PRESENT),
			    stage_value_bytes(prng_below(&actor->prng, 4)),
			    STAGE_PLAIN);
		} else if (dice < 90) {
			(void)stage_set(actor, stage, other, stage_value_bytes(
			    prng_below(&actor->prng, STAGE_STEPS_MAX + 1)),
			    dice < 80 ? STAGE_FORGING : STAGE_PLAIN);
		} else {
			stage_delete(actor, stage, other);
		}
		if (recovers && dice < 5 &&
		    shard_enter(&actor->pool, SHARD) == OK) {
			recovery_run(&actor->pool, SHARD);
			shard_leave(&actor->pool, SHARD);
		}
		(void)stage_compact(actor, stage, SHARD, KEEP_EXTENTS);
	}
}

static void
play_churner(struct actor *actor)
{
	churn(actor, false);
}

static void
play_recoverer(struct actor *actor)
{
	churn(actor, true);
}

static void
play_reader(struct actor *actor)
{
	struct stage *stage = actor->scene;
	struct read_hit hit;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, PRESENT + CHURN);

		if (prng_one_in(&actor->prng, 2)) {
			key = prng_below(&actor->prng, STAGE_VICTIMS);
		}
		(void)stage_get(actor, stage, key, key < PRESENT, &hit);
	}
}

/* Gave up once in so many gets at most; the machine may be loaded. */
#define LOST_ONE_IN	1000u

static void
report(struct plain_test *test, const char *name, struct stage *stage,
    bool played)
{
	uint64_t hits = actors_tally(stage->board, STAGE_HITS);
	uint64_t lost = actors_tally(stage->board, STAGE_LOST);

	printf("# %s: %llu hits, %llu given up, %llu extents reclaimed, "
	    "%llu splits, %llu lines\n", name, (unsigned long long)hits,
	    (unsigned long long)lost,
	    (unsigned long long)stage_stat(stage, STAT_extents_reclaimed),
	    (unsigned long long)stage_stat(stage, STAT_index_splits),
	    (unsigned long long)stage_stat(stage, STAT_index_overflow_lines));
	if (!played) {
		(void)stage_report(test, name, stage, false);
	} else if (stage_stat(stage, STAT_evicted_small) +
	    stage_stat(stage, STAT_evicted_main) != 0) {
		plain_fail(test, name, "the stage is too small: evictions");
	} else if (hits == 0 || lost > hits / LOST_ONE_IN) {
		plain_fail(test, name, "%llu of %llu gets were given up",
		    (unsigned long long)lost, (unsigned long long)hits);
	} else {
		(void)stage_report(test, name, stage, true);
	}
}

static void
run_churn(struct plain_test *test, const char *name, actor_fn *writer)
{
	const struct actors_part parts[] = {
		{ writer, 1, false, 256, 8000 },
		{ play_reader, 2, true, 48, 200000 },
	};
	static struct stage stage;
	struct actors_play play = {
		.board = NULL, .scene = &stage, .parts = parts,
		.part_count = 2, .seed = test->seed,
		.run_ms = (uint32_t)plain_amount(test, 2000, 60000),
	};

	if (!plain_wants(test, name)) {
		return;
	}
	stage_open(&stage, PRESENT + CHURN, SHARD);
	play.pool = &stage.pool;
	play.board = stage.board;
	report(test, name, &stage, actors_run(&play));
	stage_close(&stage);
}

int
main(int argc, char **argv)
{
	struct plain_test test;

	plain_start(&test, argc, argv);
	run_churn(&test, "readers_meet_only_whole_values_that_were_stored",
	    play_churner);
	run_churn(&test, "a_recovery_does_not_disturb_readers",
	    play_recoverer);
	return plain_end(&test);
}
