/* SPDX-License-Identifier: ISC */

/*
 * Jitter for back-offs: a linear congruential source, which is random enough
 * to part processes from each other and nothing else.
 */
#ifndef PRNG_SMALL_H
#define PRNG_SMALL_H

#include <stdint.h>

struct prng_small {
	uint64_t	state;
};

/* span - span / 4 .. span + span / 4. */
static inline uint64_t
prng_small_jitter(struct prng_small *prng, uint64_t span)
{
	/* The multiplier and increment of Knuth's MMIX. */
	prng->state = prng->state * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return span - span / 4 + (prng->state >> 33) % (span / 2 + 1);
}

#endif
