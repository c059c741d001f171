/* SPDX-License-Identifier: ISC */

/*
 * The world of a crash test: a pool, a ledger beside it, a reader that never
 * stops, workers that are forked, killed and followed by others.
 *
 *	parent	   creates all, forks, kills, recovers, verifies; worker 2
 *	worker 0   the victim: it alone purges
 *	worker 1   works on while the victim dies
 *	reader	   a client with a read-only mapping
 */
#ifndef WORLD_H
#define WORLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ledger.h"
#include "plain_test.h"
#include "pool.h"
#include "stats.h"

#define WORLD_VICTIM	0u
#define WORLD_SIBLING	1u
#define WORLD_PARENT	2u
#define WORLD_WORKERS	3u

#define WORLD_ERROR_BYTES 240u
#define WORLD_NO_SHARD	UINT32_MAX

/* How long a broken run hangs. */
#define WORLD_DEADLINE_MS 30000u

struct profile {
	const char	*name;
	uint64_t	pool_bytes;
	uint64_t	extent_bytes;
	uint32_t	keys;
	uint32_t	value_most_bytes;
	/* one in so many operations of a worker, 0 none */
	uint32_t	large_one_in;
	uint32_t	delete_one_in;
	uint32_t	purge_one_in;
	uint32_t	sweep_one_in;
	uint32_t	pin_one_in;
	uint32_t	expiring_one_in; /* of keys */
	uint32_t	fill_ops;	/* before anything dies */
	bool		keeps_all;	/* has room: nothing may be forgotten */
};

/* Shared by all processes of a world. */
struct world_shared {
	struct ledger	ledger;
	_Atomic uint64_t now_ms;
	_Atomic uint32_t stop_workers;
	_Atomic uint32_t stop_reader;
	_Atomic uint32_t at_point;	/* victims that have met theirs */
	_Atomic uint32_t all_hold_back;	/* the victim has no point to meet */
	_Atomic uint64_t operations;
	_Atomic uint64_t reader_passes;
	_Atomic uint64_t reader_hits;
	_Atomic uint64_t reader_longest_ns; /* of one read */
	_Atomic uint32_t error_claimed;
	_Atomic uint32_t error_set;
	char		error[WORLD_ERROR_BYTES];
};

struct world {
	const struct profile *profile;
	struct world_shared *shared;
	struct pool	pool;		/* the parent's handle */
	void		*scratch;	/* of verify */
	pid_t		reader;
	uint64_t	seed;
	uint64_t	rounds;
	uint32_t	emptied_shard;	/* whose keys may be gone */
	/* counted by world_check() */
	uint64_t	looked_at;
	uint64_t	forgotten;
};

/*
 * True, with a skip of that name, where deaths of processes cannot be looked
 * at: ThreadSanitizer sees nothing between processes, and takes a lock that
 * a dead one left for one that was never taken.
 */
bool	world_cannot_be(struct plain_test *test, const char *name);

/* NULL if there is no profile of that name. */
const struct profile *world_profile(const char *name);

/* A pool, prefilled, and its reader.  False: world_error() says why. */
bool	world_open(struct world *world, const struct profile *profile,
    uint64_t seed);
void	world_close(struct world *world);

/* The first thing that went wrong in any process, "" if nothing did. */
const char *world_error(const struct world *world);
void	world_fail(struct world_shared *shared, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * What a worker does at the arrival-th time it comes to a point: kill itself
 * or (stop) stop itself.  point NULL: at none.
 */
struct plan {
	const char	*point;
	uint32_t	arrival;
	bool		stop;
};

/* Fork worker `number`; it ends by itself after that many operations. */
pid_t	world_spawn(struct world *world, uint32_t number,
    const struct plan *plan, uint32_t operations);

/* Have the workers end after their current operation. */
void	world_stop_workers(struct world *world);

/* The reader has gone over all keys twice since the call. */
bool	world_reader_goes_on(struct world *world);

/* After the death of worker 0 or 1: what a supervisor does. */
void	world_bury(struct world *world, uint32_t number);

/*
 * While no worker runs: verify, and hold the pool against the ledger.
 * False: world_error() says what is wrong.
 */
bool	world_check(struct world *world);

/* The parent works, as the worker of that number, which does not run. */
void	world_work(struct world *world, uint32_t number,
    uint32_t operations);

uint64_t world_stat(const struct world *world, enum stat_id stat);

#endif
