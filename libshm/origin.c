/* SPDX-License-Identifier: ISC */

/*
 * A call to an origin from acquire to release.  Daemon processes.
 */
#include "origin_record.h"

#include <assert.h>
#include <string.h>

/* Who was shed comes back after the queue wait, up to this much more. */
#define SHED_SPREAD_PCT		60u
/* The rest of the open time, up to this much more. */
#define OPEN_SPREAD_PCT		10u
#define US_PER_MS		1000u

static struct limiter *
pool_of(struct origin *origin, bool upload)
{
	return upload ? &origin->upload : &origin->limiter;
}

static uint64_t
spread(uint64_t ms, unsigned pct, uint64_t random)
{
	return ms + random % (ms * pct / 100 + 1);
}

static enum origin_answer
answer_open(struct origin *origin, struct origin_ticket *ticket,
    uint64_t retry_after_ms, uint64_t random)
{
	origin->record->counts.refused_open++;
	ticket->permit = 0;
	ticket->place = 0;
	ticket->retry_after_ms = spread(retry_after_ms, OPEN_SPREAD_PCT,
	    random);
	return ORIGIN_OPEN;
}

static enum origin_answer
answer_shed(const struct limiter_config *config,
    struct origin_ticket *ticket, enum limiter_refusal refusal,
    uint64_t random)
{
	ticket->permit = 0;
	ticket->place = 0;
	ticket->refusal = refusal;
	ticket->retry_after_ms = spread(config->wait_ms, SHED_SPREAD_PCT,
	    random);
	return ORIGIN_SHED;
}

/* A permit is in the hand: the breaker has the last word. */
static enum origin_answer
finish_grant(struct origin *origin, struct origin_ticket *ticket,
    uint64_t owner, uint64_t random, struct boot_ms now)
{
	struct limiter *pool = pool_of(origin, ticket->upload);
	struct limiter_permit *permit = limiter_permit(pool, ticket->permit,
	    ticket->token);
	struct limiter_config config;
	struct origin_pass pass;
	uint64_t retry_after_ms, told = 0;

	if (permit == NULL) {
		return ORIGIN_LOST;
	}
	if (origin_admit_locked(origin, owner, ticket->partition,
	    ticket->class == LIMITER_FOREGROUND, now, &pass,
	    &retry_after_ms) == OK) {
		permit->generation = pass.generation;
		permit->breaker = pass.partition_generation;
		permit->probe = pass.probe;
		permit->started_us = now.ms * US_PER_MS;
		origin_ledger_enter_locked(origin, ticket->upload,
		    ticket->permit, permit);
		return ORIGIN_GRANTED;
	}
	config = origin_limits_locked(origin, ticket->upload);
	(void)limiter_release(pool, &config, ticket->permit, ticket->token,
	    now, &told);
	origin_tell_locked(origin, told);
	return answer_open(origin, ticket, retry_after_ms, random);
}

static enum origin_answer
acquire_locked(struct origin *origin, const struct origin_request *request,
    uint64_t random, struct boot_ms now, struct origin_ticket *ticket)
{
	struct origin_record *record = origin->record;
	struct limiter_config config = origin_limits_locked(origin,
	    request->upload);
	struct limiter_request wanted = {
		.owner = request->owner,
		.client = request->client,
		.partition = request->partition,
		.host = request->host,
		.worker = request->worker,
		.class = request->class,
		.marked = request->marked,
		.wait_ms = request->wait_ms,
		.partition_cap = missrate_cap(&record->missrate,
		    &record->config.missrate, request->partition, now),
	};
	struct limiter_ticket got;
	uint64_t retry_after_ms;
	enum result res;

	if (origin_is_open_locked(origin, request->partition, now,
	    &retry_after_ms)) {
		return answer_open(origin, ticket, retry_after_ms, random);
	}
	res = limiter_acquire(pool_of(origin, request->upload), &config,
	    &wanted, now, &got);
	origin_tell_locked(origin, got.told);
	switch (res) {
	case OK:
		ticket->permit = got.permit;
		ticket->token = got.token;
		ticket->deadline_ms = got.deadline_ms;
		return finish_grant(origin, ticket, request->owner, random,
		    now);
	case GROWING:
		ticket->place = got.place;
		ticket->number = got.number;
		ticket->deadline_ms = got.deadline_ms;
		return ORIGIN_WAIT;
	default:
		return answer_shed(&config, ticket, got.refusal, random);
	}
}

/* Who was refused by the breaker did not miss: hits alone are noted. */
static void
note_misses(struct origin *origin, const struct origin_request *request,
    enum origin_answer answer, struct boot_ms now)
{
	struct origin_record *record = origin->record;
	bool missed = request->counts_as_miss && answer != ORIGIN_OPEN;

	if (missrate_note(&record->missrate, &record->config.missrate,
	    request->partition, request->hits, missed ? 1 : 0, now)) {
		record->events |= ORIGIN_MISS_FLOOD;
	}
}

enum origin_answer
origin_acquire(struct origin *origin, const struct origin_request *request,
    uint64_t random, struct boot_ms now, struct origin_ticket *ticket)
{
	enum origin_answer answer;

	assert(request->owner != 0 &&
	    limiter_worker_index(request->worker) < LIMITER_WORKERS);
	memset(ticket, 0, sizeof(*ticket));
	ticket->upload = request->upload;
	ticket->partition = request->partition;
	ticket->class = request->class;
	if (!origin_lock(origin, now)) {
		return ORIGIN_LOCKED;
	}
	answer = acquire_locked(origin, request, random, now, ticket);
	note_misses(origin, request, answer, now);
	ticket->events = origin_take_events_locked(origin);
	origin_unlock(origin);
	return answer;
}

static struct limiter_ticket
place_of(const struct origin_ticket *ticket)
{
	struct limiter_ticket place = {
		.place = ticket->place,
		.number = ticket->number,
	};

	return place;
}

/* It waits on, unless the breaker has opened since. */
static enum origin_answer
wait_on(struct origin *origin, struct origin_ticket *ticket, uint64_t random,
    struct boot_ms now)
{
	struct limiter_config config = origin_limits_locked(origin,
	    ticket->upload);
	struct limiter_ticket place = place_of(ticket);
	uint64_t retry_after_ms, told = 0;

	if (!origin_is_open_locked(origin, ticket->partition, now,
	    &retry_after_ms)) {
		return ORIGIN_WAIT;
	}
	limiter_cancel(pool_of(origin, ticket->upload), &config, &place, now,
	    &told);
	origin_tell_locked(origin, told);
	return answer_open(origin, ticket, retry_after_ms, random);
}

static enum origin_answer
collect_locked(struct origin *origin, struct origin_ticket *ticket,
    uint64_t owner, uint64_t random, struct boot_ms now)
{
	struct limiter_config config = origin_limits_locked(origin,
	    ticket->upload);
	struct limiter_ticket place = place_of(ticket);

	switch (limiter_collect(pool_of(origin, ticket->upload), &config,
	    &place, now)) {
	case OK:
		ticket->place = 0;
		ticket->permit = place.permit;
		ticket->token = place.token;
		ticket->deadline_ms = place.deadline_ms;
		return finish_grant(origin, ticket, owner, random, now);
	case GROWING:
		return wait_on(origin, ticket, random, now);
	case TIMEOUT:
		return answer_shed(&config, ticket, LIMITER_QUEUE_TIMEOUT,
		    random);
	default:
		ticket->place = 0;
		return ORIGIN_LOST;
	}
}

enum origin_answer
origin_collect(struct origin *origin, struct origin_ticket *ticket,
    uint64_t owner, uint64_t random, struct boot_ms now)
{
	enum origin_answer answer;

	if (!origin_lock(origin, now)) {
		return ORIGIN_LOCKED;
	}
	answer = collect_locked(origin, ticket, owner, random, now);
	ticket->events = origin_take_events_locked(origin);
	origin_unlock(origin);
	return answer;
}

enum result
origin_next_granted(struct origin *origin, uint64_t worker,
    struct boot_ms now, uint32_t *place, bool *upload)
{
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	*upload = false;
	*place = limiter_next_granted(&origin->limiter, worker);
	if (*place == 0) {
		*upload = true;
		*place = limiter_next_granted(&origin->upload, worker);
	}
	origin_unlock(origin);
	return *place != 0 ? OK : MISS;
}

/* The permit is its owner's: record what came of the call, and free it. */
static enum result
release_locked(struct origin *origin, uint32_t number, bool upload,
    uint64_t token, uint64_t owner, enum breaker_outcome outcome,
    uint64_t random, struct boot_ms now)
{
	struct origin_record *record = origin->record;
	struct limiter *pool = pool_of(origin, upload);
	struct limiter_permit *permit = limiter_permit(pool, number, token);
	struct limiter_config config;
	struct origin_pass pass;
	uint64_t now_us = now.ms * US_PER_MS;
	uint64_t told = 0;

	if (permit == NULL || permit->owner != owner) {
		return LEASE_LOST;
	}
	pass.generation = permit->generation;
	pass.partition_generation = permit->breaker;
	pass.probe = permit->probe;
	origin_record_locked(origin, &pass, outcome, permit->partition,
	    random, now);
	/* Uploads last as long as their callers take. */
	if (!upload && outcome != BREAKER_NEUTRAL) {
		(void)adaptive_note(&record->adaptive,
		    &record->config.adaptive, now_us > permit->started_us ?
		    now_us - permit->started_us : 0,
		    outcome == BREAKER_FAILURE, pool->state->in_flight,
		    record->config.limiter.limit, now);
	}
	config = origin_limits_locked(origin, upload);
	origin_ledger_clear_locked(origin, upload, number, token,
	    outcome != BREAKER_NEUTRAL);
	(void)limiter_release(pool, &config, number, token, now, &told);
	origin_tell_locked(origin, told);
	return OK;
}

enum result
origin_release(struct origin *origin, uint32_t permit, bool upload,
    uint64_t token, uint64_t owner, enum breaker_outcome outcome,
    uint64_t random, struct boot_ms now, unsigned *events)
{
	enum result res;

	*events = ORIGIN_NO_EVENT;
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	res = release_locked(origin, permit, upload, token, owner, outcome,
	    random, now);
	if (res == OK) {
		struct origin_counts *counts = &origin->record->counts;

		counts->successes += outcome == BREAKER_SUCCESS;
		counts->failures += outcome == BREAKER_FAILURE;
		counts->neutral += outcome == BREAKER_NEUTRAL;
	}
	*events = origin_take_events_locked(origin);
	origin_unlock(origin);
	return res;
}

bool
origin_cancel(struct origin *origin, struct origin_ticket *ticket,
    uint64_t owner, uint64_t random, struct boot_ms now)
{
	if (!origin_lock(origin, now)) {
		return false;
	}
	if (ticket->place != 0) {
		struct limiter_config config = origin_limits_locked(origin,
		    ticket->upload);
		struct limiter_ticket place = place_of(ticket);
		uint64_t told = 0;

		limiter_cancel(pool_of(origin, ticket->upload), &config,
		    &place, now, &told);
		origin_tell_locked(origin, told);
	} else if (ticket->permit != 0) {
		/* LEASE_LOST: it was freed already. */
		(void)release_locked(origin, ticket->permit, ticket->upload,
		    ticket->token, owner, BREAKER_NEUTRAL, random, now);
	}
	ticket->place = 0;
	ticket->permit = 0;
	origin_unlock(origin);
	return true;
}

bool
origin_sweep(struct origin *origin, struct boot_ms now, unsigned *events)
{
	*events = ORIGIN_NO_EVENT;
	if (!origin_lock(origin, now)) {
		return false;
	}
	origin_sweep_locked(origin, now, false);
	*events = origin_take_events_locked(origin);
	origin_unlock(origin);
	return true;
}
