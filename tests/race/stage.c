/* SPDX-License-Identifier: ISC */

/*
 * Pool, keys, values and windows of a race.
 */
#include "stage.h"

#include "extent.h"
#include "reclaim.h"
#include "shard.h"
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POOL_BYTES	(4u << 20)
#define EXTENT_BYTES	(16u << 10)
#define KEY_MASK	0xffffffu
#define KIND_SHIFT	24
#define LENGTH_SHIFT	32
/* Of a value before its forged entries. */
#define OWN_BYTES	64u
/* What lives may need more extents than the caller wants to keep. */
#define COMPACT_PASSES	4u

static void
die(const char *what)
{
	fprintf(stderr, "the stage of a race: %s\n", what);
	exit(1);
}

static uint64_t
mix(uint64_t first, uint64_t version, uint64_t i)
{
	uint64_t z = first + version * UINT64_C(0x9e3779b97f4a7c15) +
	    i * UINT64_C(0xbf58476d1ce4e5b9);

	z = (z ^ (z >> 30)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 29);
}

static void
fill_own(uint8_t *value, uint32_t key, uint64_t version, uint32_t bytes,
    enum stage_kind kind, uint32_t end)
{
	uint64_t word = (uint64_t)bytes << LENGTH_SHIFT |
	    (uint64_t)kind << KIND_SHIFT | key;
	uint64_t first = word;

	for (uint32_t at = 0; at + sizeof(word) <= end; at += 8) {
		if (at == 8) {
			word = version;
		} else if (at > 8) {
			word = mix(first, version, at / 8);
		}
		memcpy(value + at, &word, sizeof(word));
	}
}

static const uint8_t *
forged_at(const struct stage *stage, uint64_t version, uint64_t step)
{
	return stage->forged[(step + version) % STAGE_VICTIMS];
}

void
stage_make_value(const struct stage *stage, uint8_t *value, uint32_t key,
    uint64_t version, uint32_t bytes, enum stage_kind kind)
{
	if (kind == STAGE_PLAIN) {
		fill_own(value, key, version, bytes, kind, bytes);
		return;
	}
	fill_own(value, key, version, bytes, kind, OWN_BYTES);
	for (uint32_t step = 0; OWN_BYTES + (step + 1) * STAGE_STEP_BYTES <=
	    bytes; step++) {
		memcpy(value + OWN_BYTES + step * STAGE_STEP_BYTES,
		    forged_at(stage, version, step), STAGE_STEP_BYTES);
	}
}

const char *
stage_judge_value(const struct stage *stage, const uint8_t *value,
    uint64_t bytes, bool whole, uint32_t key, uint64_t *version)
{
	uint64_t first, word, plain;

	if (bytes < 2 * sizeof(word)) {
		return whole ? "too short" : NULL;
	}
	memcpy(&first, value, sizeof(first));
	memcpy(version, value + sizeof(first), sizeof(*version));
	if ((first & KEY_MASK) != key) {
		return "of another key";
	}
	if (whole ? first >> LENGTH_SHIFT != bytes :
	    first >> LENGTH_SHIFT < bytes) {
		return "of another length";
	}
	plain = (first >> KIND_SHIFT & 1) == STAGE_PLAIN ? bytes : OWN_BYTES;
	for (uint64_t at = 2 * sizeof(word); at + sizeof(word) <= plain;
	    at += sizeof(word)) {
		memcpy(&word, value + at, sizeof(word));
		if (word != mix(first, *version, at / 8)) {
			return "torn";
		}
	}
	for (uint64_t step = 0; plain != bytes &&
	    OWN_BYTES + (step + 1) * STAGE_STEP_BYTES <= bytes; step++) {
		if (memcmp(value + OWN_BYTES + step * STAGE_STEP_BYTES,
		    forged_at(stage, *version, step), STAGE_STEP_BYTES) !=
		    0) {
			return "torn among its forged entries";
		}
	}
	return NULL;
}

/* An entry as a client would forge it: alive for ever, right but its age. */
static void
forge_entry(struct stage *stage, uint32_t victim)
{
	uint8_t value[OWN_BYTES];
	struct entry_head head = {
		.value_bytes = sizeof(value),
		.hash = stage->keys[victim].hash,
		.sequence = STAGE_FORGED,
		.created_ms = stage->now.ms,
		.epoch = (UINT64_C(1) << ENTRY_EPOCH_BITS) - 1,
		.soft = EXPIRY_NEVER,
		.hard = EXPIRY_NEVER,
		.key_bytes = STAGE_KEY_BYTES,
	};
	_Alignas(8) uint8_t entry[STAGE_STEP_BYTES];

	fill_own(value, victim, STAGE_FORGED, sizeof(value), STAGE_PLAIN,
	    sizeof(value));
	if (entry_bytes(&head) != sizeof(entry)) {
		die("an entry is not a step long");
	}
	entry_write((struct entry *)(void *)entry, &head, NULL,
	    stage->keys[victim].bytes, value);
	memcpy(stage->forged[victim], entry, sizeof(entry));
}

static void
make_keys(struct stage *stage, uint32_t shard)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < stage->key_count; number++) {
		char text[STAGE_KEY_BYTES + 1];

		(void)snprintf(text, sizeof(text), "race-%011u", number);
		memcpy(stage->key_bytes[i], text, STAGE_KEY_BYTES);
		if (key_init(&stage->keys[i], &stage->pool,
		    stage->key_bytes[i], STAGE_KEY_BYTES) != OK) {
			die("no key");
		}
		i += shard == UINT32_MAX || pool_shard_of(&stage->pool,
		    stage->keys[i].hash) == shard;
	}
}

void
stage_open(struct stage *stage, uint32_t key_count, uint32_t shard)
{
	struct pool_params params = {
		.name = "race",
		.pool_bytes = POOL_BYTES,
		.extent_bytes = EXTENT_BYTES,
		.worker_count = ACTORS_MAX,
		.hash_key = { { 7 } },
		.now = { 1000 },
	};

	memset(stage, 0, sizeof(*stage));
	if (key_count > STAGE_KEYS_MAX ||
	    pool_create(&stage->pool, &params) != OK) {
		die("no pool");
	}
	stage->now.ms = 2000;
	stage->board = actors_share(sizeof(*stage->board));
	stage->windows = actors_share(sizeof(*stage->windows) * key_count);
	stage->key_count = key_count;
	stage->keys = calloc(key_count, sizeof(*stage->keys));
	stage->key_bytes = calloc(key_count, sizeof(*stage->key_bytes));
	if (stage->keys == NULL || stage->key_bytes == NULL) {
		die("no memory");
	}
	make_keys(stage, shard);
	for (uint32_t i = 0; i < STAGE_VICTIMS && i < key_count; i++) {
		forge_entry(stage, i);
	}
}

void
stage_close(struct stage *stage)
{
	pool_destroy(&stage->pool);
	munmap(stage->board, sizeof(*stage->board));
	munmap(stage->windows, sizeof(*stage->windows) * stage->key_count);
	free(stage->keys);
	free(stage->key_bytes);
}

struct entry_spec
stage_spec(const struct actor *actor, const struct stage *stage, uint32_t key,
    const void *value, uint64_t bytes)
{
	return (struct entry_spec){
		.key = &stage->keys[key],
		.value = value,
		.value_bytes = bytes,
		.soft_ms = UINT64_MAX,
		.hard_ms = UINT64_MAX,
		.epoch = epoch_now(&actor->pool),
	};
}

bool
stage_set(struct actor *actor, struct stage *stage, uint32_t key,
    uint32_t bytes, enum stage_kind kind)
{
	struct stage_window *window = &stage->windows[key];
	uint64_t version = atomic_load(&window->begun) + 1, id;
	struct entry_spec spec = stage_spec(actor, stage, key, actor->buffer,
	    bytes);
	enum result result;

	stage_make_value(stage, actor->buffer, key, version, bytes, kind);
	atomic_store(&window->begun, version);
	result = write_set(&actor->pool, &spec, stage->now, &id);
	if (result == OK) {
		atomic_store(&window->ended, version);
	} else if (result != BUSY && result != FULL) {
		actor_fail(actor, "a set of %u bytes says %d", bytes, result);
	}
	return result == OK;
}

void
stage_delete(struct actor *actor, struct stage *stage, uint32_t key)
{
	struct stage_window *window = &stage->windows[key];
	uint64_t version = atomic_load(&window->begun) + 1;
	enum result result;

	atomic_store(&window->begun, version);
	result = write_delete(&actor->pool, &stage->keys[key], 0, stage->now);
	if (result == OK || result == MISS) {
		atomic_store(&window->ended, version);
	} else if (result != BUSY) {
		actor_fail(actor, "a delete says %d", result);
	}
}

uint64_t
stage_gave_up(const struct actor *actor)
{
	return stats_sum(actor->pool.stats, 1, STAT_get_retries_exhausted);
}

void
stage_judge_hit(struct actor *actor, const struct stage *stage, uint32_t key,
    uint64_t bytes, bool whole, uint64_t low)
{
	uint64_t version = low, high;
	const char *wrong = stage_judge_value(stage, actor->buffer, bytes,
	    whole, key, &version);

	high = atomic_load(&stage->windows[key].begun);
	actor_count(actor, STAGE_HITS);
	if (wrong != NULL) {
		actor_fail(actor, "key %u: a value is %s", key, wrong);
	} else if (version == STAGE_FORGED) {
		actor_fail(actor, "key %u: a forged entry was taken", key);
	} else if (version < low || version > high) {
		actor_fail(actor, "key %u: version %llu outside %llu..%llu",
		    key, (unsigned long long)version, (unsigned long long)low,
		    (unsigned long long)high);
	}
}

void
stage_judge_miss(struct actor *actor, uint32_t key, bool present,
    uint64_t low, uint64_t gave_up)
{
	if (stage_gave_up(actor) != gave_up) {
		actor_count(actor, STAGE_LOST);
	} else if (present && low != 0) {
		actor_fail(actor, "key %u was missed, present since %llu", key,
		    (unsigned long long)low);
	} else {
		actor_count(actor, STAGE_MISSES);
	}
}

bool
stage_get(struct actor *actor, struct stage *stage, uint32_t key,
    bool present, struct read_hit *hit)
{
	uint64_t low = atomic_load(&stage->windows[key].ended);
	uint64_t gave_up = stage_gave_up(actor);
	enum result result = read_copy(&actor->pool, &stage->keys[key],
	    stage->now, actor->buffer, sizeof(actor->buffer), hit);

	if (result == OK) {
		stage_judge_hit(actor, stage, key, hit->value_bytes, true,
		    low);
		return true;
	}
	if (result != MISS) {
		actor_fail(actor, "key %u: a get says %d", key, result);
	} else {
		stage_judge_miss(actor, key, present, low, gave_up);
	}
	return false;
}

bool
stage_compact(struct actor *actor, const struct stage *stage, uint32_t shard,
    uint32_t keep)
{
	const struct pool *pool = &actor->pool;
	const struct shard_private *sp = &pool->shards_private[shard];

	for (unsigned pass = 0; pass < COMPACT_PASSES; pass++) {
		enum result result;
		uint32_t victim;

		if (shard_enter(pool, shard) != OK) {
			return false;
		}
		if (sp->small.count + sp->main.count <= keep) {
			shard_leave(pool, shard);
			return true;
		}
		victim = sp->small.count >= sp->main.count ? sp->small.head :
		    sp->main.head;
		result = reclaim_pass(pool, shard, victim, RECLAIM_COMPACT,
		    stage->now);
		if (result == BUSY) {
			return false;
		}
		shard_leave(pool, shard);
	}
	return true;
}

uint64_t
stage_stat(const struct stage *stage, enum stat_id stat)
{
	return stats_sum(stage->pool.all_stats, stage->pool.g.stats_blocks,
	    stat);
}

static void
keep_fault(void *argument, unsigned invariant, uint32_t shard,
    uint64_t where, const char *text)
{
	char *first = argument;

	if (first[0] == '\0') {
		(void)snprintf(first, 160, "I%u, shard %u, at %llx: %s",
		    invariant, shard, (unsigned long long)where, text);
	}
}

bool
stage_report(struct plain_test *test, const char *name,
    const struct stage *stage, bool played)
{
	char first[160] = "";
	void *scratch = malloc(verify_scratch_bytes(&stage->pool));
	uint64_t faults;

	if (scratch == NULL) {
		die("no memory to verify");
	}
	faults = verify_pool(&stage->pool, scratch, keep_fault, first);
	free(scratch);
	if (!played) {
		return plain_check(test, name, false, "%s",
		    stage->board->why);
	}
	return plain_check(test, name, faults == 0, "%llu faults, first %s",
	    (unsigned long long)faults, first);
}
