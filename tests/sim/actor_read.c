/* SPDX-License-Identifier: ISC */

/*
 * Looks: reads of all kinds, scans, pinned views; none may be wrong.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "lease.h"
#include "pin.h"
#include "scan.h"
#include "stage.h"

static const struct pool *
acting(const struct stage *stage)
{
	return &stage->worker[stage->acting];
}

static void
missed(struct stage *stage, uint32_t key)
{
	if (stage_keeps_all(stage) &&
	    model_must_hold(&stage->model, key, stage->now.ms)) {
		stage_fail(stage, "read: key %" PRIu32 " is gone", key);
	}
	/* Gone is gone, but for what is being written. */
	model_clear(&stage->model, key);
}

/* What stands so far of a value that grows. */
static uint64_t
read_prefix(struct stage *stage, const struct pool *pool,
    const struct read_hit *hit)
{
	size_t copied = 0;

	if (hit->value_bytes == 0) {
		return 0;
	}
	if (read_chain(pool, hit, 0, stage->answer, STAGE_VALUE_MAX,
	    &copied) != OK || copied != hit->value_bytes) {
		stage_fail(stage, "beginning of a growing value is gone");
	}
	return copied;
}

/* A flight that is ended, given up, or left to its deadline. */
static void
fly(struct stage *stage, const struct pool *pool, const struct key *key,
    const struct read_hit *hit)
{
	static const struct lease_door door;
	const struct flight_ending ending = {
		.outcome = prng_one_in(&stage->prng, 2) ? FLIGHT_FAILED :
		    FLIGHT_UNCACHEABLE,
		.back_off_ms = 5,
		.mark_ms = 20,
	};
	const struct lease_request request = {
		.caller = { .holder = 1 + prng_below(&stage->prng, 3) },
		.lease_ms = 20,
		.seen_version = hit->version,
	};
	enum result result = OK;
	enum flight_answer answer;
	struct lease lease;

	if (lease_begin(pool, &door, key, &request, stage->now, &answer,
	    &lease) != OK || answer != FLIGHT_LEAD) {
		return;
	}
	switch (prng_below(&stage->prng, 4)) {
	case 0:
		result = lease_end(pool, &door, key, lease.ticket.token,
		    request.caller.holder, &ending, prng_next(&stage->prng),
		    stage->now);
		break;
	case 1:
		result = lease_abandon(pool, &door, &lease,
		    request.caller.holder, stage->now);
		break;
	case 2:
		result = lease_sweep(pool, &door, lease.shard, 0,
		    stage->now);
		break;
	default:
		break;
	}
	if (result != OK) {
		stage_fail(stage, "a flight: %s", result_name(result));
	}
}

/* A client counts nothing itself; it says where its hit was. */
static void
count_hit(struct stage *stage, const struct pool *pool,
    const struct key *key, const struct read_hit *hit)
{
	if (pool == &stage->client) {
		access_hint(acting(stage), key->hash, hit->extent,
		    hit->offset);
	} else if (prng_one_in(&stage->prng, 16)) {
		fly(stage, pool, key, hit);
	} else {
		access_touch(pool, hit);
	}
}

void
actor_read(struct stage *stage, uint32_t key)
{
	const struct pool *pool = prng_one_in(&stage->prng, 3) ?
	    &stage->client : acting(stage);
	bool peek = prng_one_in(&stage->prng, 4);
	char name[32];
	struct key k = stage_key(stage, key, name);
	struct read_hit hit;
	struct model_answer answer = { .hit = &hit };
	const char *why;

	answer.result = peek ? read_peek(pool, &k, stage->now, &hit) :
	    read_copy(pool, &k, stage->now, stage->answer, STAGE_VALUE_MAX,
	    &hit);
	if (answer.result == MISS) {
		missed(stage, key);
		return;
	}
	answer.value_bytes = hit.value_bytes;
	if (!peek) {
		answer.value = stage->answer;
		if (answer.result == GROWING) {
			answer.value_bytes = read_prefix(stage, pool, &hit);
		}
	}
	why = model_hit(&stage->model, key, stage->now.ms, &answer);
	if (why != NULL) {
		stage_fail(stage, "read of key %" PRIu32 " (%s): %s", key,
		    result_name(answer.result), why);
	}
	count_hit(stage, pool, &k, &hit);
}

struct scan_state {
	struct stage	*stage;
	bool		met[MODEL_KEYS_MAX];
};

static bool
meet(const struct scan_item *item, void *arg)
{
	struct scan_state *s = arg;
	uint32_t key = stage_key_number(item->key, item->head.key_bytes);

	if (key >= s->stage->setup.keys) {
		stage_fail(s->stage, "scan met a key that nobody stored");
		return true;
	}
	s->met[key] = true;
	if (!model_knows_head(&s->stage->model, key, s->stage->now.ms,
	    &item->head)) {
		stage_fail(s->stage, "scan met key %" PRIu32
		    " as it cannot be", key);
	}
	return true;
}

void
actor_scan(struct stage *stage)
{
	const struct pool *pool = prng_one_in(&stage->prng, 2) ?
	    &stage->client : acting(stage);
	struct scan_state s = { .stage = stage };
	uint64_t cursor = 0;

	do {
		cursor = scan_next(pool, cursor, 64, stage->now, meet, &s);
	} while (cursor != 0);
	for (uint32_t key = 0; key < stage->setup.keys; key++) {
		if (!s.met[key] && stage_keeps_all(stage) &&
		    model_must_hold(&stage->model, key, stage->now.ms)) {
			stage_fail(stage, "scan passed over key %" PRIu32,
			    key);
		}
	}
}

static void
copy_view(const struct read_view *view, uint8_t *to)
{
	for (unsigned i = 0; i < view->part_count; i++) {
		memcpy(to, view->part[i].iov_base, view->part[i].iov_len);
		to += view->part[i].iov_len;
	}
}

/* Pin every extent of a view, or none. */
static bool
pin_view(const struct pool *pool, const struct read_view *view)
{
	for (unsigned i = 0; i < view->part_count; i++) {
		if (pin_acquire(pool, view->extent[i],
		    view->generation[i])) {
			continue;
		}
		while (i > 0) {
			pin_release(pool, view->extent[--i]);
		}
		return false;
	}
	return true;
}

void
actor_hold(struct stage *stage, uint32_t key)
{
	struct hold *hold = NULL;
	char name[32];
	struct key k = stage_key(stage, key, name);
	struct read_hit hit;
	struct read_view view;
	enum result result;

	for (unsigned i = 0; i < STAGE_HOLDS; i++) {
		if (stage->hold[i].copy == NULL) {
			hold = &stage->hold[i];
		}
	}
	if (hold == NULL) {
		return;
	}
	result = read_view(acting(stage), &k, stage->now, 0, &view, &hit);
	/* A counter may change under a pin: it is one word. */
	if ((result != OK && result != STALE) || view.bytes == 0 ||
	    (hit.head.flags & ENTRY_COUNTER) != 0 ||
	    !pin_view(acting(stage), &view)) {
		return;
	}
	if (!read_view_valid(acting(stage), &view)) {
		stage_fail(stage, "a view that nobody disturbed is invalid");
	}
	hold->view = view;
	hold->worker = stage->acting;
	hold->copy = malloc(view.bytes);
	if (hold->copy == NULL) {
		abort();	/* no memory for a test */
	}
	copy_view(&view, hold->copy);
}

void
actor_release(struct stage *stage, unsigned number)
{
	struct hold *hold = &stage->hold[number];

	if (hold->copy == NULL) {
		return;
	}
	copy_view(&hold->view, stage->answer);
	if (memcmp(stage->answer, hold->copy, hold->view.bytes) != 0) {
		stage_fail(stage, "pinned bytes have changed");
	}
	for (unsigned i = 0; i < hold->view.part_count; i++) {
		pin_release(&stage->worker[hold->worker],
		    hold->view.extent[i]);
	}
	free(hold->copy);
	hold->copy = NULL;
}
