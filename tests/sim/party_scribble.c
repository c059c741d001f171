/* SPDX-License-Identifier: ISC */

/*
 * A death under a party's origin's lock that leaves every derived word wrong.
 */
#include "party.h"

#include <pthread.h>
#include <stdlib.h>

#include "origin_record.h"

static void
scribble(struct party *party, struct limiter *limiter)
{
	struct limiter_state *state = limiter->state;
	struct prng *prng = &party->prng;

	state->in_flight = prng_below(prng, 1000);
	state->waiting = prng_below(prng, 1000);
	state->uncollected = prng_below(prng, 1000);
	state->free_permit = (uint32_t)prng_next(prng);
	state->free_place = (uint32_t)prng_next(prng);
	state->free_row = (uint32_t)prng_next(prng);
	for (unsigned h = 0; h < LIMITER_HEAPS; h++) {
		state->root[h] = (uint32_t)prng_next(prng);
	}
	for (unsigned w = 0; w < PARTY_WORKERS; w++) {
		state->granted_head[w] = (uint32_t)prng_next(prng);
		state->granted_tail[w] = (uint32_t)prng_next(prng);
	}
	for (uint32_t i = 1; i <= limiter->place_capacity; i++) {
		struct limiter_place *place = &limiter->places[i];

		place->next = (uint32_t)prng_next(prng);
		place->previous = (uint32_t)prng_next(prng);
		place->row = (uint32_t)prng_next(prng);
		place->listed = prng_below(prng, 2);
		/* A grant that came no further than (a) in limiter.h. */
		if (place->owner != 0 && prng_one_in(prng, 3) &&
		    place->state == LIMITER_PLACE_WAITING) {
			place->permit = 1 + prng_below(prng,
			    limiter->permit_capacity);
			place->token = ++state->next_number;
		}
	}
}

/* The oldest of those who wait and may run. */
static struct caller *
next_to_run(struct party *party)
{
	struct caller *next = NULL;

	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		struct caller *caller = &party->caller[i];

		if (party_place_is(party, caller, LIMITER_PLACE_WAITING) &&
		    party_has_room(party, caller) && (next == NULL ||
		    caller->place.number < next->place.number)) {
			next = caller;
		}
	}
	return next;
}

/*
 * An overdue permit is freed at its owner's word and given to the next; the
 * giver dies at (c) in limiter.h.
 */
static void
die_granting(struct party *party)
{
	struct limiter *limiter = &party->origin.limiter;
	uint32_t number = 1;
	struct limiter_permit *permit;
	struct limiter_place *place;
	struct caller *next;

	while (number <= limiter->permit_capacity &&
	    (limiter->permits[number].owner == 0 ||
	    party->now.ms < limiter->permits[number].deadline_ms)) {
		number++;
	}
	if (number > limiter->permit_capacity) {
		return;
	}
	permit = &limiter->permits[number];
	permit->owner = 0;
	next = next_to_run(party);
	if (next == NULL || next->place.upload) {
		return;
	}
	place = &limiter->places[next->place.place];
	place->permit = number;
	place->token = ++limiter->state->next_number;
	*permit = (struct limiter_permit){
		.client = place->client,
		.partition = place->partition,
		.host = place->host,
		.deadline_ms = party->now.ms +
		    party->origin.record->config.limiter.permit_ms,
		.token = place->token,
		.number = place->number,
		.owner = place->owner,
	};
	next->half_granted_ms = party->now.ms;
	party->half_granted++;
}

static void *
die_holding(void *argument)
{
	struct party *party = argument;
	enum lock_state state = lock_acquire(&party->origin.record->lock, 0);

	if (state == LOCK_HELD) {
		die_granting(party);
	}
	if (state <= LOCK_HELD_OWNER_DIED) {
		scribble(party, &party->origin.limiter);
		scribble(party, &party->origin.upload);
	}
	return NULL;
}

void
party_scribble(struct party *party)
{
	pthread_t thread;

	party->broken = true;
	if (pthread_create(&thread, NULL, die_holding, party) != 0 ||
	    pthread_join(thread, NULL) != 0) {
		abort();	/* no threads for a test */
	}
}
