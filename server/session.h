/* SPDX-License-Identifier: ISC */

/*
 * What a client may ask for: HELLO first, then everything in protocol.h but
 * ADMIN.  Workers.
 */
#ifndef SESSION_H
#define SESSION_H

#include "claim.h"
#include "connection.h"
#include "lease_session.h"

/* Of a client that has said HELLO. */
struct session {
	uint32_t	pool_index;
	const struct pool *pool;
	struct control_client *row;
	struct ring_session *ring;	/* NULL until asked for */
	struct lease_session leases;
	struct claim	claim;
};

extern const struct connection_kind session_kind;

/* Look into the client's ring, if it has one.  Once a second, or faster. */
void	session_poll_ring(struct connection *conn);

#endif
