/* SPDX-License-Identifier: ISC */

/*
 * The tables of waiters.h: groups by flight (flight_group.c), asks by place
 * (waiters.c).  Lists are walked while asks leave and new groups come: who is
 * gone on with is taken out first, and a walk begins anew after each.
 */
#ifndef WAITERS_TABLES_H
#define WAITERS_TABLES_H

#include "waiters.h"
#include "worker.h"

#define WAITERS_HEADS	1024u
/* A lock that was not had is tried again then. */
#define WAITERS_AGAIN_MS 10u

struct flight_group;

LIST_HEAD(group_list, flight_group);

struct waiters {
	uint32_t	groups;
	struct group_list group_heads[WAITERS_HEADS];
	struct ask_list	place_heads[WAITERS_HEADS];
	uint64_t	locked_origins;	/* to be looked at again */
	struct event_timer again;
	uint64_t	openings[ORIGINS_MAX];	/* as they were looked at */
};

/* An ask of a group leaves it, and is counted out of the flight. */
void	flight_group_leave(struct ask *ask);

/* Go on with the groups that the set concerns. */
void	flight_groups_look(struct worker *worker,
    const struct wake_set *set);

void	flight_groups_free(struct worker *worker);

#endif
