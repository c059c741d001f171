/* SPDX-License-Identifier: ISC */

/*
 * An origin that the bench plays itself, in memory that all its processes
 * share: so many places, a service time drawn from a log-normal distribution
 * or a fixed one, and counts of its own.  Any thread may call.
 */
#ifndef BACKEND_H
#define BACKEND_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "prng.h"

/* Whose calls are counted apart. */
enum backend_class {
	BACKEND_NORMAL,
	BACKEND_FLOOD,
	BACKEND_CLASSES
};

#define BACKEND_SECONDS	512u

struct backend {
	sem_t		places;
	double		sigma;		/* of the logarithm; 0: fixed */
	uint64_t	time_out_ns;	/* callers give up; 0: never */
	uint64_t	since_ns;	/* start of the seconds below */
	_Atomic uint64_t median_ns;	/* may be changed at any moment */
	_Atomic uint32_t in_flight[BACKEND_CLASSES];
	_Atomic uint32_t peak[BACKEND_CLASSES];
	_Atomic uint32_t peak_of_all;
	_Atomic uint32_t in_flight_of_all;
	_Atomic uint32_t per_second[BACKEND_SECONDS];
	_Atomic uint64_t calls;
	_Atomic uint64_t failures;
	_Atomic uint64_t slept_ns;	/* of all calls, as measured */
	_Atomic uint64_t slowest_ns;
};

/* In shared memory; NULL if there is none. */
struct backend *backend_create(uint32_t places, uint64_t median_ns,
	    double sigma);
void	backend_destroy(struct backend *backend);

/* Counts from here on; nobody may be calling. */
void	backend_restart(struct backend *backend);

void	backend_set_median(struct backend *backend, uint64_t median_ns);

/* True: it has answered; false: the caller gave up. */
bool	backend_call(struct backend *backend, enum backend_class caller,
	    struct prng *prng);

uint32_t backend_busiest_second(const struct backend *backend);

/* Any of the counts above. */
static inline uint64_t
backend_count(const _Atomic uint64_t *count)
{
	/* Relaxed: a number for a report. */
	return atomic_load_explicit(count, memory_order_relaxed);
}

static inline uint32_t
backend_peak(const _Atomic uint32_t *peak)
{
	/* Relaxed: a number for a report. */
	return atomic_load_explicit(peak, memory_order_relaxed);
}

#endif
