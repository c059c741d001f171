/* SPDX-License-Identifier: ISC */

/*
 * A walk over all keys while the index grows, lines come and go, and extents
 * are reused: whatever was stored before a walk began and stays is met by it.
 */
#include "actors.h"
#include "scan.h"
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS		4000u
#define SHARDS_HERE	4u
/* Of each shard: all keys with small values lie in fewer. */
#define KEEP_EXTENTS	24u
#define ITEMS_PER_CALL	64u

enum tally {
	WALKS = STAGE_OWN,
};

struct walk {
	struct actor	*actor;
	bool		met[KEYS];
	bool		wanted[KEYS];
};

static void
play_grower(struct actor *actor)
{
	struct stage *stage = actor->scene;
	uint32_t there = 0;

	while (actor_goes_on(actor)) {
		uint32_t key = there < KEYS ? there++ :
		    prng_below(&actor->prng, KEYS);

		while (!stage_set(actor, stage, key, stage_value_bytes(0),
		    STAGE_PLAIN) && actor_goes_on(actor)) {
			continue;
		}
		(void)stage_set(actor, stage, prng_below(&actor->prng, there),
		    stage_value_bytes(prng_below(&actor->prng, 2)),
		    STAGE_PLAIN);
		(void)stage_compact(actor, stage,
		    prng_below(&actor->prng, SHARDS_HERE), KEEP_EXTENTS);
	}
}

static bool
meet(const struct scan_item *item, void *argument)
{
	struct walk *walk = argument;
	struct actor *actor = walk->actor;
	char text[STAGE_KEY_BYTES + 1] = "";
	unsigned long number;

	if (item->head.key_bytes == STAGE_KEY_BYTES) {
		memcpy(text, item->key, STAGE_KEY_BYTES);
	}
	number = strncmp(text, "race-", 5) == 0 ?
	    strtoul(text + 5, NULL, 10) : KEYS;
	if (number >= KEYS || item->head.hash != hash_bytes(
	    &actor->pool.hash_key, text, STAGE_KEY_BYTES)) {
		actor_fail(actor, "met %s, which nobody stored", text);
		return false;
	}
	walk->met[number] = true;
	if (prng_one_in(&actor->prng, 64)) {
		actor_linger(actor, 20000);
	}
	return true;
}

static void
play_walker(struct actor *actor)
{
	static _Thread_local struct walk walk;
	struct stage *stage = actor->scene;

	walk.actor = actor;
	while (actor_goes_on(actor)) {
		uint64_t cursor = 0;

		for (uint32_t k = 0; k < KEYS; k++) {
			walk.met[k] = false;
			walk.wanted[k] =
			    atomic_load(&stage->windows[k].ended) != 0;
		}
		do {
			cursor = scan_next(&actor->pool, cursor,
			    ITEMS_PER_CALL, stage->now, meet, &walk);
		} while (cursor != 0 && actor_goes_on(actor));
		for (uint32_t k = 0; cursor == 0 && k < KEYS; k++) {
			if (walk.wanted[k] && !walk.met[k]) {
				actor_fail(actor, "key %u was not met", k);
			}
		}
		actor_count(actor, WALKS);
	}
}

/* The index grows only once in the life of a pool. */
static bool
run_round(struct plain_test *test, const char *name, uint64_t round,
    uint64_t *walks)
{
	static struct stage stage;
	const struct actors_part parts[] = {
		{ play_grower, 1, false, 64, 8000 },
		{ play_walker, 2, true, 0, 0 },
	};
	struct actors_play play = {
		.scene = &stage, .parts = parts, .part_count = 2,
		.seed = test->seed + round, .run_ms = 400,
	};
	bool played;

	stage_open(&stage, KEYS, UINT32_MAX);
	play.pool = &stage.pool;
	play.board = stage.board;
	played = actors_run(&play);
	*walks += actors_tally(stage.board, WALKS);
	if (played && stage_stat(&stage, STAT_evicted_small) != 0) {
		plain_fail(test, name, "the stage is too small: evictions");
		played = false;
	} else if (!played) {
		(void)stage_report(test, name, &stage, false);
	}
	stage_close(&stage);
	return played;
}

int
main(int argc, char **argv)
{
	static const char name[] = "a_walk_meets_all_that_stays";
	struct plain_test test;
	uint64_t rounds, walks = 0;

	plain_start(&test, argc, argv);
	if (!plain_wants(&test, name)) {
		return plain_end(&test);
	}
	rounds = plain_amount(&test, 4, 150);
	for (uint64_t i = 0; i < rounds; i++) {
		if (!run_round(&test, name, i, &walks)) {
			return plain_end(&test);
		}
	}
	printf("# %llu walks\n", (unsigned long long)walks);
	(void)plain_check(&test, name, walks >= rounds,
	    "%llu walks in %llu rounds", (unsigned long long)walks,
	    (unsigned long long)rounds);
	return plain_end(&test);
}
