/* SPDX-License-Identifier: ISC */

/*
 * Computing a value, and the lives of what is stored.
 */
#include "fetch_compute.h"

#include "entry.h"
#include "lane.h"
#include "lease_call.h"
#include "lease_send.h"
#include "ring_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JITTER_FROM_MS		10000u
#define JITTER_PERCENT		10u
/* Below that chance no draw is made: e^-37 is 2^-53. */
#define EARLY_SPAN		37u
#define UNCACHEABLE_MAX_MS	60000u

/* Numbers for jitter: their quality matters little, their speed does. */
static uint32_t
draw(struct lane *lane)
{
	lane->random = lane->random * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (uint32_t)(lane->random >> 32);
}

/* For ever stays for ever. */
static uint64_t
add_ms(uint64_t a_ms, uint64_t b_ms)
{
	return a_ms > UINT64_MAX - b_ms ? UINT64_MAX : a_ms + b_ms;
}

uint64_t
fetch_jittered_ms(uint64_t ttl_ms, unsigned percent, uint32_t r)
{
	uint64_t most;

	if (percent == 0) {
		percent = JITTER_PERCENT;
	}
	if (ttl_ms < JITTER_FROM_MS || percent >= 100) {
		return ttl_ms;
	}
	most = ttl_ms / 100 * percent;
	/* Never longer: that would serve stale without leave. */
	return ttl_ms - most * r / UINT32_MAX;
}

bool
fetch_is_due(const struct fetch *fetch, struct lane *lane)
{
	const struct weir_fetch_options *options = fetch->options;
	const struct read_hit *hit = &fetch->look.hit;
	uint64_t soft_ms = entry_expiry_ms(&hit->head, hit->head.soft);
	uint64_t left_ms, span_ms;

	if (soft_ms == UINT64_MAX) {
		return false;
	}
	left_ms = soft_ms > fetch->look.now.ms ?
	    soft_ms - fetch->look.now.ms : 0;
	if (options->refresh_ahead_ms > left_ms &&
	    slot_count(hit->slot_word) >= 2) {
		return true;
	}
	/* XFetch (Vattani, Chierichetti, Lowenstein, VLDB 2015). */
	span_ms = (uint64_t)hit->head.cost_ms * options->early_percent / 100;
	if (span_ms == 0 || options->ttl_ms < JITTER_FROM_MS ||
	    left_ms > span_ms * EARLY_SPAN) {
		return false;
	}
	return -(double)span_ms * log(((double)draw(lane) + 1) /
	    ((double)UINT32_MAX + 1)) >= (double)left_ms;
}

void
fetch_slide(const struct fetch *fetch, struct lane *lane)
{
	const struct weir_fetch_options *options = fetch->options;
	const struct read_hit *hit = &fetch->look.hit;
	uint64_t soft_ms = entry_expiry_ms(&hit->head, hit->head.soft);
	uint64_t grace_ms = options->stale_while_revalidate_ms;

	/* While more than three quarters are left nothing is told. */
	if (options->ttl_ms == 0 || soft_ms == UINT64_MAX ||
	    soft_ms > fetch->look.now.ms + options->ttl_ms / 4 * 3) {
		return;
	}
	if (options->stale_if_error_ms > grace_ms) {
		grace_ms = options->stale_if_error_ms;
	}
	ring_out_slide(fetch->handle, lane, hit,
	    add_ms(options->ttl_ms, grace_ms), options->ttl_ms);
}

static void
say(struct fetch *fetch, const struct weir_fetched *said)
{
	if (fetch->fetched != NULL) {
		*fetch->fetched = *said;
	}
}

/* Into the caller's buffer or copy.  OK, TOO_LARGE, NO_MEMORY. */
static int
hand_over(struct fetch *fetch, const struct weir_computed *computed)
{
	if (fetch->copy != NULL) {
		uint8_t *copy = realloc(*fetch->copy, computed->length + 1);

		if (copy == NULL) {
			return WEIR_NO_MEMORY;
		}
		if (computed->length > 0) {
			memcpy(copy, computed->value, computed->length);
		}
		copy[computed->length] = 0;
		*fetch->copy = copy;
		return WEIR_OK;
	}
	if (computed->length > fetch->size) {
		return WEIR_TOO_LARGE;
	}
	if (computed->length > 0) {
		memcpy(fetch->buffer, computed->value, computed->length);
	}
	return WEIR_OK;
}

static struct weir_set_options
life_of(const struct fetch *fetch, struct lane *lane,
    const struct weir_computed *computed)
{
	struct weir_set_options set = WEIR_SET_OPTIONS_INIT;
	uint64_t grace_ms = computed->stale_while_revalidate_ms;

	set.tags = computed->tags;
	set.tag_count = computed->tag_count;
	if (computed->ttl_ms == 0) {
		return set;
	}
	if (computed->stale_if_error_ms > grace_ms) {
		grace_ms = computed->stale_if_error_ms;
	}
	set.soft_ttl_ms = fetch_jittered_ms(computed->ttl_ms,
	    fetch->options->jitter_percent, draw(lane));
	set.ttl_ms = add_ms(set.soft_ttl_ms, grace_ms);
	return set;
}

/* OK, or why it was not stored: the lease is ended in any case. */
static int
store(struct fetch *fetch, struct lane *lane, struct weir_lease *lease,
    const void *value, size_t length, const struct weir_set_options *set)
{
	int stored = lease_fill_send(fetch->handle, lane, lease, fetch->key,
	    fetch->key_length, value, length, set);

	if (!lease_is_alone(lease)) {
		/* Options without sense: it is not used up. */
		(void)weir_lease_uncacheable(fetch->handle, lease, fetch->key,
		    fetch->key_length, 0);
	}
	return stored;
}

/* A value: stored, or not to be. */
static int
end_with_value(struct fetch *fetch, struct lane *lane,
    struct weir_lease *lease, const struct weir_computed *computed, int why)
{
	struct weir_set_options set = life_of(fetch, lane, computed);
	struct weir_fetched said = {
		.length = computed->length,
		.source = WEIR_FROM_COMPUTED,
		.reason = "",
	};
	int result;

	if (lease == NULL) {
		said.stored = why;
	} else if (lease_is_alone(lease) || computed->uncacheable_ms != 0) {
		said.stored = WEIR_ALONE;
		(void)weir_lease_uncacheable(fetch->handle, lease, fetch->key,
		    fetch->key_length, computed->uncacheable_ms <
		    UNCACHEABLE_MAX_MS ? computed->uncacheable_ms :
		    UNCACHEABLE_MAX_MS);
	} else {
		said.stored = store(fetch, lane, lease, computed->value,
		    computed->length, &set);
	}
	result = hand_over(fetch, computed);
	said.why = result;
	say(fetch, &said);
	return result;
}

static int
end_with_nothing(struct fetch *fetch, struct lane *lane,
    struct weir_lease *lease, int why)
{
	struct weir_set_options set = WEIR_SET_OPTIONS_INIT;
	struct weir_fetched said = {
		.source = WEIR_FROM_COMPUTED,
		.stored = lease == NULL ? why : WEIR_ALONE,
		.reason = "",
	};

	if (lease != NULL && (lease_is_alone(lease) ||
	    fetch->options->negative_ttl_ms == 0)) {
		/* Each is to ask for itself: no note. */
		(void)weir_lease_uncacheable(fetch->handle, lease, fetch->key,
		    fetch->key_length, 0);
	} else if (lease != NULL) {
		set.ttl_ms = fetch->options->negative_ttl_ms;
		set.negative = 1;
		said.stored = store(fetch, lane, lease, NULL, 0, &set);
	}
	if (fetch->copy != NULL) {
		free(*fetch->copy);
		*fetch->copy = NULL;
	}
	say(fetch, &said);
	return WEIR_MISS;
}

static int
end_with_failure(struct fetch *fetch, struct weir_lease *lease,
    const struct weir_computed *computed)
{
	struct weir_fetched said = {
		.why = WEIR_FAILED,
		.code = computed->code,
		.reason = "",
	};

	if (lease != NULL) {
		/* An outcome that is none would leave the others waiting. */
		(void)weir_lease_fail(fetch->handle, lease, fetch->key,
		    fetch->key_length, (unsigned)computed->outcome >
		    WEIR_NEUTRAL ? WEIR_FAILURE : computed->outcome,
		    computed->code, fetch->options->back_off_ms);
	}
	say(fetch, &said);
	return WEIR_FAILED;
}

int
fetch_compute(struct fetch *fetch, struct weir_lease *lease, int why)
{
	const struct weir_fetch_options *options = fetch->options;
	struct lane *lane;
	struct weir_computed computed = {
		.ttl_ms = options->ttl_ms,
		.stale_while_revalidate_ms =
		    options->stale_while_revalidate_ms,
		.stale_if_error_ms = options->stale_if_error_ms,
		.tags = options->tags,
		.tag_count = options->tag_count,
		.outcome = WEIR_FAILURE,
	};
	int result = fetch->compute(fetch->arg, &computed);

	/* The callback may have used the handle, or forked. */
	lane = lane_of(fetch->handle);
	if (lane == NULL || (result == WEIR_OK && computed.value == NULL &&
	    computed.length > 0)) {
		result = WEIR_FAILED;
	}
	if (result == WEIR_OK) {
		result = end_with_value(fetch, lane, lease, &computed, why);
	} else if (result == WEIR_MISS) {
		result = end_with_nothing(fetch, lane, lease, why);
	} else {
		result = end_with_failure(fetch, lease, &computed);
	}
	if (computed.release != NULL) {
		computed.release(fetch->arg, computed.value);
	}
	return result;
}
