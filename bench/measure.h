/* SPDX-License-Identifier: ISC */

/*
 * Measuring on a noisy machine: a clock, a core to stay on, and sides that
 * run in turn so that what disturbs one disturbs the other.  For benches.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More rounds than any bench asks for. */
#define MEASURE_MAX_ROUNDS	31

/* Runs once and gives one figure, larger or smaller being better alike. */
typedef double (measure_run_fn)(void *argument);

struct measure_side {
	/* filled by the caller */
	const char	*name;
	measure_run_fn	*run;
	void		*argument;
	/* filled by measure_alternate() */
	unsigned	round_count;
	double		values[MEASURE_MAX_ROUNDS];
	double		median;
	double		min;
	double		max;
};

/* CLOCK_MONOTONIC. */
uint64_t	measure_now_ns(void);

unsigned	measure_count_cores(void);

/*
 * Keeps the calling thread on the nth core that the process may use,
 * counting from 0 and starting over past the last; false if refused.
 */
bool	measure_pin_core(unsigned nth);

/*
 * Runs every side `rounds` times (1 to MEASURE_MAX_ROUNDS), each round in
 * the reverse order of the one before it.
 */
void	measure_alternate(struct measure_side *sides, size_t side_count,
    unsigned rounds);

/*
 * Median over the rounds of a's figure divided by b's of the same round:
 * steadier than the ratio of medians, as a disturbed round disturbs both.
 */
double	measure_ratio(const struct measure_side *a,
    const struct measure_side *b);

/* Median of the values, which stay as they are. count > 0. */
double	measure_median(const double *values, size_t count);

/* Makes the compiler believe that what `p` points at is used. */
static inline void
measure_keep(const void *p)
{
	__asm__ __volatile__("" : : "r"(p) : "memory");
}

#endif
