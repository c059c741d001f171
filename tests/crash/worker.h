/* SPDX-License-Identifier: ISC */

/*
 * One process's work on the pool of a world: operations drawn at random,
 * each written down in the ledger before and after.
 */
#ifndef WORKER_H
#define WORKER_H

#include "read.h"
#include "world.h"

#define WORKER_PINS	4u
#define WORKER_VALUE_MAX (256u << 10)

struct worker {
	struct world_shared *shared;
	const struct profile *profile;
	struct pool	pool;
	struct prng	prng;
	uint32_t	number;
	uint32_t	pinned[WORKER_PINS];	/* extents, 0 none */
	uint8_t		*buffer;		/* WORKER_VALUE_MAX */
};

/* buffer: memory for one value, of the caller. */
void	worker_init(struct worker *worker, const struct world *world,
    uint32_t number, uint64_t seed, uint8_t *buffer);

/* False: something was wrong, and the world knows. */
bool	worker_step(struct worker *worker);

/* Give back the pins. */
void	worker_end(struct worker *worker);

/*
 * Read a key and hold it against the ledger; *found tells whether it was
 * there.  For readers, workers and the check.
 */
bool	worker_look(struct world_shared *shared, const struct pool *pool,
    uint32_t key, uint8_t *buffer, struct read_hit *hit, bool *found);

/* Keys of this class hold counters. */
bool	worker_is_counter(uint32_t key);

/* The key's bytes and hash; name holds 16 bytes. */
struct key worker_key(const struct pool *pool, uint32_t key, char *name);

#endif
