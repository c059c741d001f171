/* SPDX-License-Identifier: ISC */

/*
 * CLAIM: a connection takes over what an earlier one of its process held,
 * whose worker died.  Sockets of a dead process close before its parent can
 * know, so that the client may be back on another worker too early; its
 * claim then waits a little, and no other frame of the connection is looked
 * at meanwhile.  Workers.
 */
#ifndef CLAIM_H
#define CLAIM_H

#include <stdint.h>

#include "connection.h"
#include "event_loop.h"
#include "protocol.h"

#define CLAIM_BYTES	16
/* How often a claim that came too early is tried again, and how long. */
#define CLAIM_AGAIN_MS	5u
#define CLAIM_WAIT_MS	1000u

/* Of a session: the claim that waits. */
struct claim {
	struct event_timer timer;
	struct frame	frame;
	uint64_t	holder;
	uint64_t	secret;
	uint64_t	until_ms;
};

void	claim_serve(struct connection *conn, const struct frame *frame,
    const uint8_t *body);

/* The connection ends. */
void	claim_stop(struct connection *conn);

#endif
