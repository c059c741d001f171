/* SPDX-License-Identifier: ISC */

/*
 * What hits, hints and flights change, two bits and one of a slot word,
 * against all that writers do: counts are raised by workers who are late, for
 * entries that are gone, flights begin and end, and no value is ever harmed.
 */
#include "access.h"
#include "actors.h"
#include "lease.h"
#include "stage.h"

#include <stdio.h>

/* Moved about within a few extents: none may be missed. */
#define FEW_KEYS	32u
#define SHARD		1u
#define KEEP_EXTENTS	6u
/* More than the pool holds: the policy drops and moves by the counts. */
#define MANY_KEYS	6000u
#define MANY_STEPS	16u

enum tally {
	TOUCHES = STAGE_OWN,
	REFRESHED,
};

static void
play_writer(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		(void)stage_set(actor, stage, prng_below(&actor->prng,
		    FEW_KEYS), stage_value_bytes(prng_below(&actor->prng,
		    STAGE_STEPS_MAX + 1)), STAGE_FORGING);
		(void)stage_compact(actor, stage, SHARD, KEEP_EXTENTS);
	}
}

/* New keys and old ones; what is dropped is the policy's choice. */
static void
play_filler(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, MANY_KEYS);

		(void)stage_set(actor, stage, key, stage_value_bytes(
		    prng_below(&actor->prng, MANY_STEPS)), STAGE_FORGING);
	}
}

static const struct lease_door door;

/* A flight for the entry of a hit, begun and ended.  True if it was led. */
static bool
fly(struct actor *actor, const struct key *key, const struct read_hit *hit)
{
	static const struct flight_ending ending = {
		.outcome = FLIGHT_LOOK_AGAIN,
	};
	const struct stage *stage = actor->scene;
	const struct lease_request request = {
		.caller = { .holder = actor->number + 1 },
		.lease_ms = 1000,
		.seen_version = hit->version,
	};
	enum flight_answer answer;
	struct lease lease;
	enum result result;

	if (lease_begin(&actor->pool, &door, key, &request, stage->now,
	    &answer, &lease) != OK || answer != FLIGHT_LEAD) {
		return false;
	}
	actor_count(actor, REFRESHED);
	actor_linger(actor, 20000);
	do {
		result = lease_end(&actor->pool, &door, key,
		    lease.ticket.token, request.caller.holder, &ending, 0,
		    stage->now);
	} while (result == BUSY);
	if (result != OK) {
		actor_fail(actor, "a flight is lost: %s",
		    result_name(result));
	}
	return true;
}

static void
touch(struct actor *actor, const struct key *key, const struct read_hit *hit)
{
	const struct pool *pool = &actor->pool;

	actor_count(actor, TOUCHES);
	switch (prng_below(&actor->prng, 4)) {
	case 0:
		access_hint(pool, key->hash, hit->extent, hit->offset);
		break;
	case 1:
		/* As an untrusted client would. */
		access_hint(pool, key->hash, (uint32_t)
		    prng_next(&actor->prng), hit->offset);
		break;
	case 2:
		(void)fly(actor, key, hit);
		break;
	default:
		access_touch(pool, hit);
		break;
	}
}

static void
touch_keys(struct actor *actor, uint32_t keys, bool present)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, keys);
		struct read_hit hit;

		/* Some are liked more than others. */
		key = prng_one_in(&actor->prng, 2) ? key : key % (keys / 8);
		if (stage_get(actor, stage, key, present, &hit)) {
			actor_linger(actor, 20000);
			touch(actor, &stage->keys[key], &hit);
		}
	}
}

static void
play_few_toucher(struct actor *actor)
{
	touch_keys(actor, FEW_KEYS, true);
}

static void
play_many_toucher(struct actor *actor)
{
	touch_keys(actor, MANY_KEYS, false);
}

/* Flights of its own keys: while nobody else leads one, the bit goes. */
static void
play_refresher(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, FEW_KEYS / 2) * 2 +
		    actor->number;
		struct read_hit hit;

		if (!stage_get(actor, stage, key, true, &hit)) {
			continue;
		}
		actor_count(actor, TOUCHES);
		if (fly(actor, &stage->keys[key], &hit) &&
		    read_peek(&actor->pool, &stage->keys[key], stage->now,
		    &hit) == OK && (hit.slot_word & SLOT_REFRESH) != 0) {
			actor_fail(actor, "key %u: a flight has ended and its "
			    "bit is there", key);
		}
	}
}

static bool
touches_showed(const void *scene)
{
	const struct stage *stage = scene;

	return actors_tally(stage->board, TOUCHES) != 0 &&
	    actors_tally(stage->board, REFRESHED) != 0;
}

static bool
moves_showed(const void *scene)
{
	return touches_showed(scene) &&
	    stage_stat(scene, STAT_moved_to_main) +
	    stage_stat(scene, STAT_moved_again) != 0;
}

static void
run(struct plain_test *test, const char *name, uint32_t keys, uint32_t shard,
    actor_fn *writer, actor_fn *toucher)
{
	static struct stage stage;
	const struct actors_part parts[] = {
		{ writer, 1, false, 256, 8000 },
		{ toucher, 2, false, 128, 20000 },
	};
	struct actors_play play = {
		.scene = &stage, .parts = parts, .part_count = 2,
		.seed = test->seed,
		.run_ms = (uint32_t)plain_amount(test, 1500, 60000),
		.showed = shard == UINT32_MAX ? moves_showed : touches_showed,
	};
	bool played;

	if (!plain_wants(test, name)) {
		return;
	}
	stage_open(&stage, keys, shard);
	play.pool = &stage.pool;
	play.board = stage.board;
	played = actors_run(&play);
	printf("# %llu touches, %llu refresh bits, %llu moved by count, "
	    "%llu given up\n",
	    (unsigned long long)actors_tally(stage.board, TOUCHES),
	    (unsigned long long)actors_tally(stage.board, REFRESHED),
	    (unsigned long long)(stage_stat(&stage, STAT_moved_to_main) +
	    stage_stat(&stage, STAT_moved_again)),
	    (unsigned long long)actors_tally(stage.board, STAGE_LOST));
	if (played && !play.showed(&stage)) {
		plain_fail(test, name, "nothing was touched, or moved for it");
	} else {
		(void)stage_report(test, name, &stage, played);
	}
	stage_close(&stage);
}

int
main(int argc, char **argv)
{
	struct plain_test test;

	plain_start(&test, argc, argv);
	run(&test, "a_late_touch_harms_no_value", FEW_KEYS, SHARD,
	    play_writer, play_few_toucher);
	run(&test, "a_refresh_that_ended_leaves_no_bit", FEW_KEYS, SHARD,
	    play_writer, play_refresher);
	run(&test, "touches_and_evictions_get_along", MANY_KEYS, UINT32_MAX,
	    play_filler, play_many_toucher);
	return plain_end(&test);
}
