/* SPDX-License-Identifier: ISC */

/*
 * Pins: a worker keeps an extent from reuse while it writes bytes straight
 * out of it.  Workers alone; a client copies or validates a view.
 *
 * States of an extent e: linked (generation g, even), retired (odd), reused
 * (even, above g).  pins[e][w] belongs to worker w.
 *
 *	worker w                          reclaimer, shard's lock held
 *	w1 hit validated under g          r1 unlink every slot into e
 *	w2 pins[e][w] += 1 (relaxed)      r2 generation[e] = odd (relaxed)
 *	w3 fence (seq_cst)                r3 fence (seq_cst)
 *	w4 generation[e] (acquire)        r4 pins[e][*] (acquire)
 *	   != g: pins -= 1, miss             some > 0: limbo, look again later
 *	w5 writev from e                  r5 else e may be reused
 *	w6 pins[e][w] -= 1 (release)
 *
 * 1. One of the fences w3, r3 comes first in their single order.  If w3: r4
 *    sees the pin and e waits.  If r3: w4 sees the odd generation and the
 *    worker does not read.  So no byte of e changes between w4 and w6.
 * 2. w6 pairs with r4: what the worker read in w5 was read before the reuse.
 * 3. Looking at the pins before r2 breaks 1 (279 changed blocks in 5 s with
 *    fences, measured).
 * 4. A slot that was unlinked between w1 and w4 does no harm: the hit stood
 *    at w1 and its bytes stand until w6.
 *
 * Worker dies after w2: its pins stay, the extent waits; whoever notices the
 * death calls pin_clear_worker(), after which r4 passes.  Its own memory is
 * gone, so nothing reads e for it any more.  Reclaimer dies after r2: the
 * extent is odd with its old role; recovery retires it again.
 */
#ifndef PIN_H
#define PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

/*
 * Pin an extent whose entry was validated under that generation.  False: it
 * is gone, or this process is no worker, or has 65535 pins on it already.
 */
bool	pin_acquire(const struct pool *pool, uint32_t extent,
    uint64_t generation);

void	pin_release(const struct pool *pool, uint32_t extent);

/*
 * Keep a pin for longer than one writev.  At most 1/16 of a shard's fair
 * share may be held so, by all workers together; false above that: the
 * caller copies the rest out and releases.
 */
bool	pin_hold_begin(const struct pool *pool, uint32_t shard);
void	pin_hold_end(const struct pool *pool, uint32_t shard);

/* Reclaimer's look, step r4. */
bool	pin_any(const struct pool *pool, uint32_t extent);

/* Give back all pins of a worker that is dead. */
void	pin_clear_worker(const struct pool *pool, uint32_t worker);

#endif
