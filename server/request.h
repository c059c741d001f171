/* SPDX-License-Identifier: ISC */

/*
 * Requests of a client that has said HELLO, each done and answered in one
 * call.  Workers.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "connection.h"

void	request_serve(struct connection *conn, const struct frame *frame,
    const uint8_t *body);

/* The answer to a SET. */
void	request_answer_version(struct connection *conn,
    const struct frame *frame, enum result result, uint64_t version);

#endif
