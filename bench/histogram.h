/* SPDX-License-Identifier: ISC */

/*
 * Log-linear histogram of whole numbers (nanoseconds, mostly): 32 buckets to
 * each power of two, so that a bucket is at most 1/32 (3.2%) wide, over the
 * whole range of 64 bits and in fixed memory.  Holds no pointers: it may lie
 * in memory shared with a parent.  One writer each; merge to sum.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

/* 2^5 buckets to a power of two. */
#define HISTOGRAM_BITS		5
#define HISTOGRAM_BUCKETS	((64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS)

struct histogram {
	uint64_t	count;
	uint64_t	min;
	uint64_t	max;
	double		sum;
	uint64_t	bucket[HISTOGRAM_BUCKETS];
};

void	histogram_init(struct histogram *h);
void	histogram_record(struct histogram *h, uint64_t value);
void	histogram_record_many(struct histogram *h, uint64_t value,
    uint64_t count);
void	histogram_merge(struct histogram *into, const struct histogram *from);

/*
 * The value that `fraction` (0 to 1) of the recorded ones do not exceed,
 * rounded up to its bucket's end and never above the maximum; 0 when empty.
 */
uint64_t	histogram_quantile(const struct histogram *h, double fraction);
double	histogram_mean(const struct histogram *h);

#endif
