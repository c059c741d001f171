/* SPDX-License-Identifier: ISC */

/*
 * Purges against sets and gets.  Once a purge has returned, nothing that was
 * set before it began is found any more; what is set after it is found; and
 * there is one moment at which it takes place: who still finds an old entry
 * after a set has ended knows that the purge, when it comes, covers that set.
 */
#include "actors.h"
#include "epoch.h"
#include "stage.h"

#include <stdio.h>
#include <string.h>

#define TAGS		4u
/* Per tag: one that is set only when it is gone, and others. */
#define NEW_KEYS	8u
#define KEYS		(TAGS * (1 + NEW_KEYS))
#define SHARD		0u
#define KEEP_EXTENTS	8u
/* Versions of a key that are remembered. */
#define REMEMBERED	64u
/* Enough purges of other tags fill the rows, which makes one of all. */
#define OTHER_PURGES	512u

/* The purges up to and with this one may have come before that version. */
struct memory {
	_Atomic uint64_t version;
	_Atomic uint64_t purge;
};

struct epoch_board {
	/* by number of the purge; written by the purger */
	_Atomic uint64_t begun[TAGS];
	_Atomic uint64_t ended[TAGS];
	/* all purges, also those that may have become one of all */
	_Atomic uint64_t any_begun;
	_Atomic uint64_t any_ended;
	/* written by the setter */
	struct memory	memory[KEYS][REMEMBERED];
};

struct epoch_scene {
	struct stage	stage;
	struct epoch_board *board;
	uint64_t	tag[TAGS];
};

enum tally {
	PURGES = STAGE_OWN,
	ALIVE_BESIDE,		/* an old entry was found after a set */
};

static uint32_t
new_key(uint32_t tag, uint32_t number)
{
	return TAGS + tag * NEW_KEYS + number;
}

static uint32_t
tag_of(uint32_t key)
{
	return key < TAGS ? key : (key - TAGS) / NEW_KEYS;
}

static void
remember(struct epoch_board *board, uint32_t key, uint64_t version,
    uint64_t purge)
{
	struct memory *memory = &board->memory[key][version % REMEMBERED];

	atomic_store(&memory->version, 0);
	atomic_store(&memory->purge, purge);
	atomic_store(&memory->version, version);
}

/* False: that version is not known (yet). */
static bool
recall(struct epoch_board *board, uint32_t key, uint64_t version,
    uint64_t *purge)
{
	struct memory *memory = &board->memory[key][version % REMEMBERED];

	if (atomic_load(&memory->version) != version) {
		return false;
	}
	*purge = atomic_load(&memory->purge);
	return atomic_load(&memory->version) == version;
}

static uint64_t
version_read(const struct actor *actor)
{
	uint64_t version;

	memcpy(&version, actor->buffer + sizeof(version), sizeof(version));
	return version;
}

/* Gets a key; a hit must not be older than a purge that had ended. */
static bool
get(struct actor *actor, uint32_t key, uint64_t *purge)
{
	struct epoch_scene *scene = actor->scene;
	uint64_t ended = atomic_load(&scene->board->ended[tag_of(key)]);
	struct read_hit hit;

	*purge = UINT64_MAX;
	if (!stage_get(actor, &scene->stage, key, false, &hit)) {
		return false;
	}
	if (recall(scene->board, key, version_read(actor), purge) &&
	    *purge < ended) {
		actor_fail(actor, "key %u of before purge %llu was found "
		    "after purge %llu had ended", key,
		    (unsigned long long)*purge + 1,
		    (unsigned long long)ended);
	}
	return true;
}

/* Sets the next version; *purge is the last that may have come before. */
static uint64_t
set(struct actor *actor, uint32_t key, uint64_t *purge)
{
	struct epoch_scene *scene = actor->scene;
	struct stage_window *window = &scene->stage.windows[key];
	uint64_t version = atomic_load(&window->begun) + 1, id;
	struct entry_spec spec = stage_spec(actor, &scene->stage, key,
	    actor->buffer, stage_value_bytes(1));

	spec.tags = &scene->tag[tag_of(key)];
	spec.tag_count = 1;
	stage_make_value(&scene->stage, actor->buffer, key, version,
	    stage_value_bytes(1), STAGE_PLAIN);
	atomic_store(&window->begun, version);
	if (write_set(&actor->pool, &spec, scene->stage.now, &id) != OK) {
		return 0;
	}
	atomic_store(&window->ended, version);
	*purge = atomic_load(&scene->board->begun[tag_of(key)]);
	return version;
}

static void
set_and_look(struct actor *actor, uint32_t tag)
{
	struct epoch_scene *scene = actor->scene;
	uint32_t key = new_key(tag, prng_below(&actor->prng, NEW_KEYS));
	uint64_t before = atomic_load(&scene->board->any_ended);
	uint64_t gave_up = stage_gave_up(actor);
	uint64_t purge, old_purge, unused;
	uint64_t version = set(actor, key, &purge);

	if (version == 0) {
		return;
	}
	if (get(actor, tag, &old_purge)) {
		/* No later purge of it has taken place so far. */
		actor_count(actor, ALIVE_BESIDE);
		purge = old_purge < purge ? old_purge : purge;
	}
	remember(scene->board, key, version, purge);
	if (!get(actor, key, &unused) && gave_up == stage_gave_up(actor) &&
	    atomic_load(&scene->board->any_begun) == before) {
		actor_fail(actor, "key %u is gone, and nobody purged", key);
	}
}

static void
play_setter(struct actor *actor)
{
	struct epoch_scene *scene = actor->scene;

	while (actor_goes_on(actor)) {
		uint32_t tag = prng_below(&actor->prng, TAGS);
		uint64_t purge;

		set_and_look(actor, tag);
		if (!get(actor, tag, &purge)) {
			uint64_t version = set(actor, tag, &purge);

			if (version != 0) {
				remember(scene->board, tag, version, purge);
			}
		}
		(void)stage_compact(actor, &scene->stage, SHARD,
		    KEEP_EXTENTS);
	}
}

/* Purge of one tag, or of all with tag TAGS. */
static void
purge_tracked(struct actor *actor, uint32_t tag)
{
	struct epoch_scene *scene = actor->scene;
	struct epoch_board *board = scene->board;
	uint32_t first = tag == TAGS ? 0 : tag;
	uint32_t end = tag == TAGS ? TAGS : tag + 1;
	uint64_t number;
	enum result result;

	for (uint32_t t = first; t < end; t++) {
		atomic_fetch_add(&board->begun[t], 1);
	}
	do {
		result = tag == TAGS ?
		    epoch_purge_all(&actor->pool, EPOCH_KIND_HARD, &number) :
		    epoch_purge_tag(&actor->pool, scene->tag[tag],
		    EPOCH_KIND_HARD, &number);
	} while (result == BUSY);
	for (uint32_t t = first; t < end; t++) {
		atomic_fetch_add(&board->ended[t], 1);
	}
	actor_count(actor, PURGES);
}

static void
play_purger(struct actor *actor)
{
	struct epoch_scene *scene = actor->scene;
	uint64_t number;

	while (actor_goes_on(actor)) {
		uint32_t dice = prng_below(&actor->prng, 1024);

		atomic_fetch_add(&scene->board->any_begun, 1);
		if (dice >= 64) {
			purge_tracked(actor, dice % TAGS);
		} else if (dice > 0) {
			for (uint32_t i = 0; i < OTHER_PURGES; i++) {
				(void)epoch_purge_tag(&actor->pool,
				    prng_next(&actor->prng) | 1,
				    EPOCH_KIND_HARD, &number);
			}
		} else {
			purge_tracked(actor, TAGS);
		}
		atomic_fetch_add(&scene->board->any_ended, 1);
		actor_linger(actor, 20000);
	}
}

static void
play_reader(struct actor *actor)
{
	uint64_t purge;

	while (actor_goes_on(actor)) {
		(void)get(actor, prng_below(&actor->prng, KEYS), &purge);
	}
}

static bool
showed(const void *arg)
{
	const struct epoch_scene *scene = arg;

	return actors_tally(scene->stage.board, PURGES) != 0 &&
	    actors_tally(scene->stage.board, ALIVE_BESIDE) != 0;
}

int
main(int argc, char **argv)
{
	static const char name[] = "a_purge_that_returned_covers_all_before_it";
	static struct epoch_scene scene;
	const struct actors_part parts[] = {
		{ play_purger, 1, false, 4, 20000 },
		{ play_setter, 1, false, 64, 8000 },
		{ play_reader, 1, true, 64, 20000 },
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
	for (uint32_t t = 0; t < TAGS; t++) {
		scene.tag[t] = epoch_tag_hash(&scene.stage.pool, &t,
		    sizeof(t));
	}
	board = scene.stage.board;
	play.pool = &scene.stage.pool;
	play.board = scene.stage.board;
	play.seed = test.seed;
	play.run_ms = (uint32_t)plain_amount(&test, 2000, 60000);
	played = actors_run(&play);
	printf("# %llu purges, %llu hits, %llu alive beside a set, "
	    "%llu times the rows were full\n",
	    (unsigned long long)actors_tally(board, PURGES),
	    (unsigned long long)actors_tally(board, STAGE_HITS),
	    (unsigned long long)actors_tally(board, ALIVE_BESIDE),
	    (unsigned long long)stage_stat(&scene.stage,
	    STAT_epoch_rows_full));
	if (played && !showed(&scene)) {
		plain_fail(&test, name, "nobody met anybody");
	} else {
		(void)stage_report(&test, name, &scene.stage, played);
	}
	stage_close(&scene.stage);
	return plain_end(&test);
}
