/* SPDX-License-Identifier: ISC */

/*
 * A client process that stores asynchronously, and looks afterwards whether
 * every store is there: a side of the set bench.
 */
#ifndef ASYNC_SIDE_H
#define ASYNC_SIDE_H

#include <stdbool.h>

#include "peer.h"
#include "side.h"

/*
 * Starts one on the nth core; of those with different numbers, from 0 to
 * ASYNC_SIDES - 1, no two store the same key.  An order is a stream (not that
 * of misses) and its halvings.  The figure is nanoseconds to a store, from
 * the first to the end of the flush; NaN if a store was refused, dropped, or
 * not to be read after the flush: the pool has to hold what a run stores.
 * False: no process.
 */
#define ASYNC_SIDES	2
bool	async_side_start(struct side *side, const struct peer *weir,
	    unsigned core, unsigned number);

#endif
