/* SPDX-License-Identifier: ISC */

#include "latency.h"

/* Sixteen buckets to each power of two; below 16 ns one for each. */
static unsigned
bucket_of(uint64_t ns)
{
	unsigned power;

	if (ns < 16) {
		return (unsigned)ns;
	}
	power = 63u - (unsigned)__builtin_clzll(ns);
	return (power - 3) * 16 + (unsigned)(ns >> (power - 4) & 15);
}

/* The smallest time of a bucket. */
static uint64_t
start_of(unsigned bucket)
{
	return bucket < 16 ? bucket :
	    (16 + (uint64_t)(bucket % 16)) << (bucket / 16 - 1);
}

void
latency_add(struct latency *latency, uint64_t ns)
{
	_Atomic uint64_t *count = &latency->counts[bucket_of(ns)];

	/*
	 * Relaxed: a count by itself, that no other process writes, so that
	 * the two halves need not be one.
	 */
	atomic_store_explicit(count, atomic_load_explicit(count,
	    memory_order_relaxed) + 1, memory_order_relaxed);
}

void
latency_sum_add(struct latency_sum *sum, const struct latency *latency)
{
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		/* Relaxed: as above. */
		sum->counts[i] += atomic_load_explicit(&latency->counts[i],
		    memory_order_relaxed);
	}
}

void
latency_sum_subtract(struct latency_sum *sum,
    const struct latency_sum *earlier)
{
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		sum->counts[i] -= earlier->counts[i];
	}
}

uint64_t
latency_sum_quantile_ns(const struct latency_sum *sum, double share)
{
	uint64_t total = 0;
	uint64_t seen = 0;

	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		total += sum->counts[i];
	}
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		seen += sum->counts[i];
		if (total != 0 && (double)seen >= share * (double)total) {
			return start_of(i);
		}
	}
	return 0;
}
