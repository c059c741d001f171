/* SPDX-License-Identifier: ISC */

/*
 * Chained values: replaced while readers copy them part by part, and read
 * while they grow.  Extents of a dropped chain are parts of the next one at
 * once; what a reader returns is of one value all the same.
 */
#include "actors.h"
#include "chain_write.h"
#include "geometry.h"
#include "racy_copy.h"
#include "stage.h"

#include <stdio.h>
#include <string.h>

/* Keys 0 .. WHOLE - 1 are replaced as a whole, the others grow. */
#define WHOLE		4u
#define GROWING_KEYS	2u
#define SHARD		3u
#define GIVE_UP_ONE_IN	8u

enum tally {
	GREW = STAGE_OWN,	/* reads of a growing value */
	VIEWS,
	ENDED,			/* grown to the end */
};

/* A length above what lies inside an extent, a multiple of 8. */
static uint32_t
choose_bytes(struct actor *actor)
{
	uint32_t least = geometry_inline_max_bytes(&actor->pool.g) + 8;
	uint64_t most = geometry_value_max_bytes(&actor->pool.g);

	return least + (prng_below(&actor->prng, (uint32_t)most - least) &
	    ~7u);
}

static void
play_replacer(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		(void)stage_set(actor, stage, prng_below(&actor->prng, WHOLE),
		    choose_bytes(actor), STAGE_PLAIN);
	}
}

/* One key, so that its extents are its own next value's at once. */
static void
play_overwriter(struct actor *actor)
{
	while (actor_goes_on(actor)) {
		/* Two parts, so that it is soon gone again. */
		(void)stage_set(actor, actor->scene, 0, 24000, STAGE_PLAIN);
	}
}

static enum result
append_pieces(struct actor *actor, struct stage *stage,
    struct chain_writer *writer, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes;) {
		uint32_t piece = (1 + prng_below(&actor->prng, 2000)) * 8;
		enum result result;

		piece = piece < bytes - at ? piece : bytes - at;
		result = chain_append(&actor->pool, writer,
		    actor->buffer + at, piece, stage->now);
		if (result == BUSY) {
			continue;
		}
		if (result != OK) {
			return result;
		}
		at += piece;
		actor_linger(actor, 4000);
	}
	return OK;
}

/* A key whose value is dropped in the middle counts as deleted. */
static void
drop(struct actor *actor, struct chain_writer *writer,
    struct stage_window *window, uint64_t version)
{
	atomic_store(&window->begun, version + 1);
	chain_abort(&actor->pool, writer);
	atomic_store(&window->ended, version + 1);
}

static void
grow(struct actor *actor, struct stage *stage, uint32_t key)
{
	struct stage_window *window = &stage->windows[key];
	uint64_t version = atomic_load(&window->begun) + 1, id;
	uint32_t bytes = choose_bytes(actor);
	struct entry_spec spec = stage_spec(actor, stage, key, NULL, 0);
	struct chain_writer writer;
	enum result result;

	stage_make_value(stage, actor->buffer, key, version, bytes,
	    STAGE_PLAIN);
	atomic_store(&window->begun, version);
	result = chain_begin(&actor->pool, &spec, true, stage->now, &writer);
	if (result == BUSY) {
		return;
	}
	if (result == OK) {
		result = append_pieces(actor, stage, &writer, bytes);
	}
	if (result == OK && !prng_one_in(&actor->prng, GIVE_UP_ONE_IN)) {
		do {
			result = chain_finish(&actor->pool, &writer,
			    stage->now, &id);
		} while (result == BUSY);
		atomic_store(&window->ended, version);
		actor_count(actor, ENDED);
	} else if (result == OK) {
		drop(actor, &writer, window, version);
	}
	if (result != OK) {
		actor_fail(actor, "growing key %u says %d", key, result);
	}
}

static void
play_grower(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		grow(actor, stage, WHOLE + prng_below(&actor->prng,
		    GROWING_KEYS));
	}
}

/* Follows a value that grows, as far as it has come. */
static void
follow(struct actor *actor, const struct read_hit *hit, uint32_t key,
    uint64_t low)
{
	uint64_t at = 0;

	for (int i = 0; i < 4; i++) {
		size_t copied;
		enum result result = read_chain(&actor->pool, hit, at,
		    actor->buffer + at, sizeof(actor->buffer) - at, &copied);

		if (result != OK) {
			break;	/* dropped, or replaced */
		}
		at += copied;
		actor_linger(actor, 4000);
	}
	if (at >= 16) {
		stage_judge_hit(actor, actor->scene, key, at, false, low);
		actor_count(actor, GREW);
	}
}

/* The same by views: what is valid afterwards was whole. */
static void
look(struct actor *actor, uint32_t key)
{
	struct stage *stage = actor->scene;
	uint64_t low = atomic_load(&stage->windows[key].ended);
	uint64_t gave_up = stage_gave_up(actor);
	struct read_view view;
	struct read_hit hit;
	uint64_t at = 0;
	enum result result = read_view(&actor->pool, &stage->keys[key],
	    stage->now, 0, &view, &hit);

	if (result == MISS) {
		stage_judge_miss(actor, key, key < WHOLE, low, gave_up);
		return;
	}
	for (unsigned i = 0; i < view.part_count; i++) {
		racy_copy(actor->buffer + at, view.part[i].iov_base,
		    view.part[i].iov_len);
		at += view.part[i].iov_len;
		actor_linger(actor, 4000);
	}
	if (at >= 16 && read_view_valid(&actor->pool, &view)) {
		stage_judge_hit(actor, stage, key, at, result == OK &&
		    view.bytes == hit.value_bytes, low);
		actor_count(actor, VIEWS);
	}
}

static void
play_reader(struct actor *actor)
{
	struct stage *stage = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t key = prng_below(&actor->prng, WHOLE + GROWING_KEYS);
		uint64_t low = atomic_load(&stage->windows[key].ended);
		uint64_t gave_up = stage_gave_up(actor);
		struct read_hit hit;
		enum result result;

		if (prng_one_in(&actor->prng, 3)) {
			look(actor, key);
			continue;
		}
		result = read_copy(&actor->pool, &stage->keys[key],
		    stage->now, actor->buffer, sizeof(actor->buffer), &hit);
		if (result == OK) {
			stage_judge_hit(actor, stage, key, hit.value_bytes,
			    true, low);
		} else if (result == GROWING) {
			follow(actor, &hit, key, low);
		} else if (result == MISS) {
			stage_judge_miss(actor, key, key < WHOLE, low,
			    gave_up);
		} else {
			actor_fail(actor, "key %u: a get says %d", key,
			    result);
		}
	}
}

static void
play_overtaken(struct actor *actor)
{
	struct read_hit hit;

	while (actor_goes_on(actor)) {
		(void)stage_get(actor, actor->scene, 0, true, &hit);
	}
}

static void
print_counts(const struct stage *stage)
{
	const struct actors_board *board = stage->board;

	printf("# %llu hits, %llu of them growing, %llu views, %llu grown, "
	    "%llu given up, %llu chains\n",
	    (unsigned long long)actors_tally(board, STAGE_HITS),
	    (unsigned long long)actors_tally(board, GREW),
	    (unsigned long long)actors_tally(board, VIEWS),
	    (unsigned long long)actors_tally(board, ENDED),
	    (unsigned long long)actors_tally(board, STAGE_LOST),
	    (unsigned long long)stage_stat(stage, STAT_chains_written));
}

static bool
hits_showed(const void *scene)
{
	const struct stage *stage = scene;

	return actors_tally(stage->board, STAGE_HITS) != 0;
}

static bool
growth_showed(const void *scene)
{
	const struct stage *stage = scene;

	return hits_showed(scene) && actors_tally(stage->board, GREW) != 0 &&
	    actors_tally(stage->board, VIEWS) != 0 &&
	    actors_tally(stage->board, ENDED) != 0;
}

static void
run(struct plain_test *test, const char *name,
    const struct actors_part *parts, uint32_t part_count, bool grows)
{
	static struct stage stage;
	struct actors_play play = {
		.scene = &stage, .parts = parts, .part_count = part_count,
		.seed = test->seed,
		.run_ms = (uint32_t)plain_amount(test, 2000, 60000),
		.showed = grows ? growth_showed : hits_showed,
	};
	bool played;

	if (!plain_wants(test, name)) {
		return;
	}
	stage_open(&stage, WHOLE + GROWING_KEYS, SHARD);
	play.pool = &stage.pool;
	play.board = stage.board;
	played = actors_run(&play);
	print_counts(&stage);
	if (played && !play.showed(&stage)) {
		plain_fail(test, name, "nobody met anybody");
	} else {
		(void)stage_report(test, name, &stage, played);
	}
	stage_close(&stage);
}

int
main(int argc, char **argv)
{
	const struct actors_part whole_and_growing[] = {
		{ play_replacer, 1, false, 16, 20000 },
		{ play_grower, 1, false, 64, 4000 },
		{ play_reader, 2, true, 16, 100000 },
	};
	/* Everybody lingers nearly everywhere. */
	const struct actors_part slow[] = {
		{ play_overwriter, 1, false, 2, 4000 },
		{ play_overtaken, 2, true, 2, 20000 },
	};
	struct plain_test test;

	plain_start(&test, argc, argv);
	run(&test, "parts_of_two_chains_never_mix", whole_and_growing, 3,
	    true);
	run(&test, "a_part_is_open_only_with_its_id", slow, 2, false);
	return plain_end(&test);
}
