/* SPDX-License-Identifier: ISC */

/*
 * What a client says in its CLAIM that it was told of, and giving back what
 * it does not say; k2 and k3 of claim.h.  Workers.
 */
#ifndef CLAIM_KNOWN_H
#define CLAIM_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "connection.h"
#include "result.h"

struct claim_known;

/*
 * Of a body that follows the holder and its secret.  OK with *known, which is
 * freed by free(); INVALID, NO_MEMORY.
 */
enum result claim_known_parse(const uint8_t *body, size_t length,
    struct claim_known **known);

/*
 * The connection's holder keeps what is known, and nothing else.  OK; BUSY:
 * something is locked, and the whole of it is to be done again.
 */
enum result claim_known_keep(struct connection *conn,
    const struct claim_known *known);

#endif
