/* SPDX-License-Identifier: ISC */

/*
 * What the two halves of verify share; included by them alone.
 */
#ifndef VERIFY_STATE_H
#define VERIFY_STATE_H

#include "verify.h"

struct verify_state {
	const struct pool *pool;
	verify_fn	fn;
	void		*arg;
	uint64_t	faults;
	uint32_t	shard;
	struct flight_table flights;
	/* in the caller's scratch memory, of the shard being looked at */
	uint64_t	*marks;		/* overflow lines that were followed */
	uint32_t	*live_entries;	/* of each extent */
	uint32_t	*live_bytes;
	uint32_t	*listed;	/* in how many lists it was met */
	uint64_t	entries;
	uint64_t	main_entries;
};

void	verify_fault(struct verify_state *v, unsigned invariant,
    uint64_t where, const char *text);

/* I1 */
void	verify_headers(struct verify_state *v);

/* I9 to I12 of the shard, under its lock. */
void	verify_extents(struct verify_state *v);

/* I9 and I10 of the pool's free list. */
void	verify_free_list(struct verify_state *v);

/* I13 */
void	verify_epochs(struct verify_state *v);

#endif
