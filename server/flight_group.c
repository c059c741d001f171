/* SPDX-License-Identifier: ISC */

/*
 * Those who wait for one flight in this worker.
 */
#include "waiters_tables.h"

#include <stdlib.h>
#include <string.h>

#include "session.h"

struct flight_group {
	LIST_ENTRY(flight_group) link;
	struct worker	*worker;
	const struct pool *pool;
	struct lease	lease;
	uint32_t	count;
	uint32_t	owed;		/* left, and not counted out yet */
	bool		due;		/* to be looked at in this round */
	struct event_timer timer;
	struct ask_list	asks;
};

static struct group_list *
group_head(struct waiters *waiters, uint32_t shard, uint32_t flight)
{
	return &waiters->group_heads[(shard * 0x9e3779b1u + flight) %
	    WAITERS_HEADS];
}

static void
group_free(struct flight_group *group)
{
	event_timer_stop(group->worker->loop, &group->timer);
	LIST_REMOVE(group, link);
	group->worker->waiters->groups--;
	free(group);
}

void
flight_groups_free(struct worker *worker)
{
	for (uint32_t h = 0; h < WAITERS_HEADS; h++) {
		struct group_list *head = &worker->waiters->group_heads[h];

		while (!LIST_EMPTY(head)) {
			group_free(LIST_FIRST(head));
		}
	}
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

static void
group_try_again(struct flight_group *group)
{
	group->lease.ticket.until_ms = clock_boot_now().ms + WAITERS_AGAIN_MS;
	group_set_timer(group);
}

/*
 * The bit of this worker has to go with its last waiter, or the flight could
 * never end: a group is kept until it has.  False: the shard is locked.
 */
static bool
group_count_out(struct flight_group *group)
{
	if (group->owed != 0 && lease_leave(group->pool,
	    &group->worker->lease_door, &group->lease,
	    group->worker->heritage->process, group->owed, group->count) !=
	    OK) {
		return false;
	}
	group->owed = 0;
	return true;
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

/* Collect, for all of them. */
static void
group_collect(struct flight_group *group)
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

	if (lease_collect(group->pool, &worker->lease_door, &request,
	    group->count, clock_boot_now(), &group->lease, &answer,
	    &ending) != OK) {
		/* The shard is locked: once more, soon. */
		group_try_again(group);
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

static void
group_look(struct flight_group *group)
{
	group->due = false;
	if (!group_count_out(group)) {
		group_try_again(group);
	} else if (group->count == 0) {
		group_free(group);
	} else {
		group_collect(group);
	}
}

/*
 * One group for a flight, whoever leads it by now: this worker has one bit
 * in it, and the last to leave takes it along.
 */
static bool
is_group_of(const struct flight_group *group, const struct pool *pool,
    const struct lease *lease)
{
	return group->pool == pool && group->lease.shard == lease->shard &&
	    group->lease.ticket.index == lease->ticket.index &&
	    memcmp(&group->lease.key, &lease->key, sizeof(lease->key)) == 0;
}

bool
waiters_join(struct worker *worker, struct ask *ask)
{
	const struct pool *pool = ask->conn->session->pool;
	struct group_list *head = group_head(worker->waiters,
	    ask->lease.shard, ask->lease.ticket.index);
	struct flight_group *group;

	LIST_FOREACH(group, head, link) {
		if (is_group_of(group, pool, &ask->lease)) {
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
	} else if (group->lease.ticket.token != ask->lease.ticket.token) {
		/* Another leads than when it was looked at last. */
		group->lease.ticket = ask->lease.ticket;
		group_set_timer(group);
	}
	LIST_INSERT_HEAD(&group->asks, ask, of_group);
	ask->group = group;
	ask->conn->session->leases.waits++;
	group->count++;
	return true;
}

void
flight_group_leave(struct ask *ask)
{
	struct flight_group *group = ask->group;
	/* Then its timer runs; a thousand that leave wait for it once. */
	bool locked = group->owed != 0;

	take_out(group, ask);
	group->owed++;
	if (locked) {
		return;
	}
	if (!group_count_out(group)) {
		group_try_again(group);
	} else if (group->count == 0) {
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

void
flight_groups_look(struct worker *worker, const struct wake_set *set)
{
	struct waiters *waiters = worker->waiters;

	for (uint32_t h = 0; h < WAITERS_HEADS && waiters->groups > 0; h++) {
		struct flight_group *group;

		LIST_FOREACH(group, &waiters->group_heads[h], link) {
			group->due = concerns(group, set);
		}
	}
	for (uint32_t h = 0; h < WAITERS_HEADS && waiters->groups > 0; h++) {
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
