/* SPDX-License-Identifier: ISC */

/*
 * Setting up a party, its doors, and its deaths.
 */
#include "party.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "origin_record.h"
#include "pin.h"
#include "point.h"
#include "test_pool.h"

#define FIRST_MS	1000000u
#define POOL_BYTES	(4u << 20)
#define EXTENT_BYTES	(16u << 10)
#define ALIGNMENT	64u
#define HOLDER_SHIFT	8

/* A call back from under a lock is a place to die at, as named points are. */
static void
meet(const char *name)
{
	if (shm_point_hook != NULL) {
		shm_point_hook(name);
	}
}

static bool
holder_is_dead(void *arg, uint64_t holder)
{
	const struct party *party = arg;
	uint64_t client = holder & ((1u << HOLDER_SHIFT) - 1);

	meet("asked_for_holder");
	return client >= PARTY_CLIENTS ||
	    party->client[client].holder != holder;
}

static bool
worker_is_dead(void *arg, uint64_t word)
{
	const struct party *party = arg;
	uint32_t worker = limiter_worker_index(word);

	meet("asked_for_worker");
	return worker >= PARTY_WORKERS || party->worker[worker].dead ||
	    party->worker[worker].word != word;
}

static void
tell_origin(void *arg, uint32_t origin, uint64_t workers)
{
	struct party *party = arg;

	(void)origin;
	meet("origin_not_told");
	for (uint32_t w = 0; w < PARTY_WORKERS; w++) {
		if ((workers >> w & 1) != 0) {
			party->worker[w].told = true;
		}
	}
	meet("origin_told");
}

static void
tell_flight(void *arg, const struct pool *pool, uint32_t shard,
    uint32_t flight, uint64_t workers)
{
	struct party *party = arg;

	(void)pool;
	meet("flight_not_told");
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		struct caller *caller = &party->caller[i];
		uint32_t worker = party->client[caller->client].worker;

		if (caller->state == CALLER_JOINED &&
		    caller->lease.shard == shard &&
		    caller->lease.ticket.index == flight &&
		    (workers >> worker & 1) != 0) {
			caller->told = true;
		}
	}
}

void
party_fail(struct party *party, const char *why_format, ...)
{
	va_list args;

	if (party_failed(party)) {
		return;		/* the first is the cause */
	}
	va_start(args, why_format);
	(void)vsnprintf(party->error, sizeof(party->error), why_format, args);
	va_end(args);
}

static struct origin_config
draw_config(struct party *party)
{
	struct prng *prng = &party->prng;
	struct origin_config config;

	origin_config_init(&config);
	config.limiter.limit = 1 + prng_below(prng, 6);
	config.limiter.places = prng_below(prng, 14);
	config.limiter.wait_ms = 50 + prng_below(prng, 1000);
	config.limiter.partition_cap = prng_below(prng, 4);
	config.limiter.partition_places = prng_below(prng, 6);
	config.limiter.client_cap = prng_one_in(prng, 2) ? 0 :
	    1 + prng_below(prng, 6);
	config.limiter.host_cap = prng_one_in(prng, 2) ? 0 :
	    1 + prng_below(prng, 4);
	config.limiter.reserve_pct = prng_below(prng, 60);
	config.limiter.permit_ms = 200 + prng_below(prng, 2000);
	config.breaker.enabled = !prng_one_in(prng, 4);
	config.breaker.window_ms = 500 + prng_below(prng, 2000);
	config.breaker.min_outcomes = 2 + prng_below(prng, 5);
	config.breaker.min_partitions = 1 + prng_below(prng, 2);
	config.breaker.open_ms = 50 + prng_below(prng, 400);
	config.breaker.open_max_ms = config.breaker.open_ms * 4;
	config.breaker_by_partition = prng_one_in(prng, 4);
	origin_config_derive(&config);
	return config;
}

static bool
open_origin(struct party *party)
{
	struct origin_config config = draw_config(party);
	const struct origin_door door = {
		.dead = holder_is_dead,
		.worker_dead = worker_is_dead,
		.tell = tell_origin,
		.arg = party,
	};

	party->memory_bytes = (origin_bytes(&config) + ALIGNMENT - 1) /
	    ALIGNMENT * ALIGNMENT;
	party->memory = party->memory_bytes == 0 ? NULL :
	    aligned_alloc(ALIGNMENT, party->memory_bytes);
	if (party->memory == NULL) {
		return false;
	}
	memset(party->memory, 0, party->memory_bytes);
	return origin_create(party->memory, "sim", &config) == OK &&
	    origin_bind(&party->origin, party->memory, party->memory_bytes,
	    0, &door);
}

static void
begin_life(struct party *party, uint32_t client)
{
	party->client[client].holder = ++party->lives << HOLDER_SHIFT |
	    client;
}

bool
party_open(struct party *party, uint64_t seed)
{
	memset(party, 0, sizeof(*party));
	prng_init(&party->prng, seed);
	party->now.ms = FIRST_MS;
	party->busy = PARTY_CALLERS;
	party->steps = 100 + prng_below(&party->prng, 600);
	party->by_hand = prng_one_in(&party->prng, 2);
	party->death_one_in = prng_one_in(&party->prng, 3) ? 0 :
	    10 + prng_below(&party->prng, 40);
	party->pool[0] = test_pool_make(POOL_BYTES, EXTENT_BYTES,
	    PARTY_WORKERS);
	for (uint32_t w = 0; w < PARTY_WORKERS; w++) {
		party->pool[w] = party->pool[0];
		pool_become_worker(&party->pool[w], w);
		party->worker[w].word = limiter_worker(w, ++party->lives);
	}
	for (uint32_t c = 0; c < PARTY_CLIENTS; c++) {
		begin_life(party, c);
		party->client[c].worker = c % PARTY_WORKERS;
	}
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		party->caller[i].client = i % PARTY_CLIENTS;
		party->caller[i].thread = i + 1;
	}
	for (uint32_t k = 0; k < PARTY_KEYS; k++) {
		struct party_key *key = &party->key[k];

		(void)snprintf(key->text, sizeof(key->text), "key-%u", k);
		key->key = test_pool_key(&party->pool[0], key->text);
	}
	party->door = (struct lease_door){ holder_is_dead, tell_flight,
	    party };
	return open_origin(party);
}

void
party_close(struct party *party)
{
	free(party->memory);
	pool_destroy(&party->pool[0]);
}

void
party_kill_client(struct party *party, uint32_t client)
{
	/* Its life is over; the next one has another name. */
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		struct caller *caller = &party->caller[i];

		if (caller->client != client) {
			continue;
		}
		/* Its worker takes its waiters out. */
		if (caller->state == CALLER_JOINED &&
		    party->busy == PARTY_CALLERS) {
			party_leave(party, i);
		}
		caller->state = CALLER_IDLE;
		caller->leads = false;
		caller->unsure = false;
	}
	begin_life(party, client);
}

static uint32_t
living_worker(struct party *party)
{
	uint32_t worker = prng_below(&party->prng, PARTY_WORKERS);

	while (party->worker[worker].dead) {
		worker = (worker + 1) % PARTY_WORKERS;
	}
	return worker;
}

/* Its connection is gone: what it knew of waits and tickets, too. */
static void
lose_worker(struct caller *caller, bool busy)
{
	if (caller->state == CALLER_CALLING) {
		caller->unsure = caller->unsure || busy;
		return;
	}
	caller->state = CALLER_IDLE;
	caller->leads = false;
	caller->unsure = false;
}

static void
take_over(struct party *party, uint32_t dead)
{
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		struct caller *caller = &party->caller[i];

		if (party->client[caller->client].worker == dead) {
			lose_worker(caller, i == party->busy);
		}
		/* What the dead one had to tell is told to all. */
		caller->told = true;
	}
	for (uint32_t c = 0; c < PARTY_CLIENTS; c++) {
		if (party->client[c].worker == dead) {
			party->client[c].worker = living_worker(party);
			if (prng_one_in(&party->prng, 4)) {
				party_kill_client(party, c);
			}
		}
	}
}

/* A recovery that died is not tried again: the shard is emptied. */
static void
forget_flights(struct party *party)
{
	bool emptied = false;

	for (uint32_t s = 0; s < party->pool[0].g.shard_count; s++) {
		emptied = emptied ||
		    party->pool[0].shards_private[s].recovering != 0;
	}
	for (uint32_t i = 0; emptied && i < PARTY_CALLERS; i++) {
		party->caller[i].leads = false;
	}
	for (uint32_t k = 0; emptied && k < PARTY_KEYS; k++) {
		party->key[k].unsure = true;
	}
}

void
party_bury(struct party *party)
{
	uint32_t dead = party->acting;

	party->deaths++;
	party->broken = true;
	party->worker[dead].dead = true;
	pin_clear_worker(&party->pool[0], dead);
	for (uint32_t w = 0; w < PARTY_WORKERS; w++) {
		party->worker[w].told = true;
	}
	if (party->busy < PARTY_CALLERS) {
		struct caller *caller = &party->caller[party->busy];

		/* One that is served by another's worker cannot be. */
		if (caller->state != CALLER_CALLING) {
			lose_worker(caller, true);
		} else {
			caller->unsure = true;
		}
	}
	take_over(party, dead);
	forget_flights(party);
	/* An edge that the dead one made was seen by nobody. */
	party->episode++;
	party->busy = PARTY_CALLERS;
}
