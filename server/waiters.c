/* SPDX-License-Identifier: ISC */

/*
 * Two hash tables of lists: groups by flight, asks by place.  Lists are walked
 * while asks leave and new groups come: who is gone on with is taken out
 * first, and a walk begins anew after each.
 */
#include "waiters.h"

#include <stdlib.h>

#include "session.h"
#include "worker.h"

#define HEADS	1024u

struct flight_group {
	LIST_ENTRY(flight_group) link;
	struct worker	*worker;
	const struct pool *pool;
	struct lease	lease;
	uint32_t	count;
	bool		due;		/* to be looked at in this round */
	struct event_timer timer;
	struct ask_list	asks;
};

LIST_HEAD(group_list, flight_group);

struct waiters {
	uint32_t	groups;
	struct group_list group_heads[HEADS];
	struct ask_list	place_heads[HEADS];
};

bool
waiters_create(struct worker *worker)
{
	/* All zero is HEADS empty lists. */
	worker->waiters = calloc(1, sizeof(*worker->waiters));
	return worker->waiters != NULL;
}

void
waiters_destroy(struct worker *worker)
{
	free(worker->waiters);
	worker->waiters = NULL;
}

static struct group_list *
group_head(struct waiters *waiters, uint32_t shard, uint32_t flight)
{
	return &waiters->group_heads[(shard * 0x9e3779b1u + flight) % HEADS];
}

static struct ask_list *
place_head(struct waiters *waiters, uint32_t origin, bool upload,
    uint32_t place)
{
	return &waiters->place_heads[(origin * 2 + upload + place * 64) %
	    HEADS];
}

static void
group_free(struct flight_group *group)
{
	event_timer_stop(group->worker->loop, &group->timer);
	LIST_REMOVE(group, link);
	group->worker->waiters->groups--;
	free(group);
}

static void
take_out(struct flight_group *group, struct ask *ask)
{
	LIST_REMOVE(ask, of_group);
	ask->group = NULL;
	ask->conn->session->leases.waits--;
	group->count--;
}

static void	group_look(struct flight_group *group);

static void
group_timer_happened(void *arg)
{
	struct flight_group *group = arg;
	struct worker *worker = group->worker;

	group_look(group);
	wake_send(&worker->wake);
}

static void
group_set_timer(struct flight_group *group)
{
	struct boot_ms now = clock_boot_now();
	uint64_t until_ms = group->lease.ticket.until_ms;
	uint64_t left_ms = until_ms > now.ms ? until_ms - now.ms : 0;

	event_timer_start(group->worker->loop, &group->timer, (uint32_t)
	    (left_ms < UINT32_MAX ? left_ms : UINT32_MAX - 1) + 1, 0,
	    group_timer_happened, group);
}

/* Everybody in it is told the same; none is counted in the flight. */
static void
group_end(struct flight_group *group, const struct flight_ending *ending)
{
	struct flight_ending copy = *ending;
	struct ask_list asks;
	struct ask *ask;

	/* The group goes first: who asks again may join a new one. */
	LIST_INIT(&asks);
	while ((ask = LIST_FIRST(&group->asks)) != NULL) {
		take_out(group, ask);
		ask->state = ASK_NEW;
		LIST_INSERT_HEAD(&asks, ask, of_group);
	}
	group_free(group);
	while ((ask = LIST_FIRST(&asks)) != NULL) {
		LIST_REMOVE(ask, of_group);
		ask_ended(ask, &copy);
	}
}

static void
group_look(struct flight_group *group)
{
	struct worker *worker = group->worker;
	struct ask *ask = LIST_FIRST(&group->asks);
	struct lease_request request = {
		.caller = {
			.holder = ask->conn->session->leases.holder,
			.thread = ask->want.thread,
			.worker = worker->heritage->process,
			.may_wait = true,
		},
		.lease_ms = ask->want.lease_ms,
	};
	struct flight_ending ending;
	enum flight_answer answer;

	group->due = false;
	if (lease_collect(group->pool, &worker->lease_door, &request,
	    group->count, clock_boot_now(), &group->lease, &answer,
	    &ending) != OK) {
		/* The shard is locked: once more, soon. */
		group->lease.ticket.until_ms = clock_boot_now().ms + 10;
		group_set_timer(group);
		return;
	}
	switch (answer) {
	case FLIGHT_WAIT:
		group_set_timer(group);
		break;
	case FLIGHT_LEAD:
		ask->lease = group->lease;
		take_out(group, ask);
		ask->state = ASK_NEW;
		if (group->count == 0) {
			group_free(group);
		} else {
			group_set_timer(group);
		}
		ask_led(ask);
		break;
	default:
		if (answer != FLIGHT_ENDED_NOW) {
			ending = (struct flight_ending){
				.outcome = FLIGHT_LOOK_AGAIN,
			};
		}
		group_end(group, &ending);
		break;
	}
}

bool
waiters_join(struct worker *worker, struct ask *ask)
{
	const struct pool *pool = ask->conn->session->pool;
	struct group_list *head = group_head(worker->waiters,
	    ask->lease.shard, ask->lease.ticket.index);
	struct flight_group *group;

	LIST_FOREACH(group, head, link) {
		if (group->pool == pool &&
		    group->lease.shard == ask->lease.shard &&
		    group->lease.ticket.index == ask->lease.ticket.index &&
		    group->lease.ticket.token == ask->lease.ticket.token) {
			break;
		}
	}
	if (group == NULL) {
		group = calloc(1, sizeof(*group));
		if (group == NULL) {
			return false;
		}
		group->worker = worker;
		group->pool = pool;
		group->lease = ask->lease;
		LIST_INIT(&group->asks);
		LIST_INSERT_HEAD(head, group, link);
		worker->waiters->groups++;
		group_set_timer(group);
	}
	LIST_INSERT_HEAD(&group->asks, ask, of_group);
	ask->group = group;
	ask->conn->session->leases.waits++;
	group->count++;
	return true;
}

void
waiters_queue(struct worker *worker, struct ask *ask)
{
	LIST_INSERT_HEAD(place_head(worker->waiters, ask->origin->index,
	    ask->ticket.upload, ask->ticket.place), ask, of_group);
}

void
waiters_remove(struct worker *worker, struct ask *ask)
{
	struct flight_group *group = ask->group;

	if (ask->state == ASK_PLACE) {
		LIST_REMOVE(ask, of_group);
		return;
	}
	if (group == NULL) {
		return;
	}
	take_out(group, ask);
	(void)lease_leave(group->pool, &group->lease,
	    worker->heritage->process, 1, group->count);
	if (group->count == 0) {
		group_free(group);
	}
}

static bool
concerns(const struct flight_group *group, const struct wake_set *set)
{
	ptrdiff_t pool = group->pool - group->worker->heritage->pools;

	return set->all || (set->flights[pool] >>
	    (group->lease.ticket.index & 63) & 1) != 0;
}

static void
look_at_flights(struct worker *worker, const struct wake_set *set)
{
	struct waiters *waiters = worker->waiters;

	for (uint32_t h = 0; h < HEADS && waiters->groups > 0; h++) {
		struct flight_group *group;

		LIST_FOREACH(group, &waiters->group_heads[h], link) {
			group->due = concerns(group, set);
		}
	}
	for (uint32_t h = 0; h < HEADS && waiters->groups > 0; h++) {
		struct flight_group *group =
		    LIST_FIRST(&waiters->group_heads[h]);

		while (group != NULL) {
			if (!group->due) {
				group = LIST_NEXT(group, link);
				continue;
			}
			/* The list may be another one after it. */
			group_look(group);
			group = LIST_FIRST(&waiters->group_heads[h]);
		}
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

	for (uint32_t h = 0; h < HEADS; h++) {
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

static bool
is_open(struct origin *origin)
{
	struct origin_view view;

	return origin_look(origin, clock_boot_now(), &view) == OK &&
	    (view.breaker == BREAKER_OPEN || view.partitions_open > 0);
}

static void
look_at_places(struct worker *worker, const struct wake_set *set)
{
	uint64_t word = limiter_worker(worker->heritage->process,
	    worker->heritage->incarnation);
	struct wake_set open = { .all = set->all };

	for (uint32_t i = 0; i < worker->origin_count; i++) {
		struct origin *origin = &worker->origins[i];
		uint32_t place;
		bool upload;

		if (!set->all && (set->origins >> (i & 63) & 1) == 0) {
			continue;
		}
		while (origin_next_granted(origin, word, clock_boot_now(),
		    &place, &upload) == OK) {
			struct ask *ask = ask_at_place(worker->waiters, i,
			    upload, place);

			if (ask != NULL) {
				ask_collect_place(ask);
			}
		}
		if (is_open(origin)) {
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
		look_at_flights(worker, set);
	}
	if (set->all || set->origins != 0) {
		look_at_places(worker, set);
	}
}
