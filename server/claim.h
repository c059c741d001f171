/* SPDX-License-Identifier: ISC */

/*
 * CLAIM: a connection takes over what an earlier one of its process held,
 * whose worker died.  Sockets of a dead process close before its parent can
 * know, so that the client may be back on another worker too early; its
 * claim then waits a little, and no other frame of the connection is looked
 * at meanwhile.  Workers.
 *
 * The dead worker may have given what its client was never told of.  That is
 * no place of its own in any table: a flight is led, a permit is out, for a
 * holder that lives.  It would stay so until its time is over, and a thread
 * that asks once more would be told that it waits for itself.  So the client,
 * which alone knows (holds.h of the library), lists what it was told of, and
 * the rest goes back before the claim is answered.
 *
 *	k1 the row is this worker's; its holder is the connection's
 *	k2 flights that the holder leads under a token that is not listed are
 *	   handed over: who waits leads, or nobody
 *	k3 permits of the holder that are not listed are released, neutral
 *	k4 the answer; only then is the next frame served
 *
 * This worker dies
 *	before k1	the row is an orphan yet, and is claimed elsewhere.
 *	k1 to k4	the row is an orphan again; the client, which has no
 *			answer, claims with the same list over the next, and
 *			k2 and k3 find what is left.
 *	after k4	what is given from then on is lost or listed as above.
 * k1 is before k2: nobody else can serve the holder while its things are
 * looked over, and what this connection is given comes after k4.  Places in
 * queues are not looked for: they are their worker's, and are swept with it.
 * A holder whose client does not come back is an orphan's (orphan.h).
 */
#ifndef CLAIM_H
#define CLAIM_H

#include <stdint.h>

#include "connection.h"
#include "event_loop.h"
#include "protocol.h"

/* How often a claim that came too early is tried again, and how long. */
#define CLAIM_AGAIN_MS	5u
#define CLAIM_WAIT_MS	1000u

struct claim_known;

/* Of a session: the claim that waits. */
struct claim {
	struct event_timer timer;
	struct frame	frame;
	uint64_t	holder;
	uint64_t	secret;
	uint64_t	until_ms;
	struct claim_known *known;	/* NULL: it did not say */
};

void	claim_serve(struct connection *conn, const struct frame *frame,
    const uint8_t *body);

/* The connection ends. */
void	claim_stop(struct connection *conn);

#endif
