/* SPDX-License-Identifier: ISC */

/*
 * The seam between the simulator and the policies it compares: every policy
 * is one file that defines one of the tables named below.  A policy sees
 * objects as dense numbers (0, 1, 2, ... in order of first request), so its
 * whole state is flat arrays and a request costs no allocation.  Sizes are
 * in the trace's own units: bytes, or objects where every size is 1.
 */
#ifndef SIM_POLICY_H
#define SIM_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_request {
	uint64_t	hash;		/* of the object's id, 64 good bits */
	int64_t		next;		/* request number of the next access */
	uint32_t	object;		/* dense number */
	uint32_t	size;
};

struct sim_setup {
	uint64_t	capacity;	/* in the trace's units, > 0 */
	uint64_t	unit_bytes;	/* memory that one unit stands for */
};

struct sim_ops {
	const char	*name;
	const char	*help;

	/* NULL if memory is short. */
	void		*(*create)(const struct sim_setup *setup);
	void		(*destroy)(void *policy);

	/* Make room for objects below count.  False if memory is short. */
	bool		(*grow)(void *policy, uint32_t count);

	/* Replay requests in order; returns how many of them missed. */
	uint64_t	(*replay)(void *policy,
			    const struct sim_request *requests, size_t count);
};

extern const struct sim_ops sim_belady;
extern const struct sim_ops sim_fifo;
extern const struct sim_ops sim_lru;
extern const struct sim_ops sim_s3fifo;
extern const struct sim_ops sim_sieve;
extern const struct sim_ops sim_weir;

/* The policy of that number, in the order they are listed; NULL past them. */
const struct sim_ops *sim_policy_at(size_t number);

/* NULL if there is none of that name. */
const struct sim_ops *sim_policy_find(const char *name);

#endif
