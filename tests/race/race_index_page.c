/* SPDX-License-Identifier: ISC */

/*
 * An extent that became a page of the index stays one: a reader that stands in
 * an overflow line, and is slow, must find slots there and nothing that a
 * client wrote.  Here values are slot words throughout, and lead to a forged
 * entry of a key that was never stored; the page's extent would be the next
 * one to be filled with them.  No get of that key may hit.
 */
#include "actors.h"
#include "extent.h"
#include "shard.h"
#include "stage.h"

#include <stdio.h>
#include <string.h>

#define SHARD		0u
#define BUCKET		5u
#define TAG		0x7777u
/* One more than a line of slots. */
#define FILLERS		9u
#define KEEP_EXTENTS	6u
#define VAULT		0u
#define PAINT		1u
/* Of an entry of 4 KiB whose value begins where line 1 of a page lies. */
#define PAINT_BYTES	4032u
#define PAINT_ENTRY	4096u

enum tally {
	CYCLES = STAGE_OWN,
};

struct page_scene {
	struct stage	stage;
	struct key	filler[FILLERS];
	char		filler_bytes[FILLERS][STAGE_KEY_BYTES];
	struct key	victim;
	char		victim_bytes[STAGE_KEY_BYTES];
	/* the value that holds the forged entry, at its byte 64 */
	_Alignas(8) uint8_t vault[64 + STAGE_STEP_BYTES];
};

/* All in one bucket, all with one tag. */
static uint64_t
hash_of(uint32_t number)
{
	return (uint64_t)TAG << SLOT_TAG_SHIFT | (uint64_t)SHARD << 40 |
	    (uint64_t)(number + 1) << 16 | BUCKET;
}

static void
make_key(struct key *key, char *bytes, const char *name, uint32_t number)
{
	char text[STAGE_KEY_BYTES + 1];

	(void)snprintf(text, sizeof(text), "%s-%09u", name, number);
	memcpy(bytes, text, STAGE_KEY_BYTES);
	*key = (struct key){
		.bytes = bytes,
		.length = STAGE_KEY_BYTES,
		.hash = hash_of(number),
	};
}

static void
open_scene(struct page_scene *scene)
{
	struct entry_head head = {
		.value_bytes = 64,
		.sequence = STAGE_FORGED,
		.epoch = (UINT64_C(1) << ENTRY_EPOCH_BITS) - 1,
		.soft = EXPIRY_NEVER,
		.hard = EXPIRY_NEVER,
		.key_bytes = STAGE_KEY_BYTES,
	};
	uint8_t value[64] = "forged";

	stage_open(&scene->stage, 2, SHARD);
	for (uint32_t i = 0; i < FILLERS; i++) {
		make_key(&scene->filler[i], scene->filler_bytes[i], "filler",
		    i);
	}
	make_key(&scene->victim, scene->victim_bytes, "victim", FILLERS);
	head.hash = scene->victim.hash;
	head.created_ms = scene->stage.now.ms;
	entry_write((struct entry *)(void *)(scene->vault + 64), &head, NULL,
	    scene->victim.bytes, value);
}

static void
set_bytes(struct actor *actor, const struct key *key, const void *value,
    uint32_t bytes)
{
	struct page_scene *scene = actor->scene;
	struct entry_spec spec = stage_spec(actor, &scene->stage, 0, value,
	    bytes);
	enum result result;
	uint64_t version;

	spec.key = key;
	do {
		result = write_set(&actor->pool, &spec, scene->stage.now,
		    &version);
	} while (result == BUSY && actor_goes_on(actor));
	if (result != OK && result != BUSY) {
		actor_fail(actor, "a set says %d", result);
	}
}

/* The word that leads to the forged entry where it lies now. */
static uint64_t
forged_slot(struct actor *actor)
{
	struct page_scene *scene = actor->scene;
	struct read_hit hit;

	if (read_peek(&actor->pool, &scene->stage.keys[VAULT],
	    scene->stage.now, &hit) != OK) {
		actor_fail(actor, "the vault is gone");
		return 0;
	}
	return slot_make(scene->victim.hash, 0, hit.extent, hit.offset +
	    entry_value_at(&hit.head) + 64);
}

static void
paint(struct actor *actor, uint64_t word)
{
	struct page_scene *scene = actor->scene;

	for (uint32_t at = 0; at < PAINT_BYTES; at += sizeof(word)) {
		memcpy(actor->buffer + at, &word, sizeof(word));
	}
	set_bytes(actor, &scene->stage.keys[PAINT], actor->buffer,
	    PAINT_BYTES);
}

/* The next paint begins a new extent: the one that was freed last. */
static void
fill_open_extent(struct actor *actor, uint64_t word)
{
	const struct pool *pool = &actor->pool;
	const struct shard_private *sp = &pool->shards_private[SHARD];

	/* No lock: this is the only writer. */
	while (actor_goes_on(actor) && sp->open_small != 0 &&
	    extent_committed(pool, sp->open_small) + PAINT_ENTRY <=
	    pool_extent_bytes(pool)) {
		paint(actor, word);
	}
}

static void
play_painter(struct actor *actor)
{
	struct page_scene *scene = actor->scene;
	const uint8_t small[64] = "filler";
	uint64_t word;

	set_bytes(actor, &scene->stage.keys[VAULT], scene->vault,
	    sizeof(scene->vault));
	for (uint32_t i = 0; i + 1 < FILLERS; i++) {
		set_bytes(actor, &scene->filler[i], small, sizeof(small));
	}
	while (actor_goes_on(actor)) {
		(void)stage_compact(actor, &scene->stage, SHARD, KEEP_EXTENTS);
		word = forged_slot(actor);
		/* The ninth links a line ... */
		set_bytes(actor, &scene->filler[FILLERS - 1], small,
		    sizeof(small));
		fill_open_extent(actor, word);
		actor_linger(actor, 20000);
		/* ... which these take away again. */
		(void)write_delete(&actor->pool, &scene->filler[FILLERS - 1],
		    0, scene->stage.now);
		(void)write_delete(&actor->pool, &scene->filler[0], 0,
		    scene->stage.now);
		paint(actor, word);
		actor_linger(actor, 20000);
		set_bytes(actor, &scene->filler[0], small, sizeof(small));
		actor_count(actor, CYCLES);
	}
}

static void
play_seeker(struct actor *actor)
{
	struct page_scene *scene = actor->scene;
	struct read_hit hit;

	while (actor_goes_on(actor)) {
		enum result result = read_copy(&actor->pool, &scene->victim,
		    scene->stage.now, actor->buffer, sizeof(actor->buffer),
		    &hit);

		actor_count(actor, STAGE_MISSES);
		if (result != MISS) {
			actor_fail(actor, "a key that was never stored was "
			    "found: %d, extent %u", result, hit.extent);
		}
	}
}

int
main(int argc, char **argv)
{
	static const char name[] = "a_line_of_the_index_never_holds_a_value";
	static struct page_scene scene;
	const struct actors_part parts[] = {
		{ play_painter, 1, false, 0, 0 },
		{ play_seeker, 2, true, 32, 60000 },
	};
	struct actors_play play = {
		.scene = &scene, .parts = parts, .part_count = 2,
	};
	struct plain_test test;
	uint64_t cycles, lines;
	bool played;

	plain_start(&test, argc, argv);
	if (!plain_wants(&test, name)) {
		return plain_end(&test);
	}
	open_scene(&scene);
	play.pool = &scene.stage.pool;
	play.board = scene.stage.board;
	play.seed = test.seed;
	play.run_ms = (uint32_t)plain_amount(&test, 2000, 60000);
	played = actors_run(&play);
	cycles = actors_tally(scene.stage.board, CYCLES);
	lines = stage_stat(&scene.stage, STAT_index_overflow_lines);
	printf("# %llu cycles, %llu lines, %llu gets\n",
	    (unsigned long long)cycles, (unsigned long long)lines,
	    (unsigned long long)actors_tally(scene.stage.board,
	    STAGE_MISSES));
	if (played && (cycles == 0 || lines < cycles)) {
		plain_fail(&test, name, "%llu lines in %llu cycles",
		    (unsigned long long)lines, (unsigned long long)cycles);
	} else {
		(void)stage_report(&test, name, &scene.stage, played);
	}
	stage_close(&scene.stage);
	return plain_end(&test);
}
