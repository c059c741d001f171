/* SPDX-License-Identifier: ISC */

/*
 * A party's book against what lies in the tables, between two steps.
 */
#include "party.h"

#include "flight_records.h"
#include "origin_record.h"
#include "shard.h"

static void
check_counts(struct party *party)
{
	uint32_t calls[2] = { 0, 0 }, probes = 0;
	bool half_open = party->origin.record->breaker.state ==
	    BREAKER_HALF_OPEN;

	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		const struct caller *caller = &party->caller[i];

		if (party_believes_it_calls(party, caller)) {
			calls[caller->place.upload]++;
			probes += half_open && caller->probe &&
			    caller->episode == party->episode;
		}
	}
	if (probes > 1) {
		party_fail(party, "%u probes at once", probes);
	}
	for (unsigned u = 0; u < 2; u++) {
		uint32_t limit = origin_limits_locked(&party->origin, u).
		    limit;
		uint32_t in_flight = party_limiter(party, u)->state->in_flight;
		uint32_t most = limit > party->draining[u] ? limit :
		    party->draining[u];

		if (calls[u] > most) {
			party_fail(party, "%u calls where %u may be",
			    calls[u], most);
		}
		if (party->broken) {
			continue;
		}
		if (in_flight < calls[u] || in_flight > most) {
			party_fail(party, "%u in flight, %u believed, %u "
			    "may be", in_flight, calls[u], most);
		}
		if (in_flight < party->draining[u]) {
			party->draining[u] = in_flight;
		}
	}
}

bool
party_has_room(const struct party *party, const struct caller *caller)
{
	struct limiter_config config = origin_limits_locked(&party->origin,
	    caller->place.upload);
	const struct limiter *limiter = party_limiter(party,
	    caller->place.upload);
	uint32_t total = 0, host = 0, partition = 0;

	for (uint32_t i = 1; i <= limiter->permit_capacity &&
	    total < limiter->state->in_flight; i++) {
		const struct limiter_permit *permit = &limiter->permits[i];

		if (permit->owner != 0) {
			bool same = permit->host == caller->request.host;

			total++;
			host += same;
			partition += same && permit->partition ==
			    caller->request.partition;
		}
	}
	return total < config.limit && (config.host_cap == 0 ||
	    caller->request.host == 0 || host < config.host_cap) &&
	    (config.partition_cap == 0 || caller->request.partition == 0 ||
	    partition < config.partition_cap);
}

static void
check_places(struct party *party)
{
	for (uint32_t i = 0; i < PARTY_CALLERS && !party->broken; i++) {
		const struct caller *caller = &party->caller[i];
		uint32_t worker = party->client[caller->client].worker;

		if (party_place_is(party, caller, LIMITER_PLACE_GRANTED) &&
		    !party->worker[worker].told) {
			party_fail(party, "a grant that nobody was told of");
		} else if (party_place_is(party, caller,
		    LIMITER_PLACE_WAITING) && party_has_room(party, caller)) {
			party_fail(party, "somebody waits who may run");
		}
	}
}

/* It can go on: then it has been told, or its time says when to look. */
static void
check_joined(struct party *party, const struct caller *caller)
{
	struct flight_table table = pool_flights(&party->pool[0],
	    caller->lease.shard);
	const struct flight *flight = flight_at(&table,
	    caller->lease.ticket.index);
	uint32_t worker = party->client[caller->client].worker;

	if (caller->told ||
	    party->now.ms >= caller->lease.ticket.until_ms) {
		return;
	}
	if (flight == NULL || !flight_is_of(flight, &caller->lease.key)) {
		party_fail(party, "a flight went without a word");
	} else if ((flight->waiting_workers >> worker & 1) == 0) {
		party_fail(party, "a flight forgot a worker with waiters");
	} else if (flight->state == FLIGHT_ENDED) {
		party_fail(party, "a flight ended without a word");
	} else if (flight->state == FLIGHT_OFFERED &&
	    caller->lease.ticket.until_ms > flight->deadline_ms) {
		party_fail(party, "a flight was offered without a word");
	}
}

static void
check_flights(struct party *party)
{
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		const struct caller *caller = &party->caller[i];

		if (caller->state == CALLER_JOINED) {
			check_joined(party, caller);
		}
		for (uint32_t j = 0; j < i; j++) {
			if (party->caller[j].key == caller->key &&
			    party_believes_it_leads(party, caller) &&
			    party_believes_it_leads(party,
			    &party->caller[j])) {
				party_fail(party, "two lead one key");
			}
		}
	}
}

void
party_check(struct party *party)
{
	party_note_grants(party);
	check_counts(party);
	check_places(party);
	check_flights(party);
}

static void
verify_offers(struct party *party, const struct flight_table *table)
{
	for (uint32_t i = 1; i <= table->capacity && table->state->used != 0;
	    i++) {
		const struct flight *flight = &table->flights[i];

		if (flight->state == FLIGHT_OFFERED &&
		    (flight->waiting_workers >> flight->offered_worker & 1) ==
		    0) {
			party_fail(party, "a flight is offered to nobody");
		}
	}
}

void
party_verify(struct party *party)
{
	unsigned faults;

	party_before(party);
	faults = origin_verify(&party->origin, party->now);
	party_after(party, EDGE_NONE, ORIGIN_GRANTED);
	if (faults != 0) {
		party_fail(party, "%u faults of the origin", faults);
	}
	for (uint32_t s = 0; s < party->pool[0].g.shard_count; s++) {
		struct flight_table table = pool_flights(&party->pool[0], s);

		/* What a death left is put right. */
		if (shard_enter(&party->pool[0], s) != OK) {
			party_fail(party, "a shard cannot be locked");
			return;
		}
		shard_leave(&party->pool[0], s);
		faults = flight_verify(&table);
		if (faults != 0) {
			party_fail(party, "%u faults of flights", faults);
		}
		verify_offers(party, &table);
	}
}

/* All time is over, and all was swept: nothing may be left. */
void
party_check_idle(struct party *party)
{
	for (unsigned u = 0; u < 2; u++) {
		const struct limiter_state *state = party_limiter(party, u)->
		    state;

		if (state->in_flight != 0 || state->waiting != 0 ||
		    state->uncollected != 0) {
			party_fail(party, "%u permits, %u places, %u granted "
			    "ones are left", state->in_flight,
			    state->waiting, state->uncollected);
		}
	}
	for (uint32_t s = 0; s < party->pool[0].g.shard_count; s++) {
		struct flight_table table = pool_flights(&party->pool[0], s);

		if (table.state->used != 0 || table.state->noted != 0) {
			party_fail(party, "%u flights and %u notes are left",
			    table.state->used, table.state->noted);
		}
	}
}
