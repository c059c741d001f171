/* SPDX-License-Identifier: ISC */

/*
 * Requests and their answers over one connection.  Many may be under way:
 * one that a blocking call waits for, and any number of started ones.  All
 * functions but the locks, channel_call() and channel_doorbell() are for the
 * holder of the handle's lock.
 *
 * A channel that met an error is dropped whole: whatever was under way is
 * CLOSED, so that a late answer is never taken for another's.
 */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "encode.h"
#include "eventcount.h"
#include "weir.h"
#include "wire.h"

struct lane;
struct late_end;

/* Filled when the answer came, or the channel was dropped. */
struct answer {
	bool		arrived;
	int		status;
	uint32_t	length;		/* of body */
	uint8_t		body[WIRE_BODY_KEPT];
	int		fd;		/* of HELLO; -1 none */
};

/* Of one that waits without the lock: channel_long.c. */
enum turn {
	TURN_NONE,		/* it is none of those */
	TURN_WAITS,		/* awake: under the lock, or it polls */
	TURN_SLEEPS,
	TURN_POLLS,		/* it has to take the lock, and poll */
	TURN_ANSWERED,
};

struct pending {
	struct pending	*next;
	uint64_t	id;
	enum frame_type	type;
	struct answer	*answer;	/* blocking: on the caller's stack */
	_Atomic uint32_t turn;		/* enum turn, of a long wait */
	/* started LEASE, PERMIT: called before done, with its answer */
	bool		(*take)(void *taker, const struct answer *answer);
	void		*taker;
	/* FILL, FAIL, UNCACHEABLE, RELEASE, started: what they end */
	struct wire_hold ends;
	bool		own;		/* done is the library's */
	weir_done_fn	done;		/* started: on the heap */
	void		*arg;
	int		result;
	uint64_t	number;
};

struct pending_queue {
	struct pending	*first;
	struct pending	*last;
};

struct channel {
	struct wire	wire;
	uint64_t	last_id;
	struct pending_queue waiting;
	struct pending_queue finished;	/* done is to be called */
	/*
	 * Long waits.  One thread at a time polls the socket, without the
	 * lock; the others sleep.  Whoever takes the answers of some, or drops
	 * the channel, wakes them when it unlocks.
	 */
	const struct pending *poller;	/* NULL: nobody */
	struct eventcount turns;
	uint32_t	due;		/* bits to be woken at the unlock */
	int		bell;		/* eventfd beside the socket; -1 none */
	/* any thread, atomic: ring when the lock is free */
	_Atomic bool	doorbell_due;
	_Atomic(struct late_end *) late;	/* late_end.h */
};

void	channel_init(struct channel *channel);

/* In the child of a fork: the socket and the requests are the parent's. */
void	channel_forget(struct channel *channel);

/* OK or TIMEOUT. */
enum result channel_lock(struct weir *handle, struct deadline deadline);
bool	channel_try_lock(struct weir *handle);
/* Rings first if somebody wanted to and could not. */
void	channel_unlock(struct weir *handle);

/* Hang up: everything under way is CLOSED, the ring is gone. */
void	channel_drop(struct weir *handle);

/* Take all answers that are there.  OK, CLOSED or CORRUPT. */
enum result channel_receive(struct weir *handle);

/* Until *arrived.  OK, TIMEOUT, CLOSED, CORRUPT, SYSTEM. */
enum result channel_wait(struct weir *handle, const bool *arrived,
    struct deadline deadline);

/*
 * Send a request and wait for its answer; pool may be NULL for HELLO.  *whole
 * says whether all of it was sent.  After anything but OK the caller drops
 * the channel before it returns: the answer is known to it.
 */
enum result channel_exchange(struct weir *handle,
    const struct request *request, const struct pool *pool,
    struct answer *answer, struct deadline deadline, bool *whole);

/* Queue a frame without a body, whose answer nobody waits for: RING. */
enum result channel_ask_ring(struct weir *handle);

/*
 * The whole of a blocking call: lock, connect, exchange, and once more on a
 * new connection if the request was not sent whole on the old one.  What the
 * answer says, or what went wrong; both are told to the lane.
 */
int	channel_call(struct weir *handle, struct lane *lane,
    const struct request *request, struct answer *answer);

/*
 * The same for a request that the daemon may answer late, LEASE and PERMIT:
 * other threads use the channel meanwhile.  It is repeated on a new
 * connection as long as there is time.  When the time is over the daemon is
 * told that nobody waits.  Answers of every status are the caller's to read.
 */
int	channel_call_long(struct weir *handle, struct lane *lane,
    const struct request *request, struct answer *answer,
    struct deadline deadline);

/* A request of that type ends what was given. */
bool	channel_type_ends(enum frame_type type);

/* The answer of this long one came, or the channel is dropped. */
void	channel_rouse(struct channel *channel, struct pending *pending);

/* Queue a request whose answer goes to done; connects if need be. */
int	channel_start(struct weir *handle, struct lane *lane,
    const struct request *request, weir_done_fn done, void *arg);
/*
 * The same for the library's own: nobody steps for it, so it may wait until
 * all is sent, and its done is called by reads, too.
 */
int	channel_start_own(struct weir *handle, struct lane *lane,
    const struct request *request, bool wait_sent, weir_done_fn done,
    void *arg);
/* As channel_start(), and its answer to take first. */
int	channel_start_taken(struct weir *handle, struct lane *lane,
    const struct request *request,
    bool (*take)(void *taker, const struct answer *answer), void *taker,
    weir_done_fn done, void *arg);

/* Under the lock, connected.  Not OK: pending is the caller's yet. */
enum result channel_start_pending(struct weir *handle,
    const struct request *request, struct pending *pending);

/* For channel_long.c: as channel_exchange(), without the wait. */
enum result channel_send(struct weir *handle, const struct request *request,
    const struct pool *pool, struct pending *pending,
    struct deadline deadline);

/* Unlock, then call done for whatever has finished. */
void	channel_leave(struct weir *handle);
/*
 * The same for the library's own alone, while connected: a get calls no done
 * of the caller.
 */
void	channel_leave_own(struct weir *handle);

/* Any thread, without the lock: wake the worker, now or at the unlock. */
void	channel_doorbell(struct weir *handle);

#endif
