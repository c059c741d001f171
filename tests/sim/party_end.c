/* SPDX-License-Identifier: ISC */

/*
 * How calls and flights of a party end, and what may be stored then.
 */
#include "party.h"

#include "read.h"
#include "test_pool.h"

#define MARK_MS		200u
#define BACK_OFF_MS	50u
#define SHED_CODE	1

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

void
party_read(struct party *party, uint32_t number)
{
	struct party_key *key = &party->key[number];
	uint64_t serial = 0;
	struct read_hit hit;
	enum result result = read_copy(&party->pool[0], &key->key,
	    party->now, &serial, sizeof(serial), &hit);

	if (result == MISS) {
		serial = 0;
	} else if (result != OK) {
		party_fail(party, "a read says %d", (int)result);
	}
	if (!key->unsure && serial != key->serial) {
		party_fail(party, "%s holds %llu instead of %llu", key->text,
		    (unsigned long long)serial,
		    (unsigned long long)key->serial);
	}
}

/* Its flight is over, or another's; the waiters are told what it was. */
void
party_end_flight(struct party *party, struct caller *caller,
    enum flight_outcome outcome)
{
	struct flight_ending ending = {
		.outcome = outcome,
		.code = SHED_CODE,
		.back_off_ms = BACK_OFF_MS,
		.mark_ms = MARK_MS,
	};
	bool sure = party_believes_it_leads(party, caller);
	uint64_t jitter = prng_next(&party->prng);
	enum result result = lease_end(pool_of(party), &party->door,
	    &party->key[caller->key].key, caller->lease.ticket.token,
	    holder_of(party, caller), &ending, jitter, party->now);

	if (result != OK && (result != LEASE_LOST || sure)) {
		party_fail(party, "a leader cannot end its flight: %d",
		    (int)result);
	}
	if (result == OK && party->now.ms >= caller->held_until_ms) {
		party_fail(party, "a late leader ended a flight");
	}
	caller->leads = false;
}

void
party_abandon(struct party *party, struct caller *caller)
{
	bool sure = party_believes_it_leads(party, caller);
	enum result result = lease_abandon(pool_of(party), &party->door,
	    &caller->lease, holder_of(party, caller), party->now);

	if (result != OK && (result != LEASE_LOST || sure)) {
		party_fail(party, "a leader cannot abandon its flight: %d",
		    (int)result);
	}
	caller->leads = false;
}

static void
check_fill(struct party *party, struct caller *caller, enum result result,
    bool sure)
{
	if (result == OK && party->now.ms >= caller->held_until_ms) {
		party_fail(party, "the fill of a late leader was stored");
	}
	if (result == OK && caller->touched == 2) {
		party_fail(party, "a fill was stored over a newer change");
	}
	if (result == CHANGED && caller->touched == 0) {
		party_fail(party, "a fill met a change that nobody made");
	}
	if (result == LEASE_LOST && sure) {
		party_fail(party, "a leader lost its lease");
	}
	for (uint32_t i = 0; result == OK && i < PARTY_CALLERS; i++) {
		const struct caller *other = &party->caller[i];

		if (other != caller && other->key == caller->key &&
		    party_believes_it_leads(party, other)) {
			party_fail(party, "a fill was stored while another "
			    "leads");
		}
	}
}

static void
fill(struct party *party, struct caller *caller)
{
	struct party_key *key = &party->key[caller->key];
	struct lease_fill of = { caller->lease.ticket.token,
	    holder_of(party, caller), &party->door };
	uint64_t serial = ++party->serials, version;
	struct entry_spec spec = test_pool_spec(pool_of(party), &key->key,
	    &serial, sizeof(serial));
	bool sure = party_believes_it_leads(party, caller);
	bool was_unsure = key->unsure;
	enum result result;

	spec.fill = &of;
	key->unsure = true;
	result = write_set(pool_of(party), &spec, party->now, &version);
	key->unsure = was_unsure;
	caller->leads = false;
	if (result != OK && result != CHANGED && result != LEASE_LOST) {
		party_fail(party, "a fill says %d", (int)result);
	}
	check_fill(party, caller, result, sure);
	if (result == OK) {
		party->filled++;
		key->unsure = caller->purged == 1;
		key->serial = caller->purged != 0 ? 0 : serial;
	}
	party_read(party, caller->key);
}

static void
end_lead(struct party *party, struct caller *caller)
{
	if (caller->outcome == BREAKER_NEUTRAL) {
		party_abandon(party, caller);
	} else if (caller->outcome == BREAKER_FAILURE) {
		party_end_flight(party, caller, FLIGHT_FAILED);
	} else if (caller->uncacheable) {
		party_end_flight(party, caller, FLIGHT_UNCACHEABLE);
	} else {
		fill(party, caller);
	}
}

void
party_end_call(struct party *party, uint32_t number)
{
	static const enum party_edge edges[] = {
		[BREAKER_SUCCESS] = EDGE_SUCCESS,
		[BREAKER_FAILURE] = EDGE_FAILURE,
		[BREAKER_NEUTRAL] = EDGE_NONE,
	};
	struct caller *caller = serve(party, number);
	bool sure = party_believes_it_calls(party, caller);
	enum result result;
	unsigned events;

	if (caller->end_ms == PARTY_NEVER) {
		/* Its thread is gone, and never says so. */
		caller->state = CALLER_IDLE;
		caller->leads = false;
		party->busy = PARTY_CALLERS;
		return;
	}
	party_before(party);
	result = origin_release(&party->origin, caller->place.permit,
	    caller->place.upload, caller->place.token, caller->request.owner,
	    caller->outcome, prng_next(&party->prng), party->now, &events);
	party_after(party, result == OK ? edges[caller->outcome] : EDGE_NONE,
	    ORIGIN_GRANTED);
	if (result != OK && (result != LEASE_LOST || sure)) {
		party_fail(party, "a permit cannot be given back: %d",
		    (int)result);
	}
	if (caller->leads) {
		end_lead(party, caller);
	}
	caller->state = CALLER_IDLE;
	caller->unsure = false;
	party->busy = PARTY_CALLERS;
}

/* Its own process does not want it any more. */
void
party_leave(struct party *party, uint32_t number)
{
	struct caller *caller = &party->caller[number];

	if (caller->state == CALLER_JOINED) {
		uint32_t all = party_count_together(party, caller);

		(void)lease_leave(pool_of(party), &party->door,
		    &caller->lease,
		    party->client[caller->client].worker, 1, all - 1);
	} else if (caller->state != CALLER_IDLE) {
		party_before(party);
		(void)origin_cancel(&party->origin, &caller->place,
		    caller->request.owner, prng_next(&party->prng),
		    party->now);
		party_after(party, EDGE_NONE, ORIGIN_GRANTED);
		if (caller->leads) {
			party_abandon(party, caller);
		}
	}
	caller->state = CALLER_IDLE;
}
