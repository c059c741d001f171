/* SPDX-License-Identifier: ISC */

/*
 * What a worker has pinned does not change, however fast extents are reused:
 * workers pin what they found, take their time, and look at it again.
 */
#include "actors.h"
#include "pin.h"
#include "stage.h"

#include <stdio.h>
#include <string.h>

#define KEYS		24u
#define SHARD		2u
#define KEEP_EXTENTS	6u

enum tally {
	PINS = STAGE_OWN,
	REFUSED,
};

static void
play_writer(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		(void)stage_set(actor, stage, prng_below(&actor->prng, KEYS),
		    stage_value_bytes(prng_below(&actor->prng,
		    STAGE_STEPS_MAX + 1)), STAGE_FORGING);
		(void)stage_compact(actor, stage, SHARD, KEEP_EXTENTS);
	}
}

/* The value behind the view is whole now and stays what it is. */
static void
check_pinned(struct actor *actor, const struct read_view *view, uint32_t key)
{
	struct stage *stage = actor->scene;
	uint64_t version;
	const char *wrong;

	memcpy(actor->buffer, view->part[0].iov_base, view->part[0].iov_len);
	wrong = stage_judge_value(stage, actor->buffer, view->bytes, true,
	    key, &version);
	actor_linger(actor, 60000);
	if (wrong != NULL) {
		actor_fail(actor, "key %u: a pinned value is %s", key, wrong);
	} else if (memcmp(actor->buffer, view->part[0].iov_base,
	    view->part[0].iov_len) != 0) {
		actor_fail(actor, "key %u: a pinned value changed", key);
	} else if (version > atomic_load(&stage->windows[key].begun)) {
		actor_fail(actor, "key %u: a version nobody stored", key);
	}
}

static void
play_pinner(struct actor *actor)
{
	struct stage *stage = actor->scene;
	struct read_view view;
	struct read_hit hit;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, KEYS);
		enum result result = read_view(&actor->pool,
		    &stage->keys[key], stage->now, 0, &view, &hit);

		if (result == MISS) {
			continue;
		}
		if (result != OK || view.part_count != 1) {
			actor_fail(actor, "key %u: a view says %d", key,
			    result);
			return;
		}
		actor_linger(actor, 10000);
		if (!pin_acquire(&actor->pool, view.extent[0],
		    view.generation[0])) {
			actor_count(actor, REFUSED);
			continue;
		}
		check_pinned(actor, &view, key);
		pin_release(&actor->pool, view.extent[0]);
		actor_count(actor, PINS);
	}
}

int
main(int argc, char **argv)
{
	static const char name[] = "pinned_bytes_do_not_change";
	static struct stage stage;
	const struct actors_part parts[] = {
		{ play_writer, 1, false, 16, 10000 },
		{ play_pinner, 2, false, 64, 20000 },
	};
	struct actors_play play = {
		.scene = &stage, .parts = parts, .part_count = 2,
	};
	struct plain_test test;
	uint64_t pins, refused, limbo;
	bool played;

	plain_start(&test, argc, argv);
	if (!plain_wants(&test, name)) {
		return plain_end(&test);
	}
	stage_open(&stage, KEYS, SHARD);
	play.pool = &stage.pool;
	play.board = stage.board;
	play.seed = test.seed;
	play.run_ms = (uint32_t)plain_amount(&test, 2000, 60000);
	played = actors_run(&play);
	pins = actors_tally(stage.board, PINS);
	refused = actors_tally(stage.board, REFUSED);
	limbo = stage_stat(&stage, STAT_extents_limbo);
	printf("# %llu pins, %llu refused, %llu extents waited, "
	    "%llu reclaimed\n", (unsigned long long)pins,
	    (unsigned long long)refused, (unsigned long long)limbo,
	    (unsigned long long)stage_stat(&stage, STAT_extents_reclaimed));
	if (played && (pins == 0 || refused == 0 || limbo == 0)) {
		plain_fail(&test, name, "%llu pins, %llu refused, %llu in "
		    "limbo: nobody met anybody", (unsigned long long)pins,
		    (unsigned long long)refused, (unsigned long long)limbo);
	} else {
		(void)stage_report(&test, name, &stage, played);
	}
	stage_close(&stage);
	return plain_end(&test);
}
