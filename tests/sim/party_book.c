/* SPDX-License-Identifier: ISC */

/*
 * What a party's callers believe, and what one call into the origin may have
 * changed.
 */
#include "party.h"

#include <string.h>

#include "origin_record.h"

const struct limiter *
party_limiter(const struct party *party, bool upload)
{
	return upload ? &party->origin.upload : &party->origin.limiter;
}

static const struct limiter_place *
place_of(const struct party *party, const struct caller *caller)
{
	const struct limiter *limiter = party_limiter(party,
	    caller->place.upload);
	const struct limiter_place *place;

	if (caller->state != CALLER_QUEUED || caller->place.place == 0 ||
	    caller->place.place > limiter->place_capacity) {
		return NULL;
	}
	place = &limiter->places[caller->place.place];
	return place->owner == caller->request.owner &&
	    place->number == caller->place.number ? place : NULL;
}

bool
party_place_is(const struct party *party, const struct caller *caller,
    enum limiter_place_state state)
{
	const struct limiter_place *place = place_of(party, caller);

	return place != NULL && place->state == state;
}

bool
party_believes_it_calls(const struct party *party,
    const struct caller *caller)
{
	return caller->state == CALLER_CALLING && !caller->unsure &&
	    party->now.ms < caller->place.deadline_ms;
}

bool
party_believes_it_leads(const struct party *party,
    const struct caller *caller)
{
	return caller->leads && !caller->unsure &&
	    party->now.ms < caller->held_until_ms;
}

void
party_before(struct party *party)
{
	struct party_before *before = &party->before;
	const struct origin_record *record = party->origin.record;

	before->breaker = record->breaker.state;
	before->generation = record->breaker.generation;
	before->refused_open = record->counts.refused_open;
	before->rebuilt = record->counts.rebuilt;
	for (unsigned u = 0; u < 2; u++) {
		memcpy(before->refused[u], party_limiter(party, u)->state->
		    refused, sizeof(before->refused[u]));
	}
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		struct caller *caller = &party->caller[i];

		caller->was_waiting = party_place_is(party, caller,
		    LIMITER_PLACE_WAITING);
	}
}

/* Its reason must be one that this caller can have. */
static void
check_reason(struct party *party, const struct caller *caller)
{
	const struct origin_config *config = &party->origin.record->config;
	const struct limiter_config *limits = caller->place.upload ?
	    &config->upload : &config->limiter;
	const struct limiter_state *state = party_limiter(party,
	    caller->place.upload)->state;
	const struct origin_request *request = &caller->request;
	bool fits = false;

	switch (caller->place.refusal) {
	case LIMITER_QUEUE_FULL:
		/* A place is taken until its grant is collected. */
		fits = state->waiting + state->uncollected >= limits->places;
		break;
	case LIMITER_PARTITION_QUEUE_FULL:
		fits = request->partition != 0;
		break;
	case LIMITER_CLIENT_CAP:
		fits = limits->client_cap != 0;
		break;
	case LIMITER_BACKGROUND_SHED:
		fits = request->class == LIMITER_BACKGROUND;
		break;
	case LIMITER_NO_WAIT:
		fits = request->wait_ms == 0 || limits->wait_ms == 0;
		break;
	case LIMITER_QUEUE_TIMEOUT:
		fits = caller->state == CALLER_QUEUED;
		break;
	default:
		break;
	}
	if (!fits) {
		party_fail(party, "refused as %s", limiter_refusal_name(
		    caller->place.refusal));
	}
}

/* A refusal has one reason, which is counted once; the rest has none. */
static void
check_refusals(struct party *party, bool asked, enum origin_answer answer)
{
	const struct party_before *before = &party->before;
	const struct caller *caller = party->busy < PARTY_CALLERS ?
	    &party->caller[party->busy] : NULL;
	uint64_t open = party->origin.record->counts.refused_open -
	    before->refused_open;
	uint64_t sum = 0;

	for (unsigned u = 0; u < 2; u++) {
		const struct limiter_state *state = party_limiter(party, u)->
		    state;

		for (unsigned r = 0; r < LIMITER_REFUSALS; r++) {
			sum += state->refused[r] - before->refused[u][r];
		}
	}
	if (open != (asked && answer == ORIGIN_OPEN) ||
	    sum != (asked && answer == ORIGIN_SHED)) {
		party_fail(party, "refusals are counted wrongly");
	}
	if (sum != 0 && caller != NULL) {
		bool upload = caller->place.upload;
		enum limiter_refusal why = caller->place.refusal;

		if (why == LIMITER_NOT_REFUSED || party_limiter(party, upload)->
		    state->refused[why] == before->refused[upload][why]) {
			party_fail(party, "a refusal is counted for another");
		}
		check_reason(party, caller);
	}
}

/* Half open refuses behind a probe whose owner lives and has time. */
static void
check_behind_probe(struct party *party, const struct caller *caller)
{
	const struct origin_record *record = party->origin.record;
	const struct breaker *breaker = &record->breaker;

	if (caller->request.class == LIMITER_BACKGROUND ||
	    record->config.breaker_by_partition ||
	    breaker_state_now(breaker, &record->config.breaker,
	    party->now) != BREAKER_HALF_OPEN) {
		return;
	}
	if (breaker->probe_owner == 0 ||
	    party->client[breaker->probe_owner & 0xff].holder !=
	    breaker->probe_owner ||
	    party->now.ms >= breaker->probe_deadline_ms) {
		party_fail(party, "the breaker waits for a lost probe");
	}
}

static void
check_edge(struct party *party, enum party_edge edge)
{
	const struct party_before *before = &party->before;
	const struct breaker *breaker = &party->origin.record->breaker;
	bool counts = party->busy < PARTY_CALLERS && party->caller[
	    party->busy].generation == before->generation;
	bool ended = edge == EDGE_SUCCESS || edge == EDGE_FAILURE;
	bool legal = false;

	if (breaker->state == before->breaker || edge == EDGE_HAND) {
		return;
	}
	switch (before->breaker) {
	case BREAKER_CLOSED:
		legal = breaker->state == BREAKER_OPEN && ended && counts;
		break;
	case BREAKER_OPEN:
		legal = breaker->state == BREAKER_HALF_OPEN &&
		    edge == EDGE_ADMIT;
		break;
	default:
		legal = counts && party->caller[party->busy].probe &&
		    (breaker->state == BREAKER_OPEN ? edge == EDGE_FAILURE :
		    edge == EDGE_SUCCESS);
		break;
	}
	if (!legal) {
		party_fail(party, "the breaker went from %u to %u by %d",
		    before->breaker, breaker->state, (int)edge);
	} else if (breaker->generation == before->generation) {
		party_fail(party, "an edge of the breaker in one generation");
	}
}

/* When it opens, everybody has to look. */
static void
check_opened(struct party *party)
{
	const struct breaker *breaker = &party->origin.record->breaker;

	if (breaker->state != BREAKER_OPEN ||
	    party->before.breaker == BREAKER_OPEN) {
		return;
	}
	for (uint32_t w = 0; w < PARTY_WORKERS; w++) {
		if (!party->worker[w].told) {
			party_fail(party, "a worker was not told of opening");
		}
	}
}

static void
check_order(struct party *party, const struct caller *granted)
{
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		const struct caller *other = &party->caller[i];

		if (other->was_waiting &&
		    party_place_is(party, other, LIMITER_PLACE_WAITING) &&
		    other->place.upload == granted->place.upload &&
		    other->place.number < granted->place.number &&
		    other->request.host == granted->request.host &&
		    other->request.partition == granted->request.partition &&
		    other->request.marked == granted->request.marked) {
			party_fail(party, "the later of two was granted");
		}
	}
}

static void
note_admission(struct party *party)
{
	struct caller *caller = &party->caller[party->busy];
	const struct limiter *limiter = party_limiter(party,
	    caller->place.upload);
	const struct limiter_permit *permit = limiter_permit(limiter,
	    caller->place.permit, caller->place.token);

	if (permit == NULL || permit->owner != caller->request.owner) {
		party_fail(party, "a permit that is nobody's was given");
		return;
	}
	caller->episode = party->episode;
	caller->generation = permit->generation;
	caller->probe = (permit->probe & ORIGIN_PROBE) != 0;
}

/*
 * Perhaps by one who died then: the time is of the first look, or of that
 * death, if the grant was completed by who repaired what it left.
 */
void
party_note_grants(struct party *party)
{
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		struct caller *caller = &party->caller[i];

		if (caller->granted_ms == 0 &&
		    party_place_is(party, caller, LIMITER_PLACE_GRANTED)) {
			caller->granted_ms = caller->half_granted_ms != 0 ?
			    caller->half_granted_ms : party->now.ms;
		}
		if (!party->broken) {
			caller->half_granted_ms = 0;
		}
	}
}

void
party_after(struct party *party, enum party_edge edge,
    enum origin_answer answer)
{
	const struct origin_record *record = party->origin.record;
	const struct caller *caller = party->busy < PARTY_CALLERS ?
	    &party->caller[party->busy] : NULL;

	party->broken = party->broken &&
	    record->counts.rebuilt == party->before.rebuilt;
	check_refusals(party, edge == EDGE_ADMIT, answer);
	check_edge(party, edge);
	check_opened(party);
	if (edge == EDGE_HAND || record->breaker.state !=
	    party->before.breaker) {
		party->episode++;
	}
	if (edge == EDGE_ADMIT && answer == ORIGIN_OPEN) {
		check_behind_probe(party, caller);
	}
	if (edge == EDGE_ADMIT && answer == ORIGIN_GRANTED) {
		note_admission(party);
	}
	if (edge == EDGE_ADMIT && answer == ORIGIN_LOST &&
	    (caller->granted_ms == 0 || party->now.ms < caller->granted_ms +
	    record->config.limiter.permit_ms)) {
		party_fail(party, "a place was lost that nobody had swept");
	}
	party_note_grants(party);
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		const struct caller *other = &party->caller[i];

		if (other->was_waiting &&
		    party_place_is(party, other, LIMITER_PLACE_GRANTED) &&
		    record->counts.rebuilt == party->before.rebuilt) {
			check_order(party, other);
		}
	}
}
