/* SPDX-License-Identifier: ISC */

/*
 * A worker's doors to the origins and the flights: bound at its start, swept
 * once a second.  Workers.
 */
#ifndef WORKER_DOORS_H
#define WORKER_DOORS_H

#include <stdbool.h>

#include "clock.h"

struct worker;

/*
 * Bind the origins, and sweep what an earlier life of this worker left: its
 * places, and the waiters that it counted.  False: the control segment makes
 * no sense.
 */
bool	worker_doors_open(struct worker *worker);

/* Dead and late ones.  Origins and shards are dealt out over the workers. */
void	worker_doors_tick(struct worker *worker, struct boot_ms now);

#endif
