/* SPDX-License-Identifier: ISC */

/*
 * What a handle is made of.  Client processes alone.
 *
 * Locks, in the order they are taken:
 *	lock		the channel: socket, pending requests, attaching
 *	ring_lock	the ring: its producer, what is counted of it
 * A hit takes neither.  What hits share with the rest is atomic: the
 * attachment that is current, the life, the next look and the next tick.
 */
#ifndef HANDLE_H
#define HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach.h"
#include "channel.h"
#include "prng_small.h"
#include "ring_out.h"
#include "weir.h"

struct lane;

struct weir {
	/* set at open, then read-only */
	uint64_t	serial;		/* no two of a process share it */
	char		*socket_path;	/* NULL: the default */
	char		*pool_name;
	uint32_t	timeout_ms;
	bool		hints;
	bool		disabled;

	/* any thread, atomic */
	_Atomic uint64_t life;		/* see life.h */
	_Atomic(struct attachment *) current;
	_Atomic(struct lane *) lanes;	/* only ever longer */
	_Atomic uint64_t next_look_ms;	/* own boot clock */
	_Atomic uint64_t next_tick_ms;	/* own boot clock */
	_Atomic bool	absent;		/* no daemon at the last look */
	_Atomic uint32_t fills_sent;	/* not answered yet: lease_send.h */

	/* under lock */
	pthread_mutex_t	lock;
	struct channel	channel;
	struct attach_state attach;
	struct prng_small jitter;

	/* under ring_lock */
	pthread_mutex_t	ring_lock;
	struct ring_out	ring;
};

#endif
