/* SPDX-License-Identifier: ISC */

/*
 * Claiming over a new connection what the one before had; see holds.h.
 * Client processes.
 */
#ifndef ATTACH_CLAIM_H
#define ATTACH_CLAIM_H

#include <stdint.h>

#include "result.h"
#include "wire.h"

struct weir;

/*
 * Under the lock, after HELLO, whose answer brought that holder and secret.
 * OK: the handle is the holder that it was, or the new one.  CLOSED, TIMEOUT,
 * BUSY, ...: this connection is none; what is held is claimed over the next.
 */
enum result attach_claim(struct weir *handle, uint64_t holder,
    uint64_t secret, struct deadline deadline);

#endif
