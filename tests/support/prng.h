/* SPDX-License-Identifier: ISC */

/*
 * A small deterministic random source (xorshift64*), so that one number
 * replays a test or a bench.  Not for secrets.  Any process may call; a
 * struct belongs to one thread.
 */
#ifndef PRNG_H
#define PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct prng {
	uint64_t	state;	/* never zero */
};

/* Seeds that differ in one bit give unrelated streams (splitmix64). */
static inline void
prng_init(struct prng *p, uint64_t seed)
{
	uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	p->state = z != 0 ? z : 1;
}

static inline uint64_t
prng_next(struct prng *p)
{
	uint64_t x = p->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	p->state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Uniform in 0 .. bound - 1 (bound > 0); its bias is below bound / 2^32. */
static inline uint32_t
prng_below(struct prng *p, uint32_t bound)
{
	return (uint32_t)(((prng_next(p) >> 32) * bound) >> 32);
}

/* Uniform in [0, 1). */
static inline double
prng_unit(struct prng *p)
{
	return (double)(prng_next(p) >> 11) * 0x1p-53;
}

/* True in about one call of `n` (n > 0). */
static inline bool
prng_one_in(struct prng *p, uint32_t n)
{
	return prng_below(p, n) == 0;
}

#endif
