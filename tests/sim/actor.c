/* SPDX-License-Identifier: ISC */

/*
 * Changes: set, delete, touch, counters, purges.  Each says beforehand what
 * its death may leave, and holds the answer against the model.
 */
#include <inttypes.h>
#include <string.h>

#include "index.h"
#include "pin.h"
#include "stage.h"

#define WRONG_VERSION	(1ull << 50)
#define COUNTER_FIRST	1000000

static const struct pool *
acting(const struct stage *stage)
{
	return &stage->worker[stage->acting];
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

static void
done(struct stage *stage)
{
	stage->intent.active = false;
}

/* Absent, where the model says it must be there. */
static void
lost(struct stage *stage, uint32_t key, const char *what)
{
	if (stage_keeps_all(stage) &&
	    model_must_hold(&stage->model, key, stage->now.ms)) {
		stage_fail(stage, "%s: key %" PRIu32 " is gone", what, key);
	}
}

/* Present, where the model says nothing can be. */
static void
ghostly(struct stage *stage, uint32_t key, const char *what)
{
	if (!model_may_hold(&stage->model, key, stage->now.ms)) {
		stage_fail(stage, "%s: key %" PRIu32 " cannot be there",
		    what, key);
	}
}

/* FULL needs a reason: something that holds extents back. */
static void
check_full(struct stage *stage, const char *what)
{
	if (stage->setup.ballast != 0 && stage->setup.large_one_in != 0) {
		return;
	}
	for (unsigned i = 0; i < STAGE_HOLDS; i++) {
		if (stage->hold[i].copy != NULL) {
			return;
		}
	}
	stage_fail(stage, "%s: FULL though nothing is pinned", what);
}

static uint64_t
draw_expiry(struct stage *stage)
{
	return prng_one_in(&stage->prng, stage->setup.expiring_one_in) ?
	    stage->now.ms + prng_below(&stage->prng, 3000) : MODEL_NEVER;
}

struct entry_spec
actor_spec(struct stage *stage, const struct key *key, uint64_t *tags,
    struct candidate *is)
{
	struct prng *prng = &stage->prng;
	unsigned count = 0;

	memset(is, 0, sizeof(*is));
	is->present = true;
	is->stamp = ++stage->stamps;
	is->epoch = epoch_now(acting(stage));
	is->hard_ms = draw_expiry(stage);
	is->soft_ms = draw_expiry(stage);
	for (unsigned t = 0; t < MODEL_TAGS; t++) {
		if (prng_one_in(prng, 4)) {
			is->tags |= (uint8_t)(1u << t);
			tags[count++] = stage->tag_hash[t];
		}
	}
	is->bytes = prng_below(prng, stage->setup.value_most_bytes + 1);
	if (stage->setup.large_one_in != 0 &&
	    prng_one_in(prng, stage->setup.large_one_in)) {
		is->bytes = prng_below(prng, (uint32_t)
		    geometry_value_max_bytes(&acting(stage)->g));
	}
	model_fill(stage->value, is->stamp, is->bytes);
	return (struct entry_spec){
		.key = key, .tags = tags, .tag_count = count,
		.value = stage->value, .value_bytes = is->bytes,
		.soft_ms = is->soft_ms, .hard_ms = is->hard_ms,
		.epoch = is->epoch,
	};
}

void
actor_set(struct stage *stage, uint32_t key)
{
	uint64_t tags[TAGS_MAX], version = 0;
	uint64_t known = model_version(&stage->model, key);
	char name[32];
	struct key k = stage_key(stage, key, name);
	struct candidate is;
	struct entry_spec spec = actor_spec(stage, &k, tags, &is);
	enum result result;

	if (prng_one_in(&stage->prng, 6)) {
		spec.when = SET_IF_ABSENT;
	} else if (known != 0 && prng_one_in(&stage->prng, 4)) {
		spec.when = SET_IF_VERSION;
		spec.version = prng_one_in(&stage->prng, 3) ?
		    known + WRONG_VERSION : known;
	}
	intend(stage, key, &is);
	result = write_set(acting(stage), &spec, stage->now, &version);
	done(stage);
	if (result == OK) {
		if (spec.when == SET_IF_ABSENT) {
			lost(stage, key, "set if absent");
		}
		if (spec.when == SET_IF_VERSION && spec.version != known) {
			stage_fail(stage, "set with a wrong version");
		}
		is.version = version;
		model_set(&stage->model, key, &is);
	} else if (result == EXISTS && spec.when == SET_IF_ABSENT) {
		ghostly(stage, key, "set if absent");
	} else if (result == CHANGED && spec.when == SET_IF_VERSION) {
		if (spec.version == known) {
			lost(stage, key, "set if version");
		}
	} else if (result == FULL) {
		check_full(stage, "set");
	} else {
		stage_fail(stage, "set of key %" PRIu32 ": %s", key,
		    result_name(result));
	}
}

void
actor_delete(struct stage *stage, uint32_t key)
{
	static const struct candidate absent;
	uint64_t known = model_version(&stage->model, key), version = 0;
	char name[32];
	struct key k = stage_key(stage, key, name);
	enum result result;

	if (known != 0 && prng_one_in(&stage->prng, 3)) {
		version = prng_one_in(&stage->prng, 2) ?
		    known + WRONG_VERSION : known;
	}
	intend(stage, key, &absent);
	result = write_delete(acting(stage), &k, version, stage->now);
	done(stage);
	if (result == OK) {
		ghostly(stage, key, "delete");
		if (version > known) {
			stage_fail(stage, "delete with a wrong version");
		}
		model_clear(&stage->model, key);
	} else if (result == MISS) {
		lost(stage, key, "delete");
		model_clear(&stage->model, key);
	} else if (result == CHANGED && version > known) {
		ghostly(stage, key, "delete of a version");
	} else {
		stage_fail(stage, "delete of key %" PRIu32 ": %s", key,
		    result_name(result));
	}
}

void
actor_touch(struct stage *stage, uint32_t key)
{
	struct model_key *k = &stage->model.key[key];
	uint64_t soft_ms = draw_expiry(stage), hard_ms = draw_expiry(stage);
	uint64_t epoch = prng_one_in(&stage->prng, 2) ? 0 :
	    epoch_now(acting(stage)) + prng_below(&stage->prng, 2);
	uint64_t clamped = epoch_clamp(acting(stage), epoch);
	struct intent *intent = &stage->intent;
	char name[32];
	struct key wanted = stage_key(stage, key, name);
	enum result result;

	intend(stage, key, &k->candidate[0]);
	/* Between the two stores the expiry alone is new. */
	intent->after[0].soft_ms = soft_ms;
	intent->after[0].hard_ms = hard_ms;
	intent->after[1] = intent->after[0];
	if (clamped > intent->after[1].epoch) {
		intent->after[1].epoch = clamped;
	}
	intent->count = 2;
	result = write_touch(acting(stage), &wanted, soft_ms, hard_ms, epoch,
	    stage->now);
	done(stage);
	if (result == MISS) {
		lost(stage, key, "touch");
		model_clear(&stage->model, key);
		return;
	}
	if (result != OK) {
		stage_fail(stage, "touch: %s", result_name(result));
		return;
	}
	ghostly(stage, key, "touch");
	for (unsigned i = 0; i < k->count; i++) {
		struct candidate *c = &k->candidate[i];

		c->soft_ms = soft_ms;
		c->hard_ms = hard_ms;
		c->epoch = clamped > c->epoch ? clamped : c->epoch;
	}
}

/* The counter was there: in place means the same version, so no append. */
static void
added_in_place(struct stage *stage, uint32_t key, const struct key *k,
    struct candidate *was, int64_t number)
{
	struct read_hit hit;
	enum result result;

	/* Before the look, in which this worker may die. */
	was->number = number;
	model_set(&stage->model, key, was);
	result = read_peek(acting(stage), k, stage->now, &hit);
	if (was->version != 0 && (result == OK || result == STALE) &&
	    hit.version != was->version) {
		stage_fail(stage, "add to key %" PRIu32 " appended", key);
	}
}

void
actor_count(struct stage *stage, uint32_t key)
{
	struct candidate was = stage->model.key[key].candidate[0], is;
	int64_t delta = (int64_t)prng_below(&stage->prng, 100) - 50;
	int64_t initial, number = 0;
	uint64_t tags[TAGS_MAX];
	char name[32];
	struct key k = stage_key(stage, key, name);
	struct entry_spec spec = actor_spec(stage, &k, tags, &is);
	bool create = !prng_one_in(&stage->prng, 5);
	enum result result;

	is.counter = true;
	is.bytes = sizeof(number);
	/* A first number of its own tells a new counter from an old one. */
	initial = (int64_t)is.stamp * COUNTER_FIRST;
	is.number = initial + delta;
	intend(stage, key, &is);
	stage->intent.after[1] = was;
	stage->intent.after[1].number += delta;
	stage->intent.count = 2;
	result = write_counter_add(acting(stage), &k, delta, initial,
	    create ? &spec : NULL, stage->now, &number);
	done(stage);
	if (result == OK && was.present && was.counter &&
	    !model_is_dead(&stage->model, &was, stage->now.ms) &&
	    number == was.number + delta) {
		added_in_place(stage, key, &k, &was, number);
	} else if (result == OK && create && number == is.number) {
		lost(stage, key, "add");
		model_set(&stage->model, key, &is);
	} else if (result == MISS && !create) {
		lost(stage, key, "add");
		model_clear(&stage->model, key);
	} else if (result == WRONG_TYPE) {
		ghostly(stage, key, "add");
	} else if (result == FULL) {
		check_full(stage, "add");
	} else {
		stage_fail(stage, "add to key %" PRIu32 ": %s, %" PRId64
		    " from %" PRId64, key, result_name(result), number,
		    was.number);
	}
}

void
actor_purge(struct stage *stage)
{
	const struct pool *pool = acting(stage);
	uint32_t tag = prng_below(&stage->prng, prng_one_in(&stage->prng, 4) ?
	    MODEL_TAGS + 1 : MODEL_TAGS);
	enum epoch_kind kind = (enum epoch_kind)prng_below(&stage->prng, 3);
	uint64_t newest = epoch_now(pool), number = 0;
	enum result result;

	if (pool->priv->epoch_next > newest) {
		newest = pool->priv->epoch_next;
	}
	stage->intent.active = true;
	stage->intent.purge = true;
	stage->intent.tag = tag;
	stage->intent.kind = kind;
	stage->intent.number = newest + 1;
	result = tag == MODEL_ALL ? epoch_purge_all(pool, kind, &number) :
	    epoch_purge_tag(pool, stage->tag_hash[tag], kind, &number);
	done(stage);
	if (result != OK || number != newest + 1) {
		stage_fail(stage, "purge: %s, number %" PRIu64,
		    result_name(result), number);
		return;
	}
	stage->model.purges[tag].kind[kind] = number;
}
