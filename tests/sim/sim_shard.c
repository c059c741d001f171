/* SPDX-License-Identifier: ISC */

/*
 * Seeded simulation of a pool's shards: some workers and a client of one
 * process in turn, a clock that is told, deaths at any named point, against
 * a model that knows every right answer.  --seed N --only one_seed replays one
 * seed alone.
 *
 * tests/run: timeout_s 120
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "plain_test.h"
#include "shm_fence.h"
#include "stage.h"

/* One thread runs at a time: ThreadSanitizer, which is slow, finds little. */
#define QUICK_SEEDS	(SHM_TSAN ? 50 : 1000)
#define DEEP_SEEDS	(SHM_TSAN ? 500 : 100000)
/* Points that an operation passes at most before it dies at one. */
#define COUNTDOWN_MOST	40u
#define VERIFY_ONE_IN	150u
#define FAILURES_SHOWN	5u

static uint32_t
draw_key(struct stage *stage)
{
	struct prng *prng = &stage->prng;

	return prng_below(prng, prng_one_in(prng, 2) ?
	    stage->setup.keys / 8 + 1 : stage->setup.keys);
}

static void
act(struct stage *stage)
{
	uint32_t key = draw_key(stage);
	uint32_t dice = prng_below(&stage->prng, 100);

	stage->busy_key = key;
	if (stage->model.key[key].count > 1) {
		/* An intent says what one candidate may become. */
		actor_read(stage, key);
	}
	if (dice < 35) {
		actor_set(stage, key);
	} else if (dice < 60) {
		actor_read(stage, key);
	} else if (dice < 68) {
		actor_delete(stage, key);
	} else if (dice < 74) {
		actor_touch(stage, key);
	} else if (dice < 80) {
		actor_count(stage, key);
	} else if (dice < 82) {
		actor_purge(stage);
	} else if (dice < 88) {
		actor_tidy(stage);
	} else if (dice < 91) {
		actor_hold(stage, key);
	} else if (dice < 94) {
		actor_release(stage, prng_below(&stage->prng, STAGE_HOLDS));
	} else if (stage->setup.large_one_in != 0) {
		actor_chain(stage, key);
	} else {
		actor_read(stage, key);
	}
}

/*
 * Another worker gets the lock in the middle of an operation: on any other
 * key, as the order of two changes of one key would be anybody's.
 */
static void
act_between(struct stage *stage)
{
	struct intent intent = stage->intent;
	uint32_t acting = stage->acting, busy_key = stage->busy_key;
	uint32_t key = draw_key(stage);
	uint8_t *value = stage->value;

	if (key == busy_key || stage_failed(stage) ||
	    stage->model.key[key].count > 1) {
		return;
	}
	stage->nested++;
	stage->acting = (acting + 1) % STAGE_WORKERS;
	stage->intent.active = false;
	/* The value of the operation around is still being written. */
	stage->value = stage->value_between;
	switch (prng_below(&stage->prng, 4)) {
	case 0:
		actor_read(stage, key);
		break;
	case 1:
		actor_delete(stage, key);
		break;
	default:
		actor_set(stage, key);
		break;
	}
	stage->value = value;
	stage->acting = acting;
	stage->busy_key = busy_key;
	stage->intent = intent;
}

static void
step(struct stage *stage)
{
	uint64_t countdown = 0;

	stage->acting = prng_below(&stage->prng, STAGE_WORKERS);
	if (prng_one_in(&stage->prng, 4)) {
		stage->now.ms += prng_below(&stage->prng, 200);
	}
	if (stage->setup.death_one_in != 0 &&
	    prng_one_in(&stage->prng, stage->setup.death_one_in)) {
		countdown = 1 + prng_below(&stage->prng, COUNTDOWN_MOST);
	}
	if (death_run(stage, act, countdown)) {
		stage_bury(stage, stage->acting);
		stage->acting = (stage->acting + 1) % STAGE_WORKERS;
	}
	if (prng_one_in(&stage->prng, VERIFY_ONE_IN)) {
		stage_verify(stage);
		actor_scan(stage);
	}
}

static void
end(struct stage *stage)
{
	for (unsigned i = 0; i < STAGE_HOLDS; i++) {
		actor_release(stage, i);
	}
	stage_verify(stage);
	actor_scan(stage);
	for (uint32_t key = 0; key < stage->setup.keys &&
	    !stage_failed(stage); key++) {
		actor_read(stage, key);
	}
	if (stats_sum(stage->worker[0].all_stats,
	    stage->worker[0].g.stats_blocks, STAT_get_corrupt) != 0) {
		stage_fail(stage, "a read met corrupt bytes");
	}
}

struct totals {
	uint64_t	operations;
	uint64_t	deaths;
	uint64_t	nested;
	uint64_t	recoveries;
	uint64_t	emptied;
	uint64_t	evicted;
	uint64_t	kept;		/* seeds that had to forget nothing */
};

static void
add_totals(struct totals *totals, const struct stage *stage)
{
	const struct pool *pool = &stage->worker[0];
	const struct stats_block *all = pool->all_stats;

	totals->deaths += stage->deaths;
	totals->nested += stage->nested;
	totals->recoveries += stats_sum(all, pool->g.stats_blocks,
	    STAT_recoveries);
	totals->emptied += stats_sum(all, pool->g.stats_blocks,
	    STAT_recovery_shard_emptied);
	totals->evicted += stats_sum(all, pool->g.stats_blocks,
	    STAT_evicted_small) + stats_sum(all, pool->g.stats_blocks,
	    STAT_evicted_main);
	totals->kept += stage_keeps_all(stage);
}

static bool
run_seed(struct stage *stage, uint64_t seed, struct totals *totals)
{
	if (!stage_open(stage, seed)) {
		abort();	/* no memory for a test */
	}
	death_between(act_between);
	for (uint32_t i = 0; i < stage->setup.operations &&
	    !stage_failed(stage); i++) {
		step(stage);
		totals->operations++;
	}
	if (!stage_failed(stage)) {
		end(stage);
	}
	add_totals(totals, stage);
	if (stage_failed(stage)) {
		printf("# seed %" PRIu64 ": %s; again with: sim_shard "
		    "--seed %" PRIu64 " --only one_seed\n", seed,
		    stage->error, seed);
	}
	stage_close(stage);
	return stage->error[0] == '\0';
}

int
main(int argc, char **argv)
{
	static struct stage stage;
	struct totals totals = { 0 };
	struct plain_test test;
	uint64_t seeds, failures = 0, run = 0;
	bool one;

	plain_start(&test, argc, argv);
	one = test.only != NULL && plain_wants(&test, "one_seed");
	seeds = one ? 1 : plain_amount(&test, QUICK_SEEDS, DEEP_SEEDS);
	if (one || plain_wants(&test, "many_seeds")) {
		for (; run < seeds && failures < FAILURES_SHOWN; run++) {
			failures += !run_seed(&stage, test.seed + run,
			    &totals);
		}
		(void)plain_check(&test, one ? "one_seed" : "many_seeds",
		    failures == 0, "%" PRIu64 " of %" PRIu64 " seeds from %"
		    PRIu64, failures, run, test.seed);
	}
	printf("# %" PRIu64 " seeds, %" PRIu64 " operations, %" PRIu64
	    " between others, %" PRIu64 " deaths, %" PRIu64 " recoveries, %"
	    PRIu64 " shards emptied, %" PRIu64 " evicted, %" PRIu64
	    " seeds kept all\n", run, totals.operations, totals.nested,
	    totals.deaths, totals.recoveries, totals.emptied, totals.evicted,
	    totals.kept);
	return plain_end(&test);
}
