/* SPDX-License-Identifier: ISC */

/*
 * What the dead have left: single slots are freed by a sweep; after a death
 * under the lock everything that follows from the slots is made anew, in
 * O(n log n) whatever order the places are in.  Daemon processes, with the
 * origin's lock.
 */
#include "limiter.h"

#include <string.h>

#include "fault.h"
#include "limiter_heap.h"
#include "limiter_rows.h"
#include "limiter_slots.h"

/* Who says what is over. */
struct judge {
	struct boot_ms	now;
	limiter_dead_fn	dead;
	limiter_worker_dead_fn worker_dead;
	void		*arg;
};

static bool
is_dead(const struct judge *judge, uint64_t owner)
{
	return judge->dead != NULL && judge->dead(judge->arg, owner);
}

/* Counts it if so. */
static bool
permit_is_over(struct limiter *limiter, const struct judge *judge,
    const struct limiter_permit *permit)
{
	if (is_dead(judge, permit->owner) && !FAULT(limiter_leaks_permit)) {
		limiter->state->swept++;
		return true;
	}
	if (judge->now.ms >= permit->deadline_ms &&
	    !FAULT(limiter_keeps_overdue)) {
		limiter->state->overdue++;
		return true;
	}
	return false;
}

static bool
place_is_over(struct limiter *limiter, const struct judge *judge,
    const struct limiter_place *place)
{
	if (is_dead(judge, place->owner) || (judge->worker_dead != NULL &&
	    !FAULT(limiter_keeps_places) &&
	    judge->worker_dead(judge->arg, place->worker))) {
		limiter->state->swept++;
		return true;
	}
	/* Its permit was overdue, or its owner's and swept. */
	return place->state == LIMITER_PLACE_GRANTED &&
	    !limiter_place_owns(limiter, place);
}

void
limiter_sweep(struct limiter *limiter, const struct limiter_config *config,
    struct boot_ms now, limiter_dead_fn dead,
    limiter_worker_dead_fn worker_dead, void *arg, uint64_t *told)
{
	const struct judge judge = { now, dead, worker_dead, arg };
	const struct limiter_state *state = limiter->state;
	uint32_t permits = state->in_flight;
	uint32_t places = state->waiting + state->uncollected;

	/* Free slots are taken from the front: the rest is mostly free. */
	for (uint32_t i = 1; i <= limiter->permit_capacity && permits > 0;
	    i++) {
		if (limiter->permits[i].owner == 0) {
			continue;
		}
		permits--;
		if (permit_is_over(limiter, &judge, &limiter->permits[i])) {
			limiter_permit_free(limiter, config, i);
		}
	}
	for (uint32_t i = 1; i <= limiter->place_capacity && places > 0;
	    i++) {
		if (limiter->places[i].owner == 0) {
			continue;
		}
		places--;
		if (place_is_over(limiter, &judge, &limiter->places[i])) {
			limiter_place_drop(limiter, config, i);
		}
	}
	limiter_grant(limiter, config, now, told);
}

static void
keep_highest(uint64_t *highest, uint64_t number)
{
	if (number > *highest && number < LIMITER_NUMBER_MAX) {
		*highest = number;
	}
}

/* Of all slots, free ones too: see 4 in limiter.h. */
static void
find_next_number(struct limiter *limiter)
{
	uint64_t highest = 0;

	keep_highest(&highest, limiter->state->next_number);
	for (uint32_t i = 1; i <= limiter->permit_capacity; i++) {
		keep_highest(&highest, limiter->permits[i].token);
	}
	for (uint32_t i = 1; i <= limiter->place_capacity; i++) {
		keep_highest(&highest, limiter->places[i].number);
		keep_highest(&highest, limiter->places[i].token);
	}
	limiter->state->next_number = highest;
}

static void
clear_derived(struct limiter *limiter)
{
	struct limiter_state *state = limiter->state;

	limiter_rows_clear(limiter);
	state->in_flight = 0;
	state->waiting = 0;
	state->uncollected = 0;
	state->free_permit = 0;
	state->free_place = 0;
	memset(state->granted_head, 0, sizeof(state->granted_head));
	memset(state->granted_tail, 0, sizeof(state->granted_tail));
}

/* Of the caps that its slots' requests said, a row has the last. */
static void
set_cap(struct limiter *limiter, uint32_t number, uint64_t arrival,
    uint32_t cap)
{
	struct limiter_row *row = limiter_row_at(limiter, number);

	if (arrival >= row->cap_number) {
		row->cap_number = arrival;
		row->cap = cap;
	}
}

static uint64_t
earlier(uint64_t one_ms, uint64_t other_ms)
{
	return one_ms < other_ms ? one_ms : other_ms;
}

static bool
permit_has_sense(const struct limiter_permit *permit)
{
	return permit->token != 0 && permit->token < LIMITER_NUMBER_MAX &&
	    permit->number != 0 && permit->number <= permit->token;
}

static void
count_permits(struct limiter *limiter, const struct limiter_config *config,
    const struct judge *judge)
{
	struct limiter_state *state = limiter->state;

	for (uint32_t i = limiter->permit_capacity; i >= 1; i--) {
		struct limiter_permit *permit = &limiter->permits[i];
		struct limiter_seat seat;

		if (permit->owner != 0 && permit_has_sense(permit) &&
		    !permit_is_over(limiter, judge, permit) &&
		    limiter_seat_make(limiter, permit->host,
		    permit->partition, permit->client, &seat)) {
			permit->row = seat.row;
			permit->client_row = seat.client_row;
			permit->deadline_ms = earlier(permit->deadline_ms,
			    judge->now.ms + config->permit_ms);
			limiter_seat_count(limiter, &seat, 1, 0);
			set_cap(limiter, seat.row, permit->number,
			    permit->cap);
			continue;
		}
		limiter_owner_store(&permit->owner, 0);
		permit->next_free = state->free_permit;
		state->free_permit = i;
	}
}

/* A grant that its giver did not live to complete is completed: (d). */
static void
mend_place(struct limiter *limiter, const struct limiter_config *config,
    struct limiter_place *place, struct boot_ms now)
{
	place->listed = 0;
	place->previous = 0;
	place->deadline_ms = earlier(place->deadline_ms,
	    now.ms + config->wait_ms);
	if (place->state != LIMITER_PLACE_WAITING) {
		return;
	}
	if (limiter_place_owns(limiter, place)) {
		place->state = LIMITER_PLACE_GRANTED;
		limiter->state->waited++;
	} else {
		place->token = 0;
	}
}

static bool
place_has_sense(const struct limiter_place *place)
{
	return (place->state == LIMITER_PLACE_WAITING ||
	    place->state == LIMITER_PLACE_GRANTED) &&
	    place->number != 0 && place->number < LIMITER_NUMBER_MAX &&
	    limiter_worker_index(place->worker) < LIMITER_WORKERS;
}

static void
free_place(struct limiter *limiter, uint32_t number)
{
	struct limiter_place *place = &limiter->places[number];

	limiter_owner_store(&place->owner, 0);
	place->state = LIMITER_PLACE_FREE;
	place->listed = 0;
	place->next = limiter->state->free_place;
	limiter->state->free_place = number;
}

/* The taken ones, as a list by next. */
static uint32_t
gather_places(struct limiter *limiter, const struct limiter_config *config,
    const struct judge *judge)
{
	uint32_t taken = 0;

	for (uint32_t i = limiter->place_capacity; i >= 1; i--) {
		struct limiter_place *place = &limiter->places[i];

		if (place->owner != 0 && place_has_sense(place)) {
			mend_place(limiter, config, place, judge->now);
			if (!place_is_over(limiter, judge, place)) {
				place->next = taken;
				taken = i;
				continue;
			}
			/* Its worker is dead, its owner may not be. */
			if (limiter_place_owns(limiter, place)) {
				limiter_permit_free(limiter, config,
				    place->permit);
			}
		}
		free_place(limiter, i);
	}
	return taken;
}

static uint32_t
merge_lists(struct limiter *limiter, uint32_t one, uint32_t other)
{
	uint32_t merged = 0;
	uint32_t *end = &merged;

	while (one != 0 && other != 0) {
		uint32_t *less = limiter->places[one].number <=
		    limiter->places[other].number ? &one : &other;

		*end = *less;
		end = &limiter->places[*less].next;
		*less = *end;
	}
	*end = one != 0 ? one : other;
	return merged;
}

/*
 * A merge sort from below: runs[i] is empty or holds 2^i places, which came
 * earlier in the list than those of runs[i - 1].
 */
static uint32_t
sort_by_number(struct limiter *limiter, uint32_t list)
{
	uint32_t runs[32] = { 0 };
	uint32_t sorted = 0;

	while (list != 0) {
		uint32_t run = list;
		unsigned i = 0;

		list = limiter->places[run].next;
		limiter->places[run].next = 0;
		for (; runs[i] != 0; i++) {
			run = merge_lists(limiter, runs[i], run);
			runs[i] = 0;
		}
		runs[i] = run;
	}
	for (unsigned i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		sorted = merge_lists(limiter, runs[i], sorted);
	}
	return sorted;
}

static void
queue_place(struct limiter *limiter, uint32_t number)
{
	struct limiter_place *place = &limiter->places[number];
	struct limiter_seat seat;

	/* It fits: there are three rows for each slot. */
	if (!limiter_seat_make(limiter, place->host, place->partition,
	    place->client, &seat)) {
		free_place(limiter, number);
		return;
	}
	place->row = seat.row;
	place->client_row = seat.client_row;
	limiter_seat_count(limiter, &seat, 0, 1);
	set_cap(limiter, seat.row, place->number, place->cap);
	limiter_queue_append(limiter, number);
}

/* Of two with one number, which is nobody's doing, the second goes. */
static void
link_places(struct limiter *limiter, uint32_t list, uint64_t *told)
{
	uint64_t last = 0;

	while (list != 0) {
		const struct limiter_place *place = &limiter->places[list];
		uint32_t number = list;

		list = place->next;
		if (place->number == last) {
			free_place(limiter, number);
			continue;
		}
		last = place->number;
		if (place->state == LIMITER_PLACE_WAITING) {
			queue_place(limiter, number);
			continue;
		}
		limiter->state->uncollected++;
		limiter_granted_append(limiter, number);
		*told |= UINT64_C(1) << limiter_worker_index(place->worker);
	}
}

void
limiter_rebuild(struct limiter *limiter, const struct limiter_config *config,
    struct boot_ms now, limiter_dead_fn dead,
    limiter_worker_dead_fn worker_dead, void *arg, uint64_t *told)
{
	const struct judge judge = { now, dead, worker_dead, arg };
	uint32_t list;

	find_next_number(limiter);
	clear_derived(limiter);
	count_permits(limiter, config, &judge);
	list = gather_places(limiter, config, &judge);
	link_places(limiter, sort_by_number(limiter, list), told);
	for (uint32_t i = 1; i <= limiter->state->row_top; i++) {
		if (limiter->rows[i].kind == LIMITER_ROW_PARTITION) {
			limiter_heap_settle(limiter, config, i);
		}
	}
	limiter_grant(limiter, config, now, told);
}
