/* SPDX-License-Identifier: ISC */

/*
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), seeded by the system.
 */
#include "jitter.h"

#include <sodium.h>

uint64_t
jitter_random(void)
{
	static uint64_t state;
	uint64_t z;

	if (state == 0) {
		randombytes_buf(&state, sizeof(state));
	}
	state += UINT64_C(0x9e3779b97f4a7c15);
	z = state;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}
