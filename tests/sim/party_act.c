/* SPDX-License-Identifier: ISC */

/*
 * What workers and people do to a party: looking at what they were told,
 * changing values, sweeping, turning the origin's knobs.
 */
#include "party.h"

#include <stdlib.h>

#include "epoch.h"
#include "origin_record.h"
#include "test_pool.h"

static bool
is_queued_here(const struct party *party, const struct caller *caller)
{
	return caller->state == CALLER_QUEUED &&
	    party->client[caller->client].worker == party->acting;
}

/* Each granted place is named once to the worker that it was told to. */
void
party_look(struct party *party)
{
	uint64_t word = party->worker[party->acting].word;
	bool granted[PARTY_CALLERS] = { false };
	uint32_t place;
	bool upload;

	party->worker[party->acting].told = false;
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		granted[i] = !party->broken &&
		    is_queued_here(party, &party->caller[i]) &&
		    party_place_is(party, &party->caller[i],
		    LIMITER_PLACE_GRANTED);
	}
	while (origin_next_granted(&party->origin, word, party->now, &place,
	    &upload) == OK) {
		for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
			const struct caller *caller = &party->caller[i];

			if (is_queued_here(party, caller) &&
			    caller->place.place == place &&
			    caller->place.upload == upload) {
				granted[i] = false;
			}
		}
	}
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		if (granted[i]) {
			party_fail(party, "a granted place is not named");
		}
		if (is_queued_here(party, &party->caller[i])) {
			party_collect_place(party, i);
		}
	}
}

static void
touch_leaders(struct party *party, uint32_t key, unsigned touched)
{
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		struct caller *caller = &party->caller[i];

		if (caller->leads && caller->key == key &&
		    caller->touched < touched) {
			caller->touched = touched;
		}
	}
}

static void
purge(struct party *party)
{
	uint64_t number;

	for (unsigned surely = 1; surely <= 2; surely++) {
		for (uint32_t k = 0; k < PARTY_KEYS; k++) {
			party->key[k].unsure = surely == 1;
			party->key[k].serial = surely == 1 ?
			    party->key[k].serial : 0;
		}
		for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
			party->caller[i].purged = surely;
		}
		if (surely == 1 && epoch_purge_all(
		    &party->pool[party->acting], EPOCH_KIND_HARD, &number) !=
		    OK) {
			party_fail(party, "a purge fails");
		}
	}
}

void
party_change(struct party *party, uint32_t number)
{
	struct party_key *key = &party->key[number];
	const struct pool *pool = &party->pool[party->acting];
	uint64_t serial = 0, version;
	enum result result;

	if (prng_one_in(&party->prng, 12)) {
		purge(party);
		return;
	}
	key->unsure = true;
	touch_leaders(party, number, 1);
	if (prng_one_in(&party->prng, 3)) {
		struct entry_spec spec = test_pool_spec(pool, &key->key,
		    &serial, sizeof(serial));

		serial = ++party->serials;
		result = write_set(pool, &spec, party->now, &version);
	} else {
		result = write_delete(pool, &key->key, 0, party->now);
	}
	if (result != OK && result != MISS) {
		party_fail(party, "a change says %d", (int)result);
	}
	key->unsure = false;
	key->serial = serial;
	/* Deleting nothing may leave a flight as it is. */
	touch_leaders(party, number, result == OK ? 2 : 1);
	party_read(party, number);
}

static void
check_swept(struct party *party, const struct limiter *limiter)
{
	for (uint32_t i = 1; i <= limiter->permit_capacity; i++) {
		const struct limiter_permit *permit = &limiter->permits[i];
		uint64_t client = permit->owner & 0xff;

		if (permit->owner == 0) {
			continue;
		}
		if (party->client[client].holder != permit->owner) {
			party_fail(party, "a sweep leaves a dead caller's "
			    "permit");
		} else if (party->now.ms >= permit->deadline_ms) {
			party_fail(party, "a sweep leaves an overdue permit");
		}
	}
	for (uint32_t i = 1; i <= limiter->place_capacity; i++) {
		const struct limiter_place *place = &limiter->places[i];
		uint32_t worker = limiter_worker_index(place->worker);

		if (place->owner != 0 &&
		    (party->client[place->owner & 0xff].holder !=
		    place->owner || party->worker[worker].dead ||
		    party->worker[worker].word != place->worker)) {
			party_fail(party, "a sweep leaves a dead one's "
			    "place");
		}
	}
}

static void
check_led(struct party *party, uint32_t shard)
{
	struct flight_table table = pool_flights(&party->pool[0], shard);

	for (uint32_t i = 1; i <= table.capacity && table.state->used != 0;
	    i++) {
		const struct flight *flight = &table.flights[i];

		if (flight->state == FLIGHT_LEADING &&
		    (party->now.ms >= flight->deadline_ms ||
		    party->client[flight->leader & 0xff].holder !=
		    flight->leader)) {
			party_fail(party, "a sweep leaves a lost leader");
		}
	}
}

void
party_sweep(struct party *party)
{
	const struct pool *pool = &party->pool[party->acting];
	uint64_t dead = 0;
	unsigned events;

	for (uint32_t w = 0; w < PARTY_WORKERS; w++) {
		dead |= (uint64_t)party->worker[w].dead << w;
	}
	party_before(party);
	(void)origin_sweep(&party->origin, party->now, &events);
	party_after(party, EDGE_NONE, ORIGIN_GRANTED);
	check_swept(party, &party->origin.limiter);
	check_swept(party, &party->origin.upload);
	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		if (lease_sweep(pool, &party->door, s, dead, party->now) !=
		    OK) {
			party_fail(party, "a shard cannot be swept");
		}
		check_led(party, s);
	}
	/* Their successors start when nothing of them is left. */
	for (uint32_t w = 0; w < PARTY_WORKERS; w++) {
		if (party->worker[w].dead) {
			party->worker[w].dead = false;
			party->worker[w].word = limiter_worker(w,
			    ++party->lives);
		}
	}
}

static void
set_limit(struct party *party)
{
	uint32_t limit = 1 + prng_below(&party->prng, 6), old;
	uint32_t calls = party->origin.limiter.state->in_flight;
	uint32_t uploads = party->origin.upload.state->in_flight;

	if (party->broken) {
		/* Numbers to look at later: what is believed is less. */
		return;
	}
	if (calls > party->draining[0]) {
		party->draining[0] = calls;
	}
	if (uploads > party->draining[1]) {
		party->draining[1] = uploads;
	}
	party_before(party);
	(void)origin_set_limit(&party->origin, limit, party->now, &old);
	party_after(party, EDGE_NONE, ORIGIN_GRANTED);
}

void
party_by_hand(struct party *party)
{
	struct prng *prng = &party->prng;
	struct boot_ms until = { party->now.ms + 1 + prng_below(prng, 500) };
	struct boot_ms never = { 0 };
	uint32_t dice = prng_below(prng, 10);

	if (dice < 5) {
		set_limit(party);
		return;
	}
	party_before(party);
	if (dice == 5) {
		(void)origin_trip(&party->origin, prng_next(prng),
		    party->now);
	} else if (dice < 8) {
		(void)origin_reset(&party->origin, party->now);
	} else {
		(void)origin_hold(&party->origin, dice == 8 ? BREAKER_OPEN :
		    BREAKER_CLOSED, prng_one_in(prng, 3) ? never : until,
		    party->now);
	}
	party_after(party, EDGE_HAND, ORIGIN_GRANTED);
}
