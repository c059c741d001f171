/* SPDX-License-Identifier: ISC */

/*
 * The ring of one client, at the worker's end: made here, mapped here and in
 * the client, whose every byte in it is input.  Hints, asynchronous sets and
 * counts are taken out and done; what makes no sense ends the client.
 * Workers, each for its own clients.
 */
#ifndef RING_SESSION_H
#define RING_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "control.h"
#include "pool.h"
#include "protocol.h"
#include "result.h"
#include "ring.h"

/*
 * Reads that a client may say it did in a second: no machine's cores do more
 * on one pool.  What is above is not counted.
 */
#define RING_READS_PER_S	1000000000u

struct ring_session {
	/* set at create */
	const struct pool *pool;
	struct control_client *row;
	void		*mem;
	size_t		bytes;
	/* the worker's, stamped when a store waited; the owner's to set */
	_Atomic uint64_t *heartbeat_ms;
	/* since the last flush */
	uint64_t	stored;
	uint64_t	refused;
	/* of all its life */
	uint64_t	records;
	/* windows of the caps */
	uint64_t	hints_since_ms;
	uint32_t	hints;
	uint64_t	counts_since_ms;
	uint64_t	reads_room;	/* that may still be counted */
	struct boot_ms	now;		/* of the drain under way */
	struct ring_consumer consumer;
};

/*
 * Make a ring; *fd is the descriptor for the client, to be closed by the
 * caller.  row may be NULL.  INVALID for a capacity, NO_MEMORY, SYSTEM.
 */
enum result ring_session_create(struct ring_session *ring,
    const struct pool *pool, struct control_client *row, uint32_t capacity,
    struct boot_ms now, int *fd);

/*
 * Do the records before tail, or (tail 0) those that are complete now.
 * buffer holds ring_body_max() bytes of the largest ring.  OK; anything else:
 * the client is to be dropped.
 */
enum result ring_session_drain(struct ring_session *ring, uint64_t tail,
    struct boot_ms now, void *buffer, size_t buffer_bytes);

/*
 * Ask for a doorbell.  False: there is more; drain first.
 */
bool	ring_session_arm(struct ring_session *ring);

/* Unmap. */
void	ring_session_destroy(struct ring_session *ring);

#endif
