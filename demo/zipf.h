/* SPDX-License-Identifier: ISC */

/*
 * Random ranks of which the n-th comes up in proportion to 1/n: a few keys
 * get most requests, as in most real streams.
 */
#ifndef ZIPF_H
#define ZIPF_H

#include <stdint.h>

struct zipf;

/* NULL if memory is short. */
struct zipf *zipf_create(uint32_t rank_count);
void	zipf_destroy(struct zipf *zipf);

/* 0 to rank_count - 1, 0 most often; *seed moves on and is never 0. */
uint32_t zipf_next(const struct zipf *zipf, uint64_t *seed);

#endif
