/* SPDX-License-Identifier: ISC */

/*
 * Tokens are sorted: a client may know of thousands, and have as many.
 */
#include "claim_known.h"

#include <stdbool.h>
#include <stdlib.h>

#include "jitter.h"
#include "lease.h"
#include "origin_held.h"
#include "origin_log.h"
#include "protocol.h"
#include "session.h"
#include "worker.h"

/* Permits that are looked at in one hold of an origin's lock. */
#define HELD_AT_ONCE	64u

struct claim_known {
	uint32_t	count;
	uint32_t	leases;
	struct wire_hold *permits;	/* [count], by compare_permits() */
	uint64_t	*tokens;	/* [leases], of leases, sorted */
	struct wire_hold rows[];
};

static int
compare_numbers(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

static int
compare_tokens(const void *one, const void *other)
{
	return compare_numbers(*(const uint64_t *)one,
	    *(const uint64_t *)other);
}

static int
compare_permits(const void *one, const void *other)
{
	const struct wire_permit *a = &((const struct wire_hold *)one)->permit;
	const struct wire_permit *b =
	    &((const struct wire_hold *)other)->permit;
	int order = compare_numbers(a->token, b->token);

	if (order == 0) {
		order = compare_numbers(a->number, b->number);
	}
	return order != 0 ? order : compare_numbers(a->origin, b->origin);
}

enum result
claim_known_parse(const uint8_t *body, size_t length,
    struct claim_known **known)
{
	struct claim_known *made;
	uint32_t count;

	*known = NULL;
	if (length < 8 || wire_get_u32(body + 4) != 0) {
		return INVALID;
	}
	count = wire_get_u32(body);
	if (count > WIRE_HOLDS_MAX || length != 8 +
	    (size_t)count * WIRE_HOLD_BYTES) {
		return INVALID;
	}
	made = malloc(sizeof(*made) + count * (sizeof(struct wire_hold) +
	    sizeof(uint64_t)));
	if (made == NULL) {
		return NO_MEMORY;
	}
	made->count = count;
	made->leases = 0;
	made->permits = made->rows;
	made->tokens = (uint64_t *)(made->rows + count);
	for (uint32_t i = 0; i < count; i++) {
		wire_hold_decode(body + 8 + (size_t)i * WIRE_HOLD_BYTES,
		    &made->rows[i]);
		if (made->rows[i].token != 0) {
			made->tokens[made->leases++] = made->rows[i].token;
		}
	}
	qsort(made->permits, count, sizeof(*made->permits), compare_permits);
	qsort(made->tokens, made->leases, sizeof(*made->tokens),
	    compare_tokens);
	*known = made;
	return OK;
}

static bool
knows_lease(void *arg, uint64_t token)
{
	const struct claim_known *known = arg;

	return bsearch(&token, known->tokens, known->leases,
	    sizeof(*known->tokens), compare_tokens) != NULL;
}

static bool
knows_permit(const struct claim_known *known, uint32_t origin,
    const struct origin_held *held)
{
	const struct wire_hold wanted = { .permit = {
		.origin = origin,
		.number = held->permit | (held->upload ? WIRE_PERMIT_UPLOAD :
		    0),
		.token = held->token,
	} };

	return bsearch(&wanted, known->permits, known->count,
	    sizeof(*known->permits), compare_permits) != NULL;
}

/* One origin: OK, or BUSY. */
static enum result
keep_permits(struct origin *origin, uint64_t holder,
    const struct claim_known *known)
{
	struct origin_held held[HELD_AT_ONCE], after = { 0 };
	struct boot_ms now = clock_boot_now();
	unsigned events = 0;
	bool swept = false;
	uint32_t count;
	enum result result;

	while ((result = origin_list_held(origin, holder, &after, held,
	    HELD_AT_ONCE, &count, now)) == OK && count > 0) {
		for (uint32_t i = 0; i < count && result == OK; i++) {
			if (knows_permit(known, origin->index, &held[i])) {
				continue;
			}
			/* That of a place goes with its dead worker's place. */
			if (!swept && !origin_sweep(origin, now, &events)) {
				return BUSY;
			}
			origin_log_events(origin, events, now);
			swept = true;
			result = origin_release(origin, held[i].permit,
			    held[i].upload, held[i].token, holder,
			    BREAKER_NEUTRAL, jitter_random(), now, &events);
			origin_log_events(origin, events, now);
			events = 0;
			result = result == BUSY ? BUSY : OK;
		}
		if (result != OK) {
			break;
		}
	}
	return result;
}

enum result
claim_known_keep(struct connection *conn, const struct claim_known *known)
{
	struct worker *worker = conn->worker;
	const struct pool *pool = conn->session->pool;
	uint64_t holder = conn->session->leases.holder;
	union {
		const struct claim_known *given;
		void		*taken;
	} knower = { .given = known };

	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		if (lease_keep_known(pool, &worker->lease_door, s, holder,
		    knows_lease, knower.taken, clock_boot_now()) != OK) {
			return BUSY;
		}
	}
	for (uint32_t i = 0; i < worker->origin_count; i++) {
		if (keep_permits(&worker->origins[i], holder, known) != OK) {
			return BUSY;
		}
	}
	return OK;
}
