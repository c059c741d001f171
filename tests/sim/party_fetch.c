/* SPDX-License-Identifier: ISC */

/*
 * How callers of a party come to a lease and to a permit, each through the
 * worker that its client is connected to.
 */
#include "party.h"

#include "read.h"

#define LEASE_LEAST_MS	100u
#define LEASE_MORE_MS	1500u

static struct caller *
serve(struct party *party, uint32_t number)
{
	party->busy = number;
	return &party->caller[number];
}

static const struct pool *
pool_of(const struct party *party)
{
	return &party->pool[party->acting];
}

static uint64_t
holder_of(const struct party *party, const struct caller *caller)
{
	return party->client[caller->client].holder;
}

static void
begin_call(struct party *party, struct caller *caller)
{
	struct prng *prng = &party->prng;

	caller->state = CALLER_CALLING;
	caller->unsure = false;
	caller->outcome = prng_one_in(prng, 3) ? BREAKER_FAILURE :
	    prng_one_in(prng, 8) ? BREAKER_NEUTRAL : BREAKER_SUCCESS;
	caller->uncacheable = prng_one_in(prng, 6);
	caller->end_ms = party->now.ms + prng_below(prng,
	    prng_one_in(prng, 6) ? 4000 : 80);
	if (prng_one_in(prng, 12)) {
		caller->end_ms = PARTY_NEVER;
	}
}

/* The lease time begins with the permit. */
static void
restart(struct party *party, struct caller *caller)
{
	uint32_t lease_ms = LEASE_LEAST_MS + prng_below(&party->prng,
	    LEASE_MORE_MS);
	enum result result = lease_restart(pool_of(party),
	    &party->key[caller->key].key, caller->lease.ticket.token,
	    holder_of(party, caller), lease_ms, party->now);

	if (result == OK) {
		caller->held_until_ms = party->now.ms + lease_ms;
	} else if (party_believes_it_leads(party, caller)) {
		party_fail(party, "a lease cannot begin anew: %d",
		    (int)result);
	}
}

/* What a refusal means to a flight: see the protocol. */
static void
refused(struct party *party, struct caller *caller,
    enum origin_answer answer)
{
	enum limiter_refusal why = caller->place.refusal;
	bool own = why == LIMITER_CLIENT_CAP || why == LIMITER_NO_WAIT ||
	    why == LIMITER_BACKGROUND_SHED;

	caller->state = CALLER_IDLE;
	party->refused++;
	if (!caller->leads) {
		return;
	}
	if (answer == ORIGIN_LOST || (answer == ORIGIN_SHED && own)) {
		party_abandon(party, caller);
	} else {
		party_end_flight(party, caller, answer == ORIGIN_OPEN ?
		    FLIGHT_OPEN : FLIGHT_SHED);
	}
}

static void
go_on(struct party *party, uint32_t number, enum origin_answer answer)
{
	struct caller *caller = &party->caller[number];
	bool queued = caller->state == CALLER_QUEUED;

	switch (answer) {
	case ORIGIN_GRANTED:
		party->granted++;
		begin_call(party, caller);
		if (queued && caller->leads) {
			restart(party, caller);
		}
		break;
	case ORIGIN_WAIT:
		caller->granted_ms = queued ? caller->granted_ms : 0;
		caller->half_granted_ms = queued ? caller->half_granted_ms :
		    0;
		caller->state = CALLER_QUEUED;
		party->waited += !queued;
		break;
	default:
		refused(party, caller, answer);
		break;
	}
}

static void
draw_request(struct party *party, struct caller *caller)
{
	struct prng *prng = &party->prng;

	caller->request = (struct origin_request){
		.owner = holder_of(party, caller),
		.worker = party->worker[party->acting].word,
		.client = caller->client + 1,
		.partition = prng_below(prng, 4),
		.host = prng_below(prng, 3),
		.class = prng_one_in(prng, 6) ? LIMITER_BACKGROUND :
		    LIMITER_FOREGROUND,
		.upload = prng_one_in(prng, 8),
		.marked = prng_one_in(prng, 5),
		.wait_ms = prng_one_in(prng, 8) ? 0 :
		    1 + prng_below(prng, 800),
	};
}

void
party_call(struct party *party, uint32_t number)
{
	struct caller *caller = serve(party, number);
	enum origin_answer answer;

	draw_request(party, caller);
	party_before(party);
	answer = origin_acquire(&party->origin, &caller->request,
	    prng_next(&party->prng), party->now, &caller->place);
	party_after(party, EDGE_ADMIT, answer);
	go_on(party, number, answer);
	party->busy = PARTY_CALLERS;
}

void
party_collect_place(struct party *party, uint32_t number)
{
	struct caller *caller = serve(party, number);
	uint64_t until_ms = caller->place.deadline_ms;
	enum origin_answer answer;

	party_before(party);
	answer = origin_collect(&party->origin, &caller->place,
	    caller->request.owner, prng_next(&party->prng), party->now);
	party_after(party, EDGE_ADMIT, answer);
	if (answer == ORIGIN_SHED && party->now.ms < until_ms) {
		party_fail(party, "a place was over before its time");
	}
	if (answer == ORIGIN_WAIT && party->now.ms >= until_ms) {
		party_fail(party, "a place waits longer than its time");
	}
	go_on(party, number, answer);
	party->busy = PARTY_CALLERS;
}

static void
lead(struct party *party, uint32_t number)
{
	struct caller *caller = &party->caller[number];

	party->led++;
	caller->leads = true;
	caller->unsure = false;
	caller->touched = 0;
	caller->purged = 0;
	caller->held_until_ms = caller->lease.ticket.until_ms;
	party_call(party, number);
}

static struct lease_request
draw_lease(struct party *party, const struct caller *caller)
{
	struct prng *prng = &party->prng;
	struct lease_request request = {
		.caller = {
			.holder = holder_of(party, caller),
			.thread = caller->thread,
			.worker = party->acting,
			.may_wait = !prng_one_in(prng, 8),
		},
		.lease_ms = LEASE_LEAST_MS + prng_below(prng, LEASE_MORE_MS),
	};
	struct read_hit hit;

	if (prng_one_in(prng, 2) && read_peek(pool_of(party),
	    &party->key[caller->key].key, party->now, &hit) == OK) {
		request.seen_version = hit.version;
	}
	return request;
}

void
party_fetch(struct party *party, uint32_t number)
{
	struct caller *caller = serve(party, number);
	struct lease_request request;
	enum flight_answer answer;

	caller->key = prng_below(&party->prng, PARTY_KEYS);
	/* One that lost its lease with its worker is another thread now. */
	caller->thread = (uint32_t)++party->lives;
	request = draw_lease(party, caller);
	if (lease_begin(pool_of(party), &party->door,
	    &party->key[caller->key].key, &request, party->now, &answer,
	    &caller->lease) != OK) {
		party_fail(party, "a lease cannot begin");
		return;
	}
	switch (answer) {
	case FLIGHT_LEAD:
		lead(party, number);
		break;
	case FLIGHT_ALONE:
		party_call(party, number);
		break;
	case FLIGHT_WAIT:
		caller->state = CALLER_JOINED;
		caller->told = false;
		break;
	case FLIGHT_FOUND:
		party_read(party, caller->key);
		if (!party->key[caller->key].unsure &&
		    party->key[caller->key].serial == 0) {
			party_fail(party, "found what is not there");
		}
		break;
	case FLIGHT_UNDER_WAY:
	case FLIGHT_BACK_OFF:
		break;
	default:
		party_fail(party, "a lease answers %d", (int)answer);
		break;
	}
	party->busy = PARTY_CALLERS;
}

/* Waiters of one worker for one flight. */
static bool
together(const struct party *party, const struct caller *one,
    const struct caller *other)
{
	return other->state == CALLER_JOINED && other->key == one->key &&
	    other->lease.ticket.index == one->lease.ticket.index &&
	    party->client[other->client].worker ==
	    party->client[one->client].worker;
}

uint32_t
party_count_together(const struct party *party, const struct caller *caller)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		count += together(party, caller, &party->caller[i]);
	}
	return count;
}

static void
hear_ending(struct party *party, struct caller *first,
    const struct flight_ending *ending)
{
	struct caller copy = *first;

	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		if (together(party, &copy, &party->caller[i])) {
			party->caller[i].state = CALLER_IDLE;
			if (ending->outcome == FLIGHT_UNCACHEABLE) {
				party_call(party, i);
			}
		}
	}
}

void
party_collect_flight(struct party *party, uint32_t number)
{
	struct caller *caller = serve(party, number);
	struct lease_request request = draw_lease(party, caller);
	struct lease lease = caller->lease;
	struct flight_ending ending;
	enum flight_answer answer;

	/* The newest that one of them knows. */
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		const struct caller *other = &party->caller[i];

		if (together(party, caller, other) &&
		    other->lease.ticket.token > lease.ticket.token) {
			lease = other->lease;
		}
	}
	if (lease_collect(pool_of(party), &party->door, &request,
	    party_count_together(party, caller), party->now, &lease, &answer,
	    &ending) != OK) {
		party_fail(party, "a flight cannot be looked at");
		return;
	}
	if (answer == FLIGHT_ENDED_NOW) {
		hear_ending(party, caller, &ending);
	} else {
		struct caller copy = *caller;

		for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
			if (together(party, &copy, &party->caller[i])) {
				party->caller[i].lease = lease;
				party->caller[i].told = false;
			}
		}
		if (answer == FLIGHT_LEAD) {
			caller->state = CALLER_IDLE;
			lead(party, number);
		}
	}
	party->busy = PARTY_CALLERS;
}
