/* SPDX-License-Identifier: ISC */

/*
 * Waking a worker that has waiters, across processes.
 *
 *	who changes something			worker
 *	w1 lock, change				r1 eventfd readable: read it
 *	w2 its word |= bit (release)		r2 word -> 0 (exchange, acquire)
 *	w3 unlock				r3 lock, look, unlock
 *	w4 write its eventfd			r4 answer the waiters
 *
 * 1. w2 before w3: whoever sees the change under the lock can rely on the bit
 *    being set; r2 before r3: a bit that is set after r2 rings again.
 * 2. Death between w2 and w4 loses the ring, not the bit: at each death the
 *    supervisor sets `all` of every worker and rings it; besides, each worker
 *    does r2 and r3 once a second.
 * 3. Bits say where to look and promise nothing: a look that finds nothing
 *    is allowed.
 */
#ifndef WAKE_H
#define WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "pool.h"

struct heritage;

/* What one process is about to ring. */
struct wake {
	struct heritage	*heritage;
	uint64_t	due;		/* workers to ring, a bit each */
};

/* w2.  origin_door.tell and lease_door.tell; arg is a struct wake. */
void	wake_origin(void *wake, uint32_t origin, uint64_t workers);
void	wake_flight(void *wake, const struct pool *pool, uint32_t shard,
    uint32_t flight, uint64_t workers);

/* w4, without a lock.  Never blocks. */
void	wake_send(struct wake *wake);

/* Everybody has to look at everything: a process died.  Rings too. */
void	wake_all(struct wake *wake);

/* What a worker has to look at: r2.  True if there is anything. */
struct wake_set {
	uint64_t	origins;
	uint64_t	flights[CONFIG_POOLS_MAX];
	bool		all;
};
bool	wake_take(struct control *control, uint32_t worker,
    struct wake_set *set);

#endif
