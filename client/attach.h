/* SPDX-License-Identifier: ISC */

/*
 * From a path to a mapped pool: connecting, saying hello, mapping, and doing
 * it again when the daemon is another.  Reads go on in the old mapping
 * meanwhile; lane.h says when it may be unmapped.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "holds.h"
#include "pool.h"
#include "weir.h"
#include "wire.h"

struct lane;

/* A heartbeat this old makes a reader look whether the daemon is there. */
#define ATTACH_HEARTBEAT_OLD_MS	3000

struct attachment {
	/* set before it is published, then read-only */
	struct pool	pool;		/* counts nowhere: see lane.h */
	uint64_t	serial;		/* no two of a process share it */
	int64_t		clock_offset_ms; /* the daemon's boot clock - ours */
	uint64_t	value_max_bytes;
	uint8_t		boot_id[16];
	/* any thread: a view of it was given out, it stays until the close */
	_Atomic bool	viewed;
	/* under the handle's lock */
	struct attachment *next_retired;
};

/* Under the handle's lock. */
struct attach_state {
	struct attachment *retired;
	uint64_t	retry_at_ms;	/* own boot clock; reads wait for it */
	uint32_t	backoff_ms;
	int		last_result;	/* of the last try */
	bool		has_membarrier;
	/* who this process is to that daemon, and what proves it */
	uint64_t	holder;
	uint64_t	secret;
	struct holds	holds;
	uint64_t	claims_until_ms; /* 0: none is being tried */
};

void	attach_forget(struct attach_state *state);

/* These three under the lock.  Connected, or connect now. */
enum result attach_ensure(struct weir *handle, struct lane *lane,
    struct deadline deadline);
/* Connect if the back-off is over, with little time: for the hit path. */
void	attach_retry(struct weir *handle, struct lane *lane);
/* The pool that requests are hashed for; connected. */
const struct pool *attach_pool(const struct weir *handle);

/* A read found nothing attached.  OK: try again. */
int	attach_for_read(struct weir *handle, struct lane *lane);

/* A read found an old heartbeat; looks at the socket, now and then. */
void	attach_look(struct weir *handle, struct lane *lane);

/* Unmap everything; no thread reads. */
void	attach_close(struct weir *handle);

#endif
