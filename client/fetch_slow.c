/* SPDX-License-Identifier: ISC */

/*
 * Everything of a fetch but the plain fresh hit: who computes, what is served
 * meanwhile, and what when nobody can.
 *
 *	found stale	not above stale_while_revalidate: ask without waiting
 *	nothing, or above it: ask and wait
 *	LEAD, ALONE	compute
 *	OK		look again
 *	else		stale if stale_if_error allows it, or the refusal
 */
#include "fetch.h"

#include "ask_later.h"
#include "entry.h"
#include "fetch_compute.h"
#include "hit_count.h"
#include "lane.h"
#include "lease_call.h"
#include "lease_parts.h"
#include "origin.h"
#include "origin_bypass.h"
#include "reading.h"

#include <stdlib.h>

/* Looks of one fetch that found nothing although somebody had filled. */
#define LOOKS_MAX	8

static bool
was_found(const struct fetch *fetch)
{
	return fetch->result == WEIR_OK || fetch->result == WEIR_STALE;
}

/* How long ago the value stopped being fresh. */
static uint64_t
stale_for_ms(const struct fetch *fetch)
{
	const struct read_hit *hit = &fetch->look.hit;
	uint64_t soft_ms = entry_expiry_ms(&hit->head, hit->head.soft);

	/* A soft purge made it stale just now, for all that is known. */
	return soft_ms >= fetch->look.now.ms ? 0 :
	    fetch->look.now.ms - soft_ms;
}

/* It may be served though it is stale, for so long. */
static bool
may_serve(const struct fetch *fetch, uint64_t for_ms)
{
	return was_found(fetch) &&
	    fetch->look.hit.freshness != EPOCH_INVALID &&
	    (fetch->result == WEIR_OK || stale_for_ms(fetch) <= for_ms);
}

static bool
may_revalidate(const struct fetch *fetch)
{
	return fetch->options->stale_while_revalidate_ms > 0 &&
	    may_serve(fetch, fetch->options->stale_while_revalidate_ms);
}

static int
serve_found(struct fetch *fetch, int why)
{
	if (!fetch->waited) {
		hit_count_note(fetch->look.lane, &fetch->options->origin);
	}
	return fetch_take_found(fetch, fetch->result == WEIR_STALE ?
	    WEIR_FROM_STALE : fetch->waited ? WEIR_FROM_WAITED :
	    WEIR_FROM_HIT, why);
}

static void
drop_copy(struct fetch *fetch)
{
	if (fetch->copy != NULL) {
		free(*fetch->copy);
		*fetch->copy = NULL;
	}
}

/* Nobody has a fresh value, for the reason of result. */
static int
serve_stale_or(struct fetch *fetch, int result,
    const struct weir_lease *lease, uint32_t mode)
{
	uint64_t for_ms = mode == ORIGIN_STALE_ON_ERROR ? UINT64_MAX :
	    fetch->options->stale_if_error_ms;
	struct weir_fetched said = {
		.why = result,
		.code = lease->code,
		.reason = lease->reason != NULL ? lease->reason : "",
		.retry_after_ms = lease->retry_after_ms,
	};

	if (mode != ORIGIN_BYPASS && (fetch->result == WEIR_OK ||
	    may_revalidate(fetch) ||
	    (for_ms > 0 && may_serve(fetch, for_ms)))) {
		said.source = fetch->result == WEIR_OK ? WEIR_FROM_HIT :
		    WEIR_FROM_STALE;
		said.length = fetch->look.hit.value_bytes;
		result = fetch->result;
	} else {
		drop_copy(fetch);
	}
	if (fetch->fetched != NULL) {
		*fetch->fetched = said;
	}
	return result;
}

/* The results of asking that say how the origin or the daemon is. */
static bool
is_refusal(int result)
{
	return result == WEIR_SHED || result == WEIR_CIRCUIT_OPEN ||
	    result == WEIR_BACKING_OFF || result == WEIR_FAILED;
}

static bool
is_absence(int result)
{
	return result == WEIR_NO_SERVER || result == WEIR_CLOSED ||
	    result == WEIR_SYSTEM;
}

static int
compute_alone(struct fetch *fetch, int why)
{
	struct weir_lease none = { .reason = "" };

	if (fetch->options->no_alone != 0 || may_revalidate(fetch) ||
	    may_serve(fetch, fetch->options->stale_if_error_ms)) {
		return serve_stale_or(fetch, why, &none, 0);
	}
	return fetch_compute(fetch, NULL, why);
}

/* Ask who computes.  True: *result is the fetch's. */
static bool
ask_once(struct fetch *fetch, struct lane *lane, int *result)
{
	const struct read_hit *hit = &fetch->look.hit;
	bool serve = may_revalidate(fetch) || fetch->early;
	struct lease_ask ask = {
		.seen_version = was_found(fetch) ? hit->version : 0,
		.no_wait = serve || fetch->options->no_wait != 0,
		.hits = hit_count_take(lane, &fetch->options->origin),
	};
	struct weir_lease lease;
	uint32_t mode;
	int asked = lease_ask(fetch->handle, lane, fetch->key,
	    fetch->key_length, fetch->options, &ask, &lease, &mode);

	switch (asked) {
	case WEIR_LEAD:
	case WEIR_ALONE:
		*result = fetch_compute(fetch, &lease, asked);
		if (is_refusal(*result)) {
			lease.code = fetch->fetched != NULL ?
			    fetch->fetched->code : 0;
			*result = serve_stale_or(fetch, *result, &lease,
			    mode);
		}
		return true;
	case WEIR_OK:
		return false;
	case WEIR_BUSY:
		*result = serve ? serve_found(fetch, WEIR_STALE) :
		    serve_stale_or(fetch, asked, &lease, mode);
		return true;
	default:
		break;
	}
	if (asked == WEIR_MISS) {
		/* No such origin or pool, which is not "no such thing". */
		asked = lane_fail(lane, WEIR_INVALID, "no origin or pool of "
		    "that name");
	}
	if (is_refusal(asked)) {
		ask_later_note(lane, fetch->key, fetch->key_length,
		    lane->clock.boot.ms + lease.retry_after_ms);
	}
	*result = is_absence(asked) ? compute_alone(fetch, asked) :
	    serve_stale_or(fetch, asked, &lease, mode);
	return true;
}

/* Perhaps: the daemon knows.  Of a value that was found. */
static bool
is_bypassed(const struct fetch *fetch)
{
	const char *name = fetch->options->origin.name;

	return fetch->look.bypassed != 0 && (fetch->look.bypassed &
	    origin_bypass_bit(name != NULL ? name : "default")) != 0;
}

/* A refresh that failed lately is not asked for with each hit. */
static bool
is_too_early(const struct fetch *fetch, struct lane *lane)
{
	return was_found(fetch) && ask_later_until(lane, fetch->key,
	    fetch->key_length) > lane->clock.boot.ms;
}

/*
 * Filled and gone, time and again: the pool is far too small.  Everybody
 * computes their own, and the origin is guarded as ever.
 */
static int
compute_unshared(struct fetch *fetch, struct lane *lane)
{
	const struct weir_fetch_options *options = fetch->options;
	uint32_t wait_ms = options->no_wait != 0 ? 0 :
	    options->wait_ms != 0 ? options->wait_ms :
	    LEASE_WAIT_DEFAULT_MS;
	struct weir_permit permit;
	struct weir_lease lease;
	int asked = weir_permit_acquire(fetch->handle, &options->origin,
	    wait_ms, &permit);

	if (asked == WEIR_OK) {
		lease_of_permit(&permit, &lease);
		return fetch_compute(fetch, &lease, WEIR_ALONE);
	}
	if (is_absence(asked)) {
		return compute_alone(fetch, asked);
	}
	lease = (struct weir_lease){
		.retry_after_ms = permit.retry_after_ms,
		.reason = permit.reason,
	};
	if (is_refusal(asked)) {
		ask_later_note(lane, fetch->key, fetch->key_length,
		    lane->clock.boot.ms + lease.retry_after_ms);
	}
	return serve_stale_or(fetch, asked, &lease, 0);
}

int
fetch_slowly(struct fetch *fetch)
{
	struct lane *lane = lane_of(fetch->handle);
	int result = WEIR_BUSY;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		if (fetch->look.negative && fetch->result == WEIR_MISS) {
			/* There is no such thing: that is the answer. */
			if (!fetch->waited) {
				hit_count_note(lane,
				    &fetch->options->origin);
			}
			(void)fetch_take_found(fetch, fetch->waited ?
			    WEIR_FROM_WAITED : WEIR_FROM_HIT, WEIR_OK);
			return WEIR_MISS;
		}
		if (fetch->result == WEIR_OK && !fetch->early) {
			return serve_found(fetch, WEIR_OK);
		}
		if (fetch->result == WEIR_STALE && may_revalidate(fetch) &&
		    !is_bypassed(fetch) &&
		    ((fetch->look.hit.slot_word & SLOT_REFRESH) != 0 ||
		    is_too_early(fetch, lane))) {
			return serve_found(fetch, WEIR_STALE);
		}
		if (!was_found(fetch) && fetch->result != WEIR_MISS &&
		    fetch->result != WEIR_GROWING &&
		    !is_absence(fetch->result)) {
			struct weir_lease none = { .reason = "" };

			if (fetch->fetched != NULL &&
			    fetch->result == WEIR_TOO_LARGE) {
				(void)fetch_take_found(fetch,
				    WEIR_FROM_NONE, fetch->result);
				return fetch->result;
			}
			return serve_stale_or(fetch, fetch->result, &none, 0);
		}
		if (ask_once(fetch, lane, &result)) {
			return result;
		}
		fetch->waited = true;
		fetch->early = false;
		fetch_look(fetch);
	}
	return compute_unshared(fetch, lane);
}

/*
 * A fresh hit of an origin that may be bypassed: then it is neither served
 * nor replaced, and a refusal is a refusal.  If it is not, or no daemon is
 * there to say so, it is a hit.
 */
static int
fetch_around(struct fetch *fetch, struct lane *lane)
{
	struct lease_ask ask = { .no_wait = fetch->options->no_wait != 0 };
	struct weir_lease lease;
	uint32_t mode;
	int result = lease_ask(fetch->handle, lane, fetch->key,
	    fetch->key_length, fetch->options, &ask, &lease, &mode);

	if (result == WEIR_LEAD || result == WEIR_ALONE) {
		return fetch_compute(fetch, &lease, result);
	}
	if (is_refusal(result) || result == WEIR_TIMEOUT) {
		return serve_stale_or(fetch, result, &lease, mode);
	}
	return serve_found(fetch, WEIR_OK);
}

int
fetch_tended(struct fetch *fetch)
{
	struct lane *lane = lane_of(fetch->handle);

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (is_bypassed(fetch) && fetch->compute != NULL) {
		return fetch_around(fetch, lane);
	}
	if (!lease_options_are_sound(fetch->options)) {
		return lane_fail_plain(lane, WEIR_INVALID);
	}
	if (fetch->options->sliding != 0) {
		fetch_slide(fetch, lane);
	}
	if (fetch->compute == NULL ||
	    (fetch->look.hit.slot_word & SLOT_REFRESH) != 0 ||
	    !fetch_is_due(fetch, lane) || is_too_early(fetch, lane)) {
		return serve_found(fetch, WEIR_OK);
	}
	fetch->early = true;
	return fetch_slowly(fetch);
}
