/* SPDX-License-Identifier: ISC */

/*
 * A daemon of one thread for tests of the client library: a real pool and a
 * real ring, served over a Unix socket, with faults on demand.
 */
#ifndef FAKE_DAEMON_H
#define FAKE_DAEMON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fake_lease.h"
#include "pool.h"
#include "protocol.h"
#include "ring.h"
#include "weir.h"

enum fake_fault {
	FAKE_HONEST,
	FAKE_SILENT,		/* takes requests, answers none */
	FAKE_HANGS_UP,		/* hangs up on the next request */
	FAKE_GARBAGE,		/* answers with bytes that are no frame */
	FAKE_GARBAGE_ONCE,	/* the next request alone */
	FAKE_WRONG_ID,		/* answers a request that was not sent */
	FAKE_DENIES,		/* refuses HELLO */
	FAKE_UNSEALED,		/* HELLO brings a file that could be cut */
	FAKE_LONG_TEXT,		/* refuses with a long text */
};

struct fake_daemon {
	/* set at start */
	char		folder[64];
	char		path[96];
	struct pool	pool;
	int		listener;
	int		stop[2];	/* a pipe: closed to stop */
	uint64_t	clock_offset_ms; /* of the daemon's clock, as it says */
	pthread_t	thread;
	/* the test, atomic */
	_Atomic int	fault;		/* enum fake_fault */
	/* the thread, atomic */
	_Atomic unsigned hellos;
	_Atomic unsigned requests;
	_Atomic unsigned doorbells;
	_Atomic unsigned hints;
	_Atomic uint64_t hits_told;
	_Atomic uint64_t misses_told;
	_Atomic unsigned hangups;
	_Atomic unsigned slides;
	/* the thread alone */
	struct fake_client *clients[16];
	uint64_t	stored;
	uint64_t	refused;
	/* the last RING_SLIDE; changes before slides does */
	uint8_t		slide[RING_SLIDE_BYTES];
	/* see there */
	struct fake_lease lease;
};

/* When an entry ends, from now; 0 never. */
struct fake_life {
	int64_t		soft_in_ms;
	int64_t		hard_in_ms;
	uint64_t	age_ms;		/* not below -soft_in_ms */
	uint16_t	cost_ms;
	uint8_t		flags;		/* ENTRY_NEGATIVE */
};

/* Listen in a folder of its own, or at the path of an earlier one. */
void	fake_daemon_start(struct fake_daemon *daemon, const char *path,
    uint8_t boot_id);
void	fake_daemon_stop(struct fake_daemon *daemon);

/* Now, for the heartbeat that readers look at. */
void	fake_daemon_beat(struct fake_daemon *daemon, uint64_t age_ms);

/*
 * From now on its clock is of another time, so that entries can be as old as
 * a test wants on a machine that just started.  Before a handle connects.
 */
void	fake_daemon_age(struct fake_daemon *daemon);

/* Store, as if so long ago; while it has nothing to do.  The version. */
uint64_t fake_daemon_store(struct fake_daemon *daemon, const char *name,
    const char *value, const struct fake_life *life);

/* A handle on it; the test fails when it cannot be opened. */
struct weir *fake_daemon_open(struct fake_daemon *daemon,
    unsigned timeout_ms);

#endif
