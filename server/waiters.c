/* SPDX-License-Identifier: ISC */

/*
 * Those who wait for a place in an origin's queue, and what wakes all.
 */
#include "waiters_tables.h"

#include <stdlib.h>

#include "session.h"

bool
waiters_create(struct worker *worker)
{
	/* All zero is WAITERS_HEADS empty lists. */
	worker->waiters = calloc(1, sizeof(*worker->waiters));
	return worker->waiters != NULL;
}

static struct ask_list *
place_head(struct waiters *waiters, uint32_t origin, bool upload,
    uint32_t place)
{
	return &waiters->place_heads[(origin * 0x9e3779b1u + place * 2 +
	    upload) % WAITERS_HEADS];
}

void
waiters_destroy(struct worker *worker)
{
	struct waiters *waiters = worker->waiters;

	if (waiters == NULL) {
		return;
	}
	/* Nobody waits any more: what is left was not counted out. */
	flight_groups_free(worker);
	event_timer_stop(worker->loop, &waiters->again);
	free(waiters);
	worker->waiters = NULL;
}

void
waiters_queue(struct worker *worker, struct ask *ask)
{
	LIST_INSERT_HEAD(place_head(worker->waiters, ask->origin->index,
	    ask->ticket.upload, ask->ticket.place), ask, of_group);
	ask->conn->session->leases.waits++;
}

void
waiters_remove(struct worker *worker, struct ask *ask)
{
	(void)worker;
	if (ask->state == ASK_PLACE) {
		LIST_REMOVE(ask, of_group);
		ask->conn->session->leases.waits--;
	} else if (ask->group != NULL) {
		flight_group_leave(ask);
	}
}

static struct ask *
ask_at_place(struct waiters *waiters, uint32_t origin, bool upload,
    uint32_t place)
{
	struct ask *ask;

	LIST_FOREACH(ask, place_head(waiters, origin, upload, place),
	    of_group) {
		if (ask->origin->index == origin &&
		    ask->ticket.upload == upload &&
		    ask->ticket.place == place) {
			return ask;
		}
	}
	return NULL;
}

/* The breaker opened, or a process died: each place is asked about. */
static void
collect_all_places(struct worker *worker, const struct wake_set *set)
{
	struct waiters *waiters = worker->waiters;

	for (uint32_t h = 0; h < WAITERS_HEADS; h++) {
		struct ask *ask, *next;
		struct ask_list walked;

		/* Onto a list of their own: those that stay come back. */
		LIST_INIT(&walked);
		for (ask = LIST_FIRST(&waiters->place_heads[h]); ask != NULL;
		    ask = next) {
			next = LIST_NEXT(ask, of_group);
			if (set->all || (set->origins >>
			    (ask->origin->index & 63) & 1) != 0) {
				LIST_REMOVE(ask, of_group);
				LIST_INSERT_HEAD(&walked, ask, of_group);
			}
		}
		while ((ask = LIST_FIRST(&walked)) != NULL) {
			LIST_REMOVE(ask, of_group);
			LIST_INSERT_HEAD(&waiters->place_heads[h], ask,
			    of_group);
			ask_collect_place(ask);
		}
	}
}

/*
 * OK; BUSY: the origin is locked, and has to be looked at again.  *opened: a
 * breaker has, so all that wait have to be told.
 */
static enum result
take_granted(struct worker *worker, uint32_t index, uint64_t word,
    bool *opened)
{
	struct origin *origin = &worker->origins[index];
	uint64_t *seen = &worker->waiters->openings[index];
	uint64_t openings = origin_openings(origin);
	enum result result;
	uint32_t place;
	bool upload;

	while ((result = origin_next_granted(origin, word, clock_boot_now(),
	    &place, &upload)) == OK) {
		struct ask *ask = ask_at_place(worker->waiters, index, upload,
		    place);

		if (ask != NULL) {
			ask_collect_place(ask);
		}
	}
	if (result == BUSY) {
		return BUSY;
	}
	*opened = openings != *seen;
	*seen = openings;
	return OK;
}

static void
look_again(void *arg)
{
	struct worker *worker = arg;
	struct wake_set set = { .origins = worker->waiters->locked_origins };

	worker->waiters->locked_origins = 0;
	waiters_look(worker, &set);
	wake_send(&worker->wake);
}

static void
look_at_places(struct worker *worker, const struct wake_set *set)
{
	uint64_t word = limiter_worker(worker->heritage->process,
	    worker->heritage->incarnation);
	struct wake_set open = { .all = set->all };

	for (uint32_t i = 0; i < worker->origin_count; i++) {
		bool opened = false;

		if (!set->all && (set->origins >> (i & 63) & 1) == 0) {
			continue;
		}
		if (take_granted(worker, i, word, &opened) != OK) {
			/* The bit was taken: nobody else remembers. */
			worker->waiters->locked_origins |= 1ull << (i & 63);
			event_timer_start(worker->loop,
			    &worker->waiters->again, WAITERS_AGAIN_MS, 0,
			    look_again, worker);
		}
		if (opened) {
			open.origins |= 1ull << (i & 63);
		}
	}
	if (open.all || open.origins != 0) {
		collect_all_places(worker, &open);
	}
}

void
waiters_look(struct worker *worker, const struct wake_set *set)
{
	bool any = set->all;

	for (uint32_t i = 0; i < CONFIG_POOLS_MAX; i++) {
		any = any || set->flights[i] != 0;
	}
	if (any) {
		flight_groups_look(worker, set);
	}
	if (set->all || set->origins != 0) {
		look_at_places(worker, set);
	}
}
