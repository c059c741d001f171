/* SPDX-License-Identifier: ISC */

/*
 * Beginning, waiting for and touching flights; see flight.h.  How they end is
 * flight_end.c, the records and their lists are flight_records.c.
 */
#include "flight.h"

#include <string.h>

#include "flight_records.h"

static uint64_t
bit_of(uint32_t worker)
{
	return 1ull << (worker & 63);
}

static enum flight_answer
lead(const struct flight_table *table, uint32_t index,
    const struct flight_caller *caller, const struct flight_scene *scene,
    bool took_over, struct flight_ticket *ticket)
{
	struct flight *flight = &table->flights[index];

	/* First of all: what the one before had ends nothing any more. */
	flight->token = ++table->state->last_token;
	flight->leader = caller->holder;
	flight->thread = caller->thread;
	flight->started_ms = scene->now.ms;
	flight->deadline_ms = scene->now.ms + scene->lease_ms;
	flight->epoch = scene->epoch;
	flight->touched = 0;
	flight->state = FLIGHT_LEADING;
	ticket->index = index;
	ticket->token = flight->token;
	ticket->epoch = flight->epoch;
	ticket->until_ms = flight->deadline_ms;
	ticket->took_over = took_over;
	return FLIGHT_LEAD;
}

static void
count_in(struct flight *flight, uint32_t worker, uint32_t waiters)
{
	uint32_t sum = flight->waiters + waiters;

	flight->waiting_workers |= bit_of(worker);
	flight->waiters = sum > UINT16_MAX ? UINT16_MAX : (uint16_t)sum;
}

/* The bits are the truth: see 3. */
static void
count_out(struct flight *flight, uint32_t worker, uint32_t waiters,
    bool none_left)
{
	uint32_t rest = flight->waiters > waiters ?
	    flight->waiters - waiters : 0;
	uint32_t workers;

	if (none_left) {
		flight->waiting_workers &= ~bit_of(worker);
	}
	workers = (uint32_t)__builtin_popcountll(flight->waiting_workers);
	if (workers == 0 || rest < workers) {
		rest = workers;
	}
	flight->waiters = (uint16_t)rest;
}

static enum flight_answer
join(struct flight *flight, uint32_t index,
    const struct flight_caller *caller, struct flight_ticket *ticket)
{
	ticket->index = index;
	ticket->token = flight->token;
	ticket->until_ms = flight->deadline_ms;
	if (!caller->may_wait) {
		return FLIGHT_UNDER_WAY;
	}
	if (flight->waiters >= FLIGHT_WAITERS_MAX) {
		return FLIGHT_WAITERS_FULL;
	}
	count_in(flight, caller->worker, 1);
	return FLIGHT_WAIT;
}

/* The key has no flight; perhaps a note, which is over and goes. */
static enum flight_answer
take_off(const struct flight_table *table, const struct flight_key *key,
    uint32_t note, const struct flight_caller *caller,
    const struct flight_scene *scene, struct flight_ticket *ticket)
{
	const struct flight *noted = flight_at(table, note);
	uint8_t failures = noted != NULL ? noted->failures : 0;
	uint32_t index = flight_allocate(table, key);

	if (index == 0) {
		return FLIGHT_TABLE_FULL;
	}
	flight_release(table, note);
	table->flights[index].failures = failures;
	return lead(table, index, caller, scene, false, ticket);
}

enum flight_answer
flight_begin(const struct flight_table *table, const struct flight_key *key,
    const struct flight_caller *caller, const struct flight_scene *scene,
    struct flight_ticket *ticket)
{
	uint32_t index = flight_find(table, key);
	struct flight *flight = flight_at(table, index);

	memset(ticket, 0, sizeof(*ticket));
	if (flight == NULL) {
		return take_off(table, key, 0, caller, scene, ticket);
	}
	switch (flight->state) {
	case FLIGHT_LEADING:
		if (flight_leader_lost(flight, scene)) {
			break;
		}
		if (caller->thread != 0 && caller->may_wait &&
		    flight->leader == caller->holder &&
		    flight->thread == caller->thread) {
			return FLIGHT_DEADLOCK;
		}
		return join(flight, index, caller, ticket);
	case FLIGHT_OFFERED:
		if (scene->now.ms < flight->deadline_ms) {
			return join(flight, index, caller, ticket);
		}
		break;
	default:
		if (scene->now.ms >= flight->deadline_ms) {
			return take_off(table, key, index, caller, scene,
			    ticket);
		}
		ticket->until_ms = flight->deadline_ms;
		return flight->state == FLIGHT_MARK ? FLIGHT_ALONE :
		    FLIGHT_BACK_OFF;
	}
	return lead(table, index, caller, scene, true, ticket);
}

/* Nothing yet.  A bit that went with another life of the worker comes back. */
static enum flight_answer
wait_on(struct flight *flight, const struct flight_caller *caller,
    uint32_t waiters, bool counted, struct flight_ticket *ticket)
{
	if (!counted) {
		count_in(flight, caller->worker, waiters);
	}
	ticket->token = flight->token;
	ticket->until_ms = flight->deadline_ms;
	return FLIGHT_WAIT;
}

enum flight_answer
flight_collect(const struct flight_table *table, const struct flight_key *key,
    const struct flight_caller *caller, uint32_t waiters,
    const struct flight_scene *scene, struct flight_ticket *ticket,
    struct flight_ending *ending)
{
	struct flight *flight = flight_at(table, ticket->index);
	bool counted;

	memset(ending, 0, sizeof(*ending));
	ending->outcome = FLIGHT_LOOK_AGAIN;
	if (flight == NULL || !flight_is_of(flight, key)) {
		return FLIGHT_ENDED_NOW;
	}
	counted = (flight->waiting_workers & bit_of(caller->worker)) != 0;
	if (!counted && flight->token != ticket->token) {
		return FLIGHT_ENDED_NOW;	/* the next one of the key */
	}
	switch (flight->state) {
	case FLIGHT_LEADING:
		if (!flight_leader_lost(flight, scene)) {
			return wait_on(flight, caller, waiters, counted,
			    ticket);
		}
		break;
	case FLIGHT_OFFERED:
		if (flight->offered_worker != caller->worker &&
		    scene->now.ms < flight->deadline_ms) {
			return wait_on(flight, caller, waiters, counted,
			    ticket);
		}
		break;
	case FLIGHT_ENDED:
		ending->outcome = (enum flight_outcome)flight->outcome;
		ending->code = flight->code;
		ending->retry_after_ms = flight->retry_after_ms;
		count_out(flight, caller->worker, waiters, true);
		if (flight->waiting_workers == 0) {
			flight_release(table, ticket->index);
		}
		return FLIGHT_ENDED_NOW;
	default:
		return FLIGHT_ENDED_NOW;
	}
	if (!counted) {
		count_in(flight, caller->worker, waiters);
	}
	count_out(flight, caller->worker, 1, waiters <= 1);
	return lead(table, ticket->index, caller, scene, true, ticket);
}

bool
flight_leave(const struct flight_table *table, const struct flight_key *key,
    uint32_t index, uint32_t worker, uint32_t waiters, uint32_t left,
    uint64_t *tell)
{
	struct flight *flight = flight_at(table, index);

	*tell = 0;
	if (flight == NULL || !flight_is_of(flight, key) ||
	    (flight->waiting_workers & bit_of(worker)) == 0) {
		return false;
	}
	count_out(flight, worker, waiters, left == 0);
	if (flight->waiting_workers != 0) {
		if (flight->state == FLIGHT_OFFERED && left == 0 &&
		    flight->offered_worker == worker) {
			flight->offered_worker = flight_next_worker(
			    flight->waiting_workers, worker);
			*tell = bit_of(flight->offered_worker);
		}
		return false;
	}
	if (flight->state == FLIGHT_OFFERED) {
		flight_release(table, index);
		return true;
	}
	if (flight->state == FLIGHT_ENDED) {
		flight_release(table, index);
	}
	return false;
}

uint32_t
flight_touch(const struct flight_table *table, uint64_t hash)
{
	uint32_t index, touched = 0;

	if (table->state->used + table->state->noted == 0) {
		return 0;
	}
	index = flight_first(table, hash);
	for (uint32_t i = table->capacity + FLIGHT_NOTES * table->notes;
	    i > 0; i--) {
		struct flight *flight = flight_at(table, index);
		uint32_t next;

		if (flight == NULL) {
			break;
		}
		next = flight->next;
		if (flight->hash == hash && index > table->capacity) {
			/* A newer state ends a back-off and a mark. */
			flight_release(table, index);
		} else if (flight->hash == hash &&
		    flight->state != FLIGHT_ENDED) {
			touched += flight->touched == 0;
			flight->touched = 1;
		}
		index = next;
	}
	return touched;
}

bool
flight_is_under_way(const struct flight_table *table, uint64_t hash)
{
	uint32_t index = flight_first(table, hash);

	for (uint32_t i = table->capacity; i > 0; i--) {
		const struct flight *flight = flight_at(table, index);

		if (flight == NULL) {
			return false;
		}
		if (flight->hash == hash && (flight->state ==
		    FLIGHT_LEADING || flight->state == FLIGHT_OFFERED)) {
			return true;
		}
		index = flight->next;
	}
	return false;
}
