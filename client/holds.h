/* SPDX-License-Identifier: ISC */

/*
 * What a handle was given and has not ended: its leases and permits.  All
 * under the handle's lock, by every process that has the library.
 *
 * A worker may die between giving and answering, so that the daemon has
 * given what nobody was told of.  Only the client knows what it was told of,
 * and says so when it claims what its connection before had (CLAIM, server's
 * claim.h): the rest goes back.
 *
 *	client				daemon
 *	c1 LEASE or PERMIT is sent	d1 a flight is led, a permit taken
 *					d2 the answer is sent
 *	c2 the answer is taken off the	d3 an end comes: flight and permit
 *	   socket: a row here		   are over
 *	c3 an end is sent		d4 its answer is sent
 *	c4 its answer is taken, or
 *	   nobody repeats it: the row
 *	   goes
 *
 * The worker dies
 *	before d1	nothing was given; who waits repeats c1.
 *	d1 to c2	no row: given back with the claim, before anything else
 *			of the new connection is served.  A caller that repeats
 *			c1 then meets no flight and no permit of its own.
 *	c2 to c3	a row: it is kept.
 *	c3 to d3	a row: it is kept, and the end is repeated.
 *	d3 to c4	a row of what is over: the claim keeps nothing, and the
 *			end, repeated, finds nothing (LEASE_LOST).
 *	after c4	no row, and nothing is given.
 * The client dies: its rows go with it, and the daemon sees its end.
 * An end that nobody repeats, since its caller was told CLOSED, has no row
 * from then on: the next claim gives back what it was about.
 *
 * c2 is under the lock, as are connecting and claiming: no claim comes between
 * an answer that was taken and its row.
 */
#ifndef HOLDS_H
#define HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"
#include "result.h"

struct hold {
	struct wire_hold given;
	uint64_t	until_ms;	/* own boot clock: its time is over */
	uint64_t	ending_id;	/* of the request that ends it; 0 */
};

struct holds {
	struct hold	*rows;
	uint32_t	count;
	uint32_t	capacity;
	/* a grant found no room here: whatever there is is kept */
	bool		unsure;
	/* an answer or an end may be lost: there is something to give back */
	bool		lost;
};

/* There is something to claim. */
static inline bool
holds_matter(const struct holds *holds)
{
	return holds->count > 0 || holds->unsure || holds->lost;
}

/* c2.  Nothing if it gave nothing. */
void	holds_note(struct holds *holds,
    const struct wire_lease_answer *answer, uint64_t now_ms);

/* c3, of the request of that id; c4. */
void	holds_ending(struct holds *holds, const struct wire_hold *given,
    uint64_t id);
void	holds_ended(struct holds *holds, const struct wire_hold *given);

/* Its end was not answered, and is not repeated: the next claim is its end. */
void	holds_given_up(struct holds *holds, const struct wire_hold *given);

/* The same of that request; nothing if another ends it by now. */
void	holds_not_ended(struct holds *holds, const struct wire_hold *given,
    uint64_t id);

/*
 * The rows for a CLAIM: OK with *bytes, to be freed, and *length; MISS: what
 * is held is not known.
 */
enum result holds_encode(const struct holds *holds, uint8_t **bytes,
    size_t *length);

/* None of it is the daemon's any more; memory is kept. */
void	holds_clear(struct holds *holds);

void	holds_free(struct holds *holds);

#endif
