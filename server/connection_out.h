/* SPDX-License-Identifier: ISC */

/*
 * The outgoing half of a connection, for connection.c: answers that wait, and
 * the descriptor that goes with one of them.  Workers.
 */
#ifndef CONNECTION_OUT_H
#define CONNECTION_OUT_H

#include "connection.h"

/* No request is looked at while so much waits to be taken. */
#define CONNECTION_OUT_MAX	(64u << 10)

static inline bool
connection_out_is_full(const struct connection *conn)
{
	return byte_queue_length(&conn->out) >= CONNECTION_OUT_MAX ||
	    conn->pass_fd >= 0;
}

/*
 * Send what the socket takes.  When it takes nothing more: a client's answers
 * are dropped, as its requests are still read; else broken is set.
 */
void	connection_out_flush(struct connection *conn);

#endif
