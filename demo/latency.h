/* SPDX-License-Identifier: ISC */

/*
 * Latencies as counts in buckets that are at most 1/16 wide, in memory that
 * one process adds to and another reads at any time.
 */
#ifndef LATENCY_H
#define LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

#define LATENCY_BUCKETS	(64u * 16u)

struct latency {
	/* one process adds, any reads */
	_Atomic uint64_t counts[LATENCY_BUCKETS];
};

/* Sums of several, and what was added between two looks. */
struct latency_sum {
	uint64_t	counts[LATENCY_BUCKETS];
};

void	latency_add(struct latency *latency, uint64_t ns);

void	latency_sum_add(struct latency_sum *sum,
	    const struct latency *latency);
void	latency_sum_subtract(struct latency_sum *sum,
	    const struct latency_sum *earlier);

/* The time below which that share, 0 to 1, of all lies; 0 if there are none. */
uint64_t latency_sum_quantile_ns(const struct latency_sum *sum, double share);

#endif
