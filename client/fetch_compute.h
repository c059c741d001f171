/* SPDX-License-Identifier: ISC */

/*
 * The computing half of a fetch, and when a fresh value is due for it.
 */
#ifndef FETCH_COMPUTE_H
#define FETCH_COMPUTE_H

#include "fetch.h"

struct lane;

/*
 * Call the callback and end the lease with what it says; lease NULL: without
 * the daemon, why being the reason.  The result as of weir_fetch().
 */
int	fetch_compute(struct fetch *fetch, struct weir_lease *lease, int why);

/* Is a fresh value to be refreshed before its end? */
bool	fetch_is_due(const struct fetch *fetch, struct lane *lane);

/* Renew the life of what was hit. */
void	fetch_slide(const struct fetch *fetch, struct lane *lane);

/* For tests: ttl shortened by up to percent, r of 0 .. 2^32 - 1. */
uint64_t fetch_jittered_ms(uint64_t ttl_ms, unsigned percent, uint32_t r);

#endif
