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
 * Starts one on the nth core, which stores keys of its own: number is 0 to
 * 9.  An order is a stream and its halvings.  The figure is nanoseconds to a
 * store, from the first to the end of the flush; NaN if a store was refused,
 * dropped, or not to be read after the flush.  False: no process.
 */
bool	async_side_start(struct side *side, const struct peer *weir,
	    unsigned core, unsigned number);

#endif
