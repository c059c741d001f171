/* SPDX-License-Identifier: ISC */

/*
 * Entries that expire by a clock that runs, swept by two workers at once while
 * others set, touch and read them.  Nothing is found at or after its hard
 * expiry, nothing that lives is lost, and when all is quiet the dead have given
 * their memory back.
 */
#include "actors.h"
#include "reclaim.h"
#include "stage.h"
#include "sweep.h"

#include <stdio.h>
#include <string.h>

/* Keys 0 .. LASTING - 1 never expire. */
#define LASTING		32u
#define MORTAL		96u
#define KEYS		(LASTING + MORTAL)
#define SHARD		0u
/* Versions of a key whose expiry is remembered. */
#define REMEMBERED	64u
#define SPAN_MS_MAX	40u
#define SWEEP_BUDGET	300u

struct sweep_board {
	_Atomic uint64_t now_ms;
	/* written by the setter before the set */
	_Atomic uint64_t hard_ms[KEYS][REMEMBERED];
};

struct sweep_scene {
	struct stage	stage;
	struct sweep_board *board;
};

enum tally {
	SWEPT = STAGE_OWN,
	SEEN_MORTAL,
};

static struct boot_ms
now_of(const struct sweep_scene *scene)
{
	return (struct boot_ms){ atomic_load(&scene->board->now_ms) };
}

static void
set_mortal(struct actor *actor, uint32_t key)
{
	struct sweep_scene *scene = actor->scene;
	struct stage_window *window = &scene->stage.windows[key];
	uint64_t version = atomic_load(&window->begun) + 1, id;
	struct boot_ms now = now_of(scene);
	uint32_t bytes = stage_value_bytes(prng_below(&actor->prng, 16));
	struct entry_spec spec = stage_spec(actor, &scene->stage, key,
	    actor->buffer, bytes);

	spec.hard_ms = now.ms + 1 + prng_below(&actor->prng, SPAN_MS_MAX);
	atomic_store(&scene->board->hard_ms[key][version % REMEMBERED],
	    spec.hard_ms);
	stage_make_value(&scene->stage, actor->buffer, key, version, bytes,
	    STAGE_FORGING);
	atomic_store(&window->begun, version);
	if (write_set(&actor->pool, &spec, now, &id) == OK) {
		atomic_store(&window->ended, version);
	}
}

static void
play_setter(struct actor *actor)
{
	struct sweep_scene *scene = actor->scene;

	for (uint32_t k = 0; k < LASTING; k++) {
		(void)stage_set(actor, &scene->stage, k,
		    stage_value_bytes(1), STAGE_PLAIN);
	}
	while (actor_goes_on(actor)) {
		if (prng_one_in(&actor->prng, 8)) {
			(void)stage_set(actor, &scene->stage,
			    prng_below(&actor->prng, LASTING),
			    stage_value_bytes(1), STAGE_PLAIN);
		} else {
			set_mortal(actor, LASTING +
			    prng_below(&actor->prng, MORTAL));
		}
	}
}

static void
play_sweeper(struct actor *actor)
{
	struct sweep_scene *scene = actor->scene;

	while (actor_goes_on(actor)) {
		struct boot_ms now = now_of(scene);

		if (actor->number == 0) {
			atomic_fetch_add(&scene->board->now_ms, 1);
		}
		if (sweep_shard(&actor->pool, SHARD, SWEEP_BUDGET, now) > 0) {
			actor_count(actor, SWEPT);
		}
		(void)reclaim_ahead(&actor->pool, SHARD, now);
		actor_linger(actor, 100000);
	}
}

static void
read_mortal(struct actor *actor, uint32_t key)
{
	struct sweep_scene *scene = actor->scene;
	uint64_t low = atomic_load(&scene->stage.windows[key].ended);
	struct boot_ms now = now_of(scene);
	struct read_hit hit;
	uint64_t version, hard_ms;

	if (read_copy(&actor->pool, &scene->stage.keys[key], now,
	    actor->buffer, sizeof(actor->buffer), &hit) != OK) {
		return;
	}
	actor_count(actor, SEEN_MORTAL);
	memcpy(&version, actor->buffer + sizeof(version), sizeof(version));
	hard_ms = atomic_load(
	    &scene->board->hard_ms[key][version % REMEMBERED]);
	/* The memory of a version lasts until so many more have begun. */
	if (now.ms >= hard_ms && atomic_load(
	    &scene->stage.windows[key].begun) < version + REMEMBERED) {
		actor_fail(actor, "key %u expired at %llu, found at %llu",
		    key, (unsigned long long)hard_ms,
		    (unsigned long long)now.ms);
	}
	stage_judge_hit(actor, &scene->stage, key, hit.value_bytes, true,
	    low);
}

static void
play_reader(struct actor *actor)
{
	struct sweep_scene *scene = actor->scene;
	struct read_hit hit;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, KEYS);

		if (key < LASTING) {
			(void)stage_get(actor, &scene->stage, key, true, &hit);
		} else {
			read_mortal(actor, key);
		}
	}
}

/* After the last expiry a full round leaves what lasts, and no more. */
static bool
all_dead_go(struct sweep_scene *scene, struct plain_test *test,
    const char *name)
{
	struct pool *pool = &scene->stage.pool;
	struct boot_ms later = { now_of(scene).ms + 2 * SPAN_MS_MAX };
	uint64_t left;

	pool_become_worker(pool, 0);
	for (int round = 0; round < 3; round++) {
		(void)sweep_shard(pool, SHARD, UINT32_MAX / 64, later);
	}
	left = atomic_load(&pool->shards[SHARD].entry_count);
	if (left != LASTING) {
		plain_fail(test, name, "%llu entries are left of %u",
		    (unsigned long long)left, LASTING);
	}
	return left == LASTING;
}

static bool
showed(const void *arg)
{
	const struct sweep_scene *scene = arg;

	return actors_tally(scene->stage.board, SWEPT) != 0 &&
	    actors_tally(scene->stage.board, SEEN_MORTAL) != 0 &&
	    stage_stat(&scene->stage, STAT_expired) != 0;
}

int
main(int argc, char **argv)
{
	static const char name[] = "the_dead_go_and_the_living_stay";
	static struct sweep_scene scene;
	const struct actors_part parts[] = {
		{ play_setter, 1, false, 256, 4000 },
		{ play_sweeper, 2, false, 256, 4000 },
		{ play_reader, 1, true, 48, 40000 },
	};
	struct actors_play play = {
		.scene = &scene, .parts = parts, .part_count = 3,
		.showed = showed,
	};
	struct plain_test test;
	const struct actors_board *board;
	bool played;

	plain_start(&test, argc, argv);
	if (!plain_wants(&test, name)) {
		return plain_end(&test);
	}
	stage_open(&scene.stage, KEYS, SHARD);
	scene.board = actors_share(sizeof(*scene.board));
	atomic_store(&scene.board->now_ms, scene.stage.now.ms);
	board = scene.stage.board;
	play.pool = &scene.stage.pool;
	play.board = scene.stage.board;
	play.seed = test.seed;
	play.run_ms = (uint32_t)plain_amount(&test, 1500, 60000);
	played = actors_run(&play);
	printf("# %llu sweeps that looked, %llu expired, %llu mortal seen, "
	    "%llu extents back, %llu dropped for room\n",
	    (unsigned long long)actors_tally(board, SWEPT),
	    (unsigned long long)stage_stat(&scene.stage, STAT_expired),
	    (unsigned long long)actors_tally(board, SEEN_MORTAL),
	    (unsigned long long)stage_stat(&scene.stage,
	    STAT_extents_reclaimed), (unsigned long long)
	    stage_stat(&scene.stage, STAT_evicted_small));
	if (played && !showed(&scene)) {
		plain_fail(&test, name, "nobody met anybody");
	} else if (!played || all_dead_go(&scene, &test, name)) {
		(void)stage_report(&test, name, &scene.stage, played);
	}
	stage_close(&scene.stage);
	return plain_end(&test);
}
