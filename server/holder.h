/* SPDX-License-Identifier: ISC */

/*
 * Holders: who owns leases, permits and places.  A client's holder is its row
 * of the client table with the row's generation, so that it outlives the
 * worker it came through; a worker's own (for the calls that it makes itself)
 * is its number with its incarnation and the top bit.  Never 0.
 *
 *	LIVE	the row's worker lives
 *	ORPHAN	the worker died: the holder lives on.  Each worker looks for
 *		orphans at its start, when told, and once a second, adopts one
 *		(its worker word becomes the adopter's) and watches the process
 *		by pidfd, so that its end frees what it holds at once
 *	-	a client that connects again says CLAIM with the holder's
 *		secret, and goes on with it
 *	DEAD	generation differs, or the row is free
 *
 * An adopted orphan is let go when its process ends, when ORPHAN_MS have
 * passed without a CLAIM, or when its pid is nobody's or another process's by
 * now (the start time of /proc differs).  One that cannot be watched has its
 * time.
 */
#ifndef HOLDER_H
#define HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "control.h"
#include "peer.h"
#include "result.h"

#define HOLDER_ORPHAN_MS	60000u

/* Of a row that is in use. */
uint64_t holder_of_row(const struct control *control,
    const struct control_client *row);

/* The row's number, from 0, and generation; false: it is no client's. */
bool	holder_split(uint64_t holder, uint32_t *number, uint64_t *generation);

/* Of a worker itself. */
uint64_t holder_of_worker(const struct control *control, uint32_t worker);

/* limiter_dead_fn and flight_dead_fn: arg is the struct control. */
bool	holder_is_dead(void *control, uint64_t holder);

/* limiter_worker_dead_fn: of a limiter_worker() word. */
bool	holder_worker_is_dead(void *control, uint64_t worker);

/* The row of a client's holder, or NULL: for people, and for holder_claim. */
struct control_client *holder_row(struct control *control, uint64_t holder);

/*
 * A client that came with *row is the process whose holder that was: *row
 * becomes that one, and the row before is the caller's to give back.  OK
 * (also if *row is that one already); MISS: that holder is no more; DENIED:
 * another user's, process's or pool's, or another secret; BUSY: ask again
 * soon.  A client may be back before it is known that its worker died.
 */
enum result holder_claim(struct control *control, uint32_t process,
    uint64_t incarnation, const struct peer *peer, uint64_t holder,
    uint64_t secret, struct control_client **row);

#endif
