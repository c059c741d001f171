/* SPDX-License-Identifier: ISC */

/*
 * The steps that the bench micro times, one function each, over a pool that
 * this process may write.  Each answers false if its result was wrong.
 */
#ifndef MICRO_STEPS_H
#define MICRO_STEPS_H

#include "dataset.h"

/* A pool with one size of value, and what an operation needs. */
struct micro {
	const struct bench *b;
	struct dataset	data;
	struct clock_cache clock;
	const struct workload_draw *draws;
	uint64_t	count;
	uint64_t	hard_ms;	/* of what is stored */
	uint8_t		buffer[WORKLOAD_VALUE_MAX];
	uint64_t	done;		/* so that no work is left out */
};

typedef bool (micro_step_fn)(struct micro *m, const struct workload_draw *draw);

micro_step_fn	micro_key;	/* build a key */
micro_step_fn	micro_get;
micro_step_fn	micro_miss;
micro_step_fn	micro_hit;	/* a worker's, all of it: get and count */
micro_step_fn	micro_set;
micro_step_fn	micro_delete;
micro_step_fn	micro_touch_expiry;
micro_step_fn	micro_counter;	/* adds 1 */
micro_step_fn	micro_miss_and_set;

/* Nanoseconds of one operation over count draws. */
static inline double
micro_time(struct micro *m, micro_step_fn *step,
    const struct workload_draw *draws, uint64_t count)
{
	uint64_t start = measure_now_ns();
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < count; i++) {
		wrong += !step(m, &draws[i]);
	}
	if (wrong != 0) {
		bench_fail(m->b, "%llu of %llu operations failed",
		    (unsigned long long)wrong, (unsigned long long)count);
	}
	return (double)(measure_now_ns() - start) / (double)count;
}

#endif
