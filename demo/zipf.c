/* SPDX-License-Identifier: ISC */

#include "zipf.h"

#include <stdlib.h>

struct zipf {
	uint32_t	rank_count;
	double		below[];	/* share of this rank and those below */
};

struct zipf *
zipf_create(uint32_t rank_count)
{
	struct zipf *zipf = malloc(sizeof(*zipf) +
	    rank_count * sizeof(zipf->below[0]));
	double sum = 0;

	if (zipf == NULL) {
		return NULL;
	}
	zipf->rank_count = rank_count;
	for (uint32_t i = 0; i < rank_count; i++) {
		sum += 1.0 / (i + 1);
		zipf->below[i] = sum;
	}
	for (uint32_t i = 0; i < rank_count; i++) {
		zipf->below[i] /= sum;
	}
	return zipf;
}

void
zipf_destroy(struct zipf *zipf)
{
	free(zipf);
}

/* Xorshift with a multiplier: enough for a stream of requests. */
static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1dULL;
}

uint32_t
zipf_next(const struct zipf *zipf, uint64_t *seed)
{
	double share = (double)(next_random(seed) >> 11) * 0x1p-53;
	uint32_t low = 0;
	uint32_t high = zipf->rank_count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (zipf->below[middle] <= share) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}
