/* SPDX-License-Identifier: ISC */

/*
 * Clock, pinning, alternating rounds and medians.
 */
#include "measure.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S	UINT64_C(1000000000)

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

uint64_t
measure_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/*
 * The cores of the process as it started: a thread that is pinned sees one
 * core, and so would the children it forks.
 */
static const cpu_set_t *
find_cores(void)
{
	static cpu_set_t cores;
	static bool known;

	if (!known) {
		CPU_ZERO(&cores);
		if (sched_getaffinity(0, sizeof(cores), &cores) != 0) {
			CPU_SET(0, &cores);
		}
		known = true;
	}
	return &cores;
}

unsigned
measure_count_cores(void)
{
	return (unsigned)CPU_COUNT(find_cores());
}

bool
measure_pin_core(unsigned nth)
{
	const cpu_set_t *cores = find_cores();
	unsigned left = nth % measure_count_cores();
	cpu_set_t one;

	for (int core = 0; core < CPU_SETSIZE; core++) {
		if (!CPU_ISSET(core, cores)) {
			continue;
		}
		if (left-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(core, &one);
			return sched_setaffinity(0, sizeof(one), &one) == 0;
		}
	}
	return false;
}

double
measure_median(const double *values, size_t count)
{
	double *sorted = malloc(count * sizeof(*sorted));
	double median;

	assert(count > 0 && sorted != NULL);
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_doubles);
	median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	free(sorted);
	return median;
}

static void
sum_up(struct measure_side *side)
{
	side->median = measure_median(side->values, side->round_count);
	side->min = side->values[0];
	side->max = side->values[0];
	for (unsigned i = 1; i < side->round_count; i++) {
		double value = side->values[i];

		side->min = value < side->min ? value : side->min;
		side->max = value > side->max ? value : side->max;
	}
}

void
measure_alternate(struct measure_side *sides, size_t side_count,
    unsigned rounds)
{
	assert(rounds > 0 && rounds <= MEASURE_MAX_ROUNDS);
	for (unsigned round = 0; round < rounds; round++) {
		for (size_t i = 0; i < side_count; i++) {
			struct measure_side *side = &sides[round % 2 == 0 ?
			    i : side_count - 1 - i];

			side->values[round] = side->run(side->argument);
		}
	}
	for (size_t i = 0; i < side_count; i++) {
		sides[i].round_count = rounds;
		sum_up(&sides[i]);
	}
}

double
measure_ratio(const struct measure_side *a, const struct measure_side *b)
{
	double ratios[MEASURE_MAX_ROUNDS];
	unsigned rounds = a->round_count < b->round_count ?
	    a->round_count : b->round_count;

	assert(rounds > 0);
	for (unsigned i = 0; i < rounds; i++) {
		ratios[i] = a->values[i] / b->values[i];
	}
	return measure_median(ratios, rounds);
}
