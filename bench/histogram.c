/* SPDX-License-Identifier: ISC */

/*
 * Recording is a shift and an increment; quantiles walk the buckets.
 */
#include "histogram.h"

#include <stddef.h>
#include <string.h>

#define PER_POWER	(UINT64_C(1) << HISTOGRAM_BITS)

/*
 * Values below PER_POWER have a bucket each.  Above, the leading bit picks
 * the power and the HISTOGRAM_BITS bits after it the bucket.
 */
static size_t
find_bucket(uint64_t value)
{
	unsigned shift;

	if (value < PER_POWER) {
		return (size_t)value;
	}
	shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS;
	return (size_t)((((uint64_t)shift + 1) << HISTOGRAM_BITS) +
	    ((value >> shift) - PER_POWER));
}

/* The largest value that falls into the bucket. */
static uint64_t
find_bucket_end(size_t bucket)
{
	uint64_t shift;
	uint64_t first;

	if (bucket < PER_POWER) {
		return bucket;
	}
	shift = (bucket >> HISTOGRAM_BITS) - 1;
	first = (PER_POWER + (bucket & (PER_POWER - 1))) << shift;
	return first + ((UINT64_C(1) << shift) - 1);
}

void
histogram_init(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void
histogram_record_many(struct histogram *h, uint64_t value, uint64_t count)
{
	if (count == 0) {
		return;
	}
	h->bucket[find_bucket(value)] += count;
	h->count += count;
	h->sum += (double)value * (double)count;
	h->min = value < h->min ? value : h->min;
	h->max = value > h->max ? value : h->max;
}

void
histogram_record(struct histogram *h, uint64_t value)
{
	histogram_record_many(h, value, 1);
}

void
histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		into->bucket[i] += from->bucket[i];
	}
	into->count += from->count;
	into->sum += from->sum;
	into->min = from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
}

uint64_t
histogram_quantile(const struct histogram *h, double fraction)
{
	double wanted = fraction * (double)h->count;
	uint64_t seen = 0;

	if (h->count == 0) {
		return 0;
	}
	if (fraction <= 0) {
		return h->min;
	}
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (h->bucket[i] > 0 && (double)seen >= wanted) {
			uint64_t end = find_bucket_end(i);

			return end < h->max ? end : h->max;
		}
	}
	return h->max;
}

double
histogram_mean(const struct histogram *h)
{
	return h->count == 0 ? 0 : h->sum / (double)h->count;
}
