/* SPDX-License-Identifier: ISC */

/*
 * Hits through weir_fetch() by the number of worker processes, and the floor
 * of a hit, in turn.  The bench's first process calls.
 */
#ifndef SIMYL_H
#define SIMYL_H

#include "bench.h"
#include "workload.h"

#define SIMYL_DRAWS	(4u << 20)
/* Holds about 10,000 entries of 1,000 bytes. */
#define SIMYL_EVICT_MEMORY	"12M"

enum {
	SIMYL_FLOOR,
	SIMYL_ONE,
	SIMYL_TWO,
	SIMYL_FOUR,
	SIMYL_EIGHT,
	SIMYL_SIXTEEN,
	SIMYL_SIDES
};

struct simyl_hits {
	/* nanoseconds to a request of all workers together */
	struct measure_side sides[SIMYL_SIDES];
};

/* Rows to the report, and the sides' figures.  w_fd is w's. */
void	simyl_measure_hits(struct bench *b, struct simyl_hits *hits,
	    const struct workload *w, int w_fd, unsigned rounds);

#endif
