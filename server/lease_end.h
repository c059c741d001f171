/* SPDX-License-Identifier: ISC */

/*
 * What ends a lease or a permit: FILL, FAIL, UNCACHEABLE, RELEASE.  Workers.
 */
#ifndef LEASE_END_H
#define LEASE_END_H

#include "connection.h"
#include "fill_head.h"
#include "protocol.h"

/* A value that cannot be stored is not coalesced for so long. */
#define LEASE_UNSTORABLE_MS	1000u

void	lease_end_serve(struct connection *conn, const struct frame *frame,
    const uint8_t *body);

/* A FILL, whole. */
void	lease_end_fill(struct connection *conn, const struct frame *frame,
    const uint8_t *body);

/* A FILL in pieces: what its head says, and what became of its value. */
bool	lease_end_fill_head(struct connection *conn,
    const uint8_t bytes[WIRE_END_BYTES], struct fill_head *head);

/* Gives the permit back, ends the flight if the value did not, answers. */
void	lease_end_filled(struct connection *conn, const struct frame *frame,
    const struct fill_head *head, const struct key *key,
    enum result result, uint64_t version);

#endif
