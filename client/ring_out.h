/* SPDX-License-Identifier: ISC */

/*
 * One-way traffic to the worker: hints of hits, counts, asynchronous sets.
 * The ring belongs to a connection and goes with it; what counts of lost
 * stores is kept.
 *
 * The doorbell.  A push takes the consumer's armed word and says who took it
 * must ring.  Hints do not ring, so the debt is kept: whoever pushes a set
 * after them rings for both, and a frame on the socket pays it, as the worker
 * drains and arms anew for each frame.
 */
#ifndef RING_OUT_H
#define RING_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read.h"
#include "ring.h"
#include "weir.h"
#include "wire.h"

struct lane;

#define RING_TICK_MS	1000

enum ring_state {
	RING_NONE,		/* not asked for on this connection */
	RING_ASKED,
	RING_READY,
	RING_REFUSED,
};

/* Under the ring's lock; asking and adopting under the channel's too. */
struct ring_out {
	enum ring_state	state;
	bool		answered;	/* READY, REFUSED or hung up */
	bool		owed;		/* a doorbell was not rung */
	int		refusal;	/* REFUSED: result */
	uint64_t	asked_id;
	struct ring_producer producer;
	void		*map;		/* NULL: none */
	size_t		map_bytes;
	uint64_t	pool_serial;	/* attachment of its daemon */
	/* stores pushed since the last flush; lost with a connection */
	uint64_t	queued_count;
	uint64_t	lost_count;
	/* what the daemon was told so far */
	uint64_t	told_hits;
	uint64_t	told_misses;
	uint64_t	told_stale;
};

/* The tail for a frame that is sent next, 0 without a ring; pays the debt. */
uint64_t ring_out_tail(struct weir *handle);

/* RING was sent, with this id. */
void	ring_out_asked(struct weir *handle, uint64_t id);

/* The answer to RING; takes fd.  OK, or CORRUPT. */
enum result ring_out_adopt(struct weir *handle, uint64_t id, int status,
    int fd, const uint8_t *body, size_t length);

/* The connection is gone. */
void	ring_out_drop(struct weir *handle);

/* In the child of a fork: the ring is not mapped here. */
void	ring_out_forget(struct weir *handle);

/* Have a ring: ask and wait.  Under the channel's lock, connected. */
int	ring_out_open(struct weir *handle, struct lane *lane,
    struct deadline deadline);

/* Keep a hit whose count is not full; pushes when enough came together. */
void	ring_out_hint(struct weir *handle, struct lane *lane,
    const struct read_hit *hit);

/* Renew the life of a hit entry; lost if the ring is busy, full or not there
 * yet.  Of the allowance of hints. */
void	ring_out_slide(struct weir *handle, struct lane *lane,
    const struct read_hit *hit, uint64_t ttl_ms, uint64_t soft_ttl_ms);

/*
 * At most once a second: counts, what there is of hints, a doorbell; asks for
 * the ring when there is none.  Never waits for a lock.
 */
void	ring_out_tick(struct weir *handle, struct lane *lane);

/* The last counts, before the hang-up. */
void	ring_out_last(struct weir *handle, struct lane *lane);

#endif
