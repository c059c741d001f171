/* SPDX-License-Identifier: ISC */

/*
 * Large values that are written over many operations, with everything else
 * going on between their pieces; and the idle work of a worker.
 */
#include <inttypes.h>
#include <string.h>

#include "reclaim.h"
#include "stage.h"
#include "sweep.h"

static const struct pool *
pool_of(const struct stage *stage, const struct open_chain *chain)
{
	return &stage->worker[chain->worker];
}

static void
intend(struct stage *stage, uint32_t key, const struct candidate *after)
{
	stage->intent.active = true;
	stage->intent.purge = false;
	stage->intent.key = key;
	stage->intent.after[0] = *after;
	stage->intent.count = 1;
}

/* Of the candidates with that stamp: it is whole now, or gone. */
static void
end_growing(struct stage *stage, const struct open_chain *chain, bool whole)
{
	struct model_key *k = &stage->model.key[chain->key];

	for (unsigned i = 0; i < k->count; i++) {
		struct candidate *c = &k->candidate[i];

		if (c->present && c->growing &&
		    c->stamp == chain->is.stamp) {
			c->growing = false;
			c->present = whole;
		}
	}
}

static void
give_up(struct stage *stage, struct open_chain *chain)
{
	static const struct candidate absent;

	intend(stage, chain->key, &absent);
	stage->intent.active = chain->early;
	chain_abort(pool_of(stage, chain), &chain->writer);
	stage->intent.active = false;
	if (chain->early) {
		end_growing(stage, chain, false);
	}
	chain->open = false;
}

static void
begin(struct stage *stage, struct open_chain *chain, uint32_t key)
{
	uint64_t tags[TAGS_MAX];
	struct key k = stage_key(stage, key, chain->name);
	struct entry_spec spec = actor_spec(stage, &k, tags, &chain->is);
	struct candidate growing;
	enum result result;

	chain->worker = stage->acting;
	chain->key = key;
	chain->early = prng_one_in(&stage->prng, 2);
	chain->is.bytes = 1 + prng_below(&stage->prng,
	    (uint32_t)geometry_value_max_bytes(&pool_of(stage, chain)->g));
	spec.value_bytes = prng_one_in(&stage->prng, 2) ?
	    chain->is.bytes : 0;
	growing = chain->is;
	growing.growing = true;
	intend(stage, key, &growing);
	stage->intent.active = chain->early;
	result = chain_begin(pool_of(stage, chain), &spec, chain->early,
	    stage->now, &chain->writer);
	stage->intent.active = false;
	if (result == OK) {
		chain->open = true;
		if (chain->early) {
			model_set(&stage->model, key, &growing);
		}
	} else if (result != FULL) {
		stage_fail(stage, "begin of a chain: %s",
		    result_name(result));
	}
}

static void
append(struct stage *stage, struct open_chain *chain)
{
	uint64_t left = chain->is.bytes - chain->writer.written;
	uint64_t piece = 1 + prng_below(&stage->prng, 30000);
	enum result result;

	piece = piece < left ? piece : left;
	model_fill(stage->value, chain->is.stamp, chain->is.bytes);
	result = chain_append(pool_of(stage, chain), &chain->writer,
	    stage->value + chain->writer.written, piece, stage->now);
	if (result == OK) {
		return;
	}
	if (result != FULL) {
		stage_fail(stage, "append to a chain: %s",
		    result_name(result));
	}
	give_up(stage, chain);
}

static void
finish(struct stage *stage, struct open_chain *chain)
{
	uint64_t version = 0;
	enum result result;

	intend(stage, chain->key, &chain->is);
	result = chain_finish(pool_of(stage, chain), &chain->writer,
	    stage->now, &version);
	stage->intent.active = false;
	if (result == OK) {
		chain->is.version = version;
		if (chain->early) {
			end_growing(stage, chain, true);
		} else {
			model_set(&stage->model, chain->key, &chain->is);
		}
		chain->open = false;
		return;
	}
	if (result != FULL) {
		stage_fail(stage, "end of a chain: %s", result_name(result));
	}
	give_up(stage, chain);
}

/* One step of a chain: of this worker's open one, or a new one. */
void
actor_chain(struct stage *stage, uint32_t key)
{
	struct open_chain *chain = NULL;

	for (unsigned i = 0; i < STAGE_WRITERS; i++) {
		struct open_chain *c = &stage->chain[i];

		if (c->open && c->worker == stage->acting) {
			chain = c;
			break;
		}
		if (!c->open) {
			chain = c;
		}
	}
	if (chain == NULL) {
		return;
	}
	/* What happens between two pieces may not be to this key. */
	stage->busy_key = chain->open ? chain->key : key;
	if (!chain->open) {
		begin(stage, chain, key);
	} else if (prng_one_in(&stage->prng, 12)) {
		give_up(stage, chain);
	} else if (chain->writer.written < chain->is.bytes) {
		append(stage, chain);
	} else {
		finish(stage, chain);
	}
}

void
actor_tidy(struct stage *stage)
{
	const struct pool *pool = &stage->worker[stage->acting];
	uint32_t shard = prng_below(&stage->prng, pool->g.shard_count);

	if (prng_one_in(&stage->prng, 3)) {
		(void)reclaim_ahead(pool, shard, stage->now);
	} else {
		(void)sweep_shard(pool, shard, 1 +
		    prng_below(&stage->prng, 1000), stage->now);
	}
}
