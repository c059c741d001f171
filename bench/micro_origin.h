/* SPDX-License-Identifier: ISC */

/*
 * The limiter's rows of the bench micro: what a permit costs alone, and with
 * few and many who wait for one.
 */
#ifndef MICRO_ORIGIN_H
#define MICRO_ORIGIN_H

#include "bench.h"

void	micro_measure_origin(struct bench *b);

#endif
