/* SPDX-License-Identifier: ISC */

/*
 * Requests that wait in this worker: for a flight of another, or for a place
 * in an origin's queue.  What a request is and how it goes on is
 * lease_session.c's; here is how it is found again.  Workers.
 *
 * Waiters of one flight form a group: it is collected once for all of them.
 */
#ifndef WAITERS_H
#define WAITERS_H

#include <stdbool.h>

#include "lease_session.h"
#include "wake.h"

struct worker;

bool	waiters_create(struct worker *worker);
void	waiters_destroy(struct worker *worker);

/* The ask waits for the flight that its lease names; it was counted there. */
bool	waiters_join(struct worker *worker, struct ask *ask);

/* The ask waits at the place that its ticket names. */
void	waiters_queue(struct worker *worker, struct ask *ask);

/*
 * It waits no more: out of its group or queue, counted out of the flight; its
 * place is the caller's to cancel.
 */
void	waiters_remove(struct worker *worker, struct ask *ask);

/* Go on with those that the set concerns. */
void	waiters_look(struct worker *worker, const struct wake_set *set);

#endif
