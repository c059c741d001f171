/* SPDX-License-Identifier: ISC */

/*
 * A queue of requests under way.  Answers come in the order of the requests
 * as a rule, so a search ends at the first.  Under the channel's lock.
 */
#ifndef PENDING_H
#define PENDING_H

#include "channel.h"

#include <stddef.h>
#include <stdint.h>

static inline void
pending_append(struct pending_queue *queue, struct pending *pending)
{
	pending->next = NULL;
	if (queue->last == NULL) {
		queue->first = pending;
	} else {
		queue->last->next = pending;
	}
	queue->last = pending;
}

static inline struct pending *
pending_find(const struct pending_queue *queue, uint64_t id)
{
	struct pending *pending = queue->first;

	while (pending != NULL && pending->id != id) {
		pending = pending->next;
	}
	return pending;
}

static inline struct pending *
pending_find_own(const struct pending_queue *queue)
{
	struct pending *pending = queue->first;

	while (pending != NULL && !pending->own) {
		pending = pending->next;
	}
	return pending;
}

/* It is in the queue. */
static inline void
pending_remove(struct pending_queue *queue, struct pending *pending)
{
	struct pending *before = NULL;
	struct pending **at = &queue->first;

	while (*at != pending) {
		before = *at;
		at = &before->next;
	}
	*at = pending->next;
	if (queue->last == pending) {
		queue->last = before;
	}
}

static inline struct pending *
pending_take_first(struct pending_queue *queue)
{
	struct pending *pending = queue->first;

	if (pending != NULL) {
		pending_remove(queue, pending);
	}
	return pending;
}

#endif
