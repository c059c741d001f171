/* SPDX-License-Identifier: ISC */

/*
 * Setting a stage, and what a supervisor does after a death.
 */
#include "stage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extent.h"
#include "pin.h"
#include "shard.h"
#include "verify.h"

#define POOL_EXTENTS	256u
#define FIRST_MS	1000000u
/* Nobody evicts with so many free, beside one for each shard. */
#define FREE_ENOUGH	8u
/* Where a hash says its shard; see pool_shard_of(). */
#define SHARD_SHIFT	40
#define SHARD_BITS	0xffull
/* Extents that are taken away, so that a few operations fill the pool. */
#define BALLAST_LEAST	180u
#define BALLAST_MORE	50u

static void
draw_setup(struct stage *stage)
{
	static const uint32_t value_most[] = { 8, 60, 300, 1500, 3800 };
	static const uint32_t deaths[] = { 0, 15, 60 };
	struct stage_setup *s = &stage->setup;
	struct prng *prng = &stage->prng;

	s->extent_bytes = prng_one_in(prng, 3) ? 32 << 10 : 16 << 10;
	s->keys = 8u << prng_below(prng, 8);
	s->key_bytes = prng_one_in(prng, 4) ? 30 : 4;
	s->value_most_bytes = value_most[prng_below(prng, 5)];
	s->large_one_in = prng_one_in(prng, 2) ? 8 : 0;
	s->death_one_in = deaths[prng_below(prng, 3)];
	s->expiring_one_in = 1 + prng_below(prng, 6);
	s->operations = 100 + prng_below(prng, 1500);
	s->ballast = !prng_one_in(prng, 3) ? BALLAST_LEAST +
	    prng_below(prng, BALLAST_MORE) : 0;
	s->one_shard = prng_one_in(prng, 3);
	if (prng_one_in(prng, 6)) {
		/* Extents of so many entries that locks are let go. */
		s->one_shard = true;
		s->keys = MODEL_KEYS_MAX;
		s->key_bytes = 4;
		s->value_most_bytes = 8;
		s->operations += 1000;
	}
}

/* Tags whose purges fall into cells of their own. */
static void
draw_tags(struct stage *stage)
{
	const struct pool *pool = &stage->worker[0];
	uint32_t name = 0;

	for (unsigned t = 0; t < MODEL_TAGS; name++) {
		uint64_t hash = epoch_tag_hash(pool, &name, sizeof(name));
		bool alone = true;

		for (unsigned i = 0; i < t; i++) {
			alone = alone && ((hash ^ stage->tag_hash[i]) &
			    (pool->g.sketch_cells - 1)) != 0;
		}
		if (alone) {
			stage->tag_hash[t++] = hash;
		}
	}
}

/*
 * Extents that wait in limbo for ever, behind the pins of a worker that does
 * nothing else.
 */
static void
load_ballast(struct stage *stage)
{
	struct pool pinner = stage->worker[0];

	pool_become_worker(&pinner, STAGE_WORKERS);
	for (uint32_t i = 0; i < stage->setup.ballast; i++) {
		uint32_t shard = i % pinner.g.shard_count;
		struct shard_private *sp = &pinner.shards_private[shard];
		uint32_t extent;

		if (shard_enter(&pinner, shard) != OK) {
			stage_fail(stage, "a new shard is locked");
			return;
		}
		extent = extent_take(&pinner, shard, EXTENT_SPARE);
		if (extent != 0) {
			extent_open(&pinner, shard, extent, EXTENT_MAIN);
			(void)pin_acquire(&pinner, extent, atomic_load(
			    &pinner.generations[extent]));
			extent_list_remove(&pinner, &sp->main, extent);
			(void)extent_retire(&pinner, shard, extent);
		}
		shard_leave(&pinner, shard);
	}
}

bool
stage_open(struct stage *stage, uint64_t seed)
{
	struct pool_params params = {
		.name = "sim", .worker_count = STAGE_WORKERS + 1,
		.now = { FIRST_MS },
	};

	memset(stage, 0, offsetof(struct stage, model));
	memset(&stage->intent, 0, sizeof(*stage) -
	    offsetof(struct stage, intent));
	model_init(&stage->model);
	stage->seed = seed;
	prng_init(&stage->prng, seed);
	draw_setup(stage);
	stage->now.ms = FIRST_MS;
	params.extent_bytes = stage->setup.extent_bytes;
	params.pool_bytes = stage->setup.extent_bytes * POOL_EXTENTS;
	memcpy(&params.hash_key, &seed, sizeof(seed));
	if (pool_create(&stage->worker[0], &params) != OK ||
	    pool_attach(&stage->client, dup(stage->worker[0].segment.fd),
	    &stage->client_stats) != OK) {
		return false;
	}
	for (uint32_t w = 0; w < STAGE_WORKERS; w++) {
		stage->worker[w] = stage->worker[0];
		pool_become_worker(&stage->worker[w], w);
	}
	stage->value = malloc(STAGE_VALUE_MAX);
	stage->value_between = malloc(STAGE_VALUE_MAX);
	stage->answer = malloc(STAGE_VALUE_MAX);
	stage->scratch = malloc(verify_scratch_bytes(&stage->worker[0]));
	draw_tags(stage);
	load_ballast(stage);
	return stage->value != NULL && stage->value_between != NULL &&
	    stage->answer != NULL && stage->scratch != NULL;
}

void
stage_close(struct stage *stage)
{
	for (unsigned i = 0; i < STAGE_HOLDS; i++) {
		free(stage->hold[i].copy);
	}
	free(stage->value);
	free(stage->value_between);
	free(stage->answer);
	free(stage->scratch);
	pool_destroy(&stage->client);
	pool_destroy(&stage->worker[0]);
}

void
stage_fail(struct stage *stage, const char *format, ...)
{
	va_list args;

	if (stage->error[0] != '\0') {
		return;
	}
	va_start(args, format);
	(void)vsnprintf(stage->error, sizeof(stage->error), format, args);
	va_end(args);
}

bool
stage_failed(const struct stage *stage)
{
	return stage->error[0] != '\0';
}

static void
report_fault(void *arg, unsigned invariant, uint32_t shard, uint64_t where,
    const char *text)
{
	stage_fail(arg, "verify I%u, shard %u, %llx: %s", invariant, shard,
	    (unsigned long long)where, text);
}

void
stage_verify(struct stage *stage)
{
	(void)verify_pool(&stage->worker[stage->acting], stage->scratch,
	    report_fault, stage);
}

bool
stage_keeps_all(const struct stage *stage)
{
	static const enum stat_id reasons[] = {
		STAT_evicted_small, STAT_evicted_main, STAT_extents_forced,
		STAT_index_bucket_full, STAT_recovery_shard_emptied,
	};
	const struct pool *pool = &stage->worker[0];
	uint64_t sum = stage->crowded;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		sum += stats_sum(pool->all_stats, pool->g.stats_blocks,
		    reasons[i]);
	}
	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		/* Its emptying died before it was counted. */
		sum += pool->shards_private[s].recovering > 1;
	}
	return sum == 0;
}

struct key
stage_key(const struct stage *stage, uint32_t key, char *name)
{
	struct key k;

	memset(name, 'k', 32);
	memcpy(name, &key, sizeof(key));
	(void)key_init(&k, &stage->worker[0], name, stage->setup.key_bytes);
	if (stage->setup.one_shard) {
		k.hash &= ~(SHARD_BITS << SHARD_SHIFT);
	}
	return k;
}

uint32_t
stage_key_number(const void *bytes, uint32_t length)
{
	uint32_t key = UINT32_MAX;

	if (length >= sizeof(key)) {
		memcpy(&key, bytes, sizeof(key));
	}
	return key;
}

static void
settle_intent(struct stage *stage)
{
	struct intent *intent = &stage->intent;
	struct model_purges *p = &stage->model.purges[intent->tag];

	if (intent->active && intent->purge) {
		if (epoch_now(&stage->worker[0]) >= intent->number) {
			p->kind[intent->kind] = intent->number;
		} else {
			p->maybe = intent->number;
		}
	} else if (intent->active) {
		for (unsigned i = 0; i < intent->count; i++) {
			model_add(&stage->model, intent->key,
			    &intent->after[i]);
		}
	}
	intent->active = false;
}

void
stage_bury(struct stage *stage, uint32_t worker)
{
	const struct pool *pool = &stage->worker[0];

	settle_intent(stage);
	for (unsigned i = 0; i < STAGE_HOLDS; i++) {
		if (stage->hold[i].copy != NULL &&
		    stage->hold[i].worker == worker) {
			free(stage->hold[i].copy);
			stage->hold[i].copy = NULL;
		}
	}
	for (unsigned i = 0; i < STAGE_WRITERS; i++) {
		if (stage->chain[i].worker == worker) {
			stage->chain[i].open = false;
		}
	}
	/* What it had evicted just then is counted nowhere. */
	if (extent_free_count(pool) < pool->g.shard_count + FREE_ENOUGH) {
		stage->crowded = true;
	}
	pin_clear_worker(pool, worker);
	stage->deaths++;
}
