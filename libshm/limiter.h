/* SPDX-License-Identifier: ISC */

/*
 * The concurrency limiter of an origin: how many calls may be under way at
 * once, machine-wide, and who is next.  It lies in the control segment;
 * daemon processes call it with the origin's lock held.  Time is an
 * argument; nothing here waits or wakes: who has to be woken is told by a
 * mask of workers.
 *
 *	permit	the right to one call
 *		FREE ----------> HELD ----------> FREE
 *		  acquire, grant     release, cancel, sweep
 *	place	one who waits for a permit
 *		FREE -----> WAITING -----> GRANTED -----> FREE
 *		  acquire     |      grant    collect, cancel, sweep
 *		              +--> FREE: collect after its time, cancel, sweep
 *
 * A waiter may run while its host and its partition are below their caps; a
 * marked one (of a key that may not be shared, so that its calls are no
 * flood) also above the partition's while much is idle:
 *	in_flight < limit - reserve - headroom
 * First come, first served, but for those who could not run anyway.  That
 * needs no look at them: each partition has a queue (two: marked ones apart),
 * each host a heap of its partitions whose first waiter may run as far as the
 * partition goes, and above them lies a heap of the hosts below their caps.
 * A heap's smallest number of arrival is next, however many wait behind full
 * partitions or hosts.
 *
 * 1. The owner word says whether a slot (permit or place) is taken; 0 is
 *    free.  Everything else that is counted or linked (rows of partitions,
 *    hosts and clients, queues, heaps, granted lists, totals, free lists)
 *    follows from the slots, and limiter_rebuild() makes it from them: no
 *    count can differ from them for longer than until the next holder of the
 *    lock has noticed a death under it.
 * 2. in_flight <= limit after every call, but while a lowered limit drains.
 * 3. Nobody waits who may run: every function that frees something, and
 *    acquire, ends with the grant loop or has changed nothing that a waiter
 *    waits for.
 * 4. A number is used once: a ticket of the past fits no slot of today.
 *    Numbers left in free slots count, too, when the counter is made anew.
 * 5. Each grant is told: a granted place is in its worker's list until that
 *    worker took it from there, and rebuild tells all who have one, since
 *    the one who granted may have died before it could tell.
 *
 * Death under the lock, between any two stores; what counts is stored in the
 * order given, and the next holder calls limiter_rebuild():
 *	taking a slot	its words, then its owner: free, or whole
 *	freeing one	its owner, then the rest: taken, or free
 *	a grant		(a) the place names permit and token, (b) the permit's
 *			words, (c) its owner, (d) the place's state.
 *			Before (c): waits on, the permit is free.  After (c):
 *			rebuild finds the place's permit and does (d).
 *	end of a granted place, unwanted: the permit's owner, then the
 *			place's: a granted place whose permit is not its own
 *			is freed.
 *	collect		the place's owner only: the permit is the owner's,
 *			who may not know it: it ends with its owner, when he
 *			says what he knows of (origin_held.h), or when it is
 *			overdue.
 * Death of an owner or of a place's worker: limiter_sweep() frees its slots,
 * with a granted place its permit.  A permit lives on without the worker it
 * came through: its owner may be a client that has come to another.
 *
 * Words of slots are input, since a process that went wrong may have written
 * anything: indices are checked, and a slot whose words make no sense is
 * freed by rebuild.  Derived words lead nowhere outside the limiter either,
 * and no loop depends on them for its end.
 */
#ifndef LIMITER_H
#define LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "result.h"

#define LIMITER_WORKERS		64u

enum limiter_class {
	LIMITER_FOREGROUND,	/* may wait, may use every permit */
	LIMITER_BACKGROUND,	/* never waits, leaves the reserve alone */
};

enum limiter_refusal {
	LIMITER_NOT_REFUSED,
	LIMITER_QUEUE_FULL,
	LIMITER_PARTITION_QUEUE_FULL,
	LIMITER_CLIENT_CAP,
	LIMITER_BACKGROUND_SHED,
	LIMITER_NO_WAIT,	/* the caller did not want to wait */
	LIMITER_QUEUE_TIMEOUT,	/* it waited in vain */
	LIMITER_REFUSALS
};

/* Defaults. */
#define LIMITER_LIMIT			64u
#define LIMITER_PLACES			8192u
#define LIMITER_WAIT_MS			5000u
#define LIMITER_PARTITION_CAP		16u
#define LIMITER_RESERVE_PCT		25u
#define LIMITER_PERMIT_MS		30000u

/*
 * Limit, places and times may differ from call to call (limiter_grant() after
 * a higher limit); after a change of a cap limiter_rebuild() has to follow.
 */
struct limiter_config {
	uint32_t	limit;		/* calls at once; cut to capacity */
	uint32_t	places;		/* who may wait; cut to capacity */
	uint32_t	wait_ms;	/* longest */
	uint32_t	partition_cap;	/* calls of one partition; 0 none */
	uint32_t	partition_places; /* waiters of one; 0 a quarter */
	uint32_t	client_cap;	/* calls and waiters of one; 0 none */
	uint32_t	host_cap;	/* calls of one host; 0 none */
	uint32_t	reserve_pct;	/* not for background calls */
	uint32_t	permit_ms;	/* then a call is overdue: freed */
	uint32_t	headroom;	/* marked ones leave it; 0: the cap */
};
#define LIMITER_CONFIG_INIT						\
	{								\
		.limit = LIMITER_LIMIT,					\
		.places = LIMITER_PLACES,				\
		.wait_ms = LIMITER_WAIT_MS,				\
		.partition_cap = LIMITER_PARTITION_CAP,			\
		.reserve_pct = LIMITER_RESERVE_PCT,			\
		.permit_ms = LIMITER_PERMIT_MS,				\
	}

/* In shared memory, as all that follows up to struct limiter. */
struct limiter_permit {
	uint64_t	owner;		/* 0 free */
	uint64_t	client;		/* for the client cap; 0 none */
	uint64_t	partition;	/* 0 uncapped */
	uint64_t	host;		/* 0 uncapped */
	uint64_t	deadline_ms;
	uint64_t	token;		/* of this grant, never used twice */
	uint64_t	number;		/* of arrival, as in the place */
	/* the caller's words, 0 when the permit is given */
	uint64_t	generation;	/* of the breaker that admitted it */
	uint64_t	breaker;	/* 0 the origin's; else the partition */
	uint64_t	started_us;
	uint32_t	probe;
	/* the slot's again */
	uint32_t	cap;		/* what its request said; 0 config's */
	/* derived */
	uint32_t	row;
	uint32_t	client_row;
	uint32_t	next_free;
	uint32_t	unused;
};
_Static_assert(sizeof(struct limiter_permit) == 104, "limiter_permit");

enum limiter_place_state {
	LIMITER_PLACE_FREE,
	LIMITER_PLACE_WAITING,
	LIMITER_PLACE_GRANTED,	/* permit and token say which */
};

struct limiter_place {
	uint64_t	owner;		/* 0 free */
	uint64_t	client;
	uint64_t	partition;
	uint64_t	host;
	uint64_t	number;		/* of arrival, never used twice */
	uint64_t	deadline_ms;
	uint64_t	worker;		/* limiter_worker(): who is told */
	uint64_t	token;		/* of its permit; 0 none yet */
	uint32_t	permit;
	uint32_t	state;
	uint32_t	marked;
	uint32_t	cap;
	/* derived */
	uint32_t	row;
	uint32_t	client_row;
	uint32_t	next;		/* in its queue or list, or free */
	uint32_t	previous;
	uint32_t	listed;		/* granted, not taken by its worker */
	uint32_t	unused;
};
_Static_assert(sizeof(struct limiter_place) == 104, "limiter_place");

/* Two of each: those who run by the cap, and marked ones above it. */
enum limiter_heap {
	LIMITER_PLAIN,
	LIMITER_MARKED,
	LIMITER_HEAPS
};

/* In a pairing heap; a node's number is its row's, doubled, plus which. */
struct limiter_node {
	uint64_t	rank;		/* arrival of the first below it */
	uint32_t	child;
	uint32_t	next;
	uint32_t	previous;	/* sibling, or parent of the first */
	uint32_t	heap;		/* from 1; 0 in none */
};

enum limiter_row_kind {
	LIMITER_ROW_FREE,
	LIMITER_ROW_PARTITION,
	LIMITER_ROW_HOST,
	LIMITER_ROW_CLIENT,
};

/* Of a partition, host or client with calls under way or waiters. */
struct limiter_row {
	uint64_t	key;
	uint64_t	host;		/* partition: of which host */
	uint64_t	cap_number;	/* rebuild: the newest that said cap */
	uint32_t	kind;
	uint32_t	chain;		/* in its bucket, or free */
	uint32_t	in_flight;
	uint32_t	waiting;
	uint32_t	cap;		/* partition: as asked; 0 config's */
	uint32_t	host_row;	/* partition */
	uint32_t	head[LIMITER_HEAPS];	/* partition: queues */
	uint32_t	tail[LIMITER_HEAPS];
	uint32_t	root[LIMITER_HEAPS];	/* host: its partitions */
	struct limiter_node node[LIMITER_HEAPS];
};
_Static_assert(sizeof(struct limiter_row) == 120, "limiter_row");

struct limiter_state {
	uint64_t	next_number;	/* the last that was used */
	/* since init, for people */
	uint64_t	refused[LIMITER_REFUSALS];
	uint64_t	granted;
	uint64_t	waited;		/* grants to waiters */
	uint64_t	overdue;
	uint64_t	swept;		/* slots of dead owners or workers */
	/* derived */
	uint32_t	in_flight;
	uint32_t	waiting;
	uint32_t	uncollected;	/* granted places */
	uint32_t	free_permit;
	uint32_t	free_place;
	uint32_t	free_row;
	uint32_t	row_top;	/* rows above were never used */
	uint32_t	root[LIMITER_HEAPS];	/* of hosts */
	uint32_t	unused;
	uint32_t	granted_head[LIMITER_WORKERS];
	uint32_t	granted_tail[LIMITER_WORKERS];
};
_Static_assert(sizeof(struct limiter_state) == 648, "limiter_state");

/* One process's pointers; all are numbered from 1, [0] is for nothing. */
struct limiter {
	struct limiter_state *state;
	struct limiter_permit *permits;
	struct limiter_place *places;
	struct limiter_row *rows;
	uint32_t	*buckets;	/* [bucket_count], of rows */
	uint32_t	permit_capacity;
	uint32_t	wait_capacity;	/* who may wait at once */
	/* And a place for each permit that waits to be collected. */
	uint32_t	place_capacity;
	uint32_t	row_capacity;	/* three for each slot */
	uint32_t	bucket_count;	/* a power of two */
};

/* Bytes of shared memory for that many; 0 if out of range. */
size_t	limiter_bytes(uint32_t permit_capacity, uint32_t wait_capacity);

/* Point at memory of limiter_bytes(), 8-aligned.  init empties it. */
void	limiter_bind(struct limiter *limiter, void *memory,
    uint32_t permit_capacity, uint32_t wait_capacity);
void	limiter_init(struct limiter *limiter);

/* A worker and which of its lives: who is told of a grant. */
static inline uint64_t
limiter_worker(uint32_t index, uint64_t incarnation)
{
	return (index & 0xff) | incarnation << 8;
}

static inline uint32_t
limiter_worker_index(uint64_t worker)
{
	return worker & 0xff;
}

struct limiter_request {
	uint64_t	owner;		/* not 0 */
	uint64_t	client;		/* 0: no client cap */
	uint64_t	partition;	/* hash; 0: uncapped */
	uint64_t	host;		/* hash; 0: uncapped */
	uint64_t	worker;		/* limiter_worker() */
	enum limiter_class class;
	bool		marked;		/* above; of the foreground only */
	uint32_t	partition_cap;	/* from now on; 0 config's */
	uint32_t	wait_ms;	/* 0: not at all; cut to config's */
};

struct limiter_ticket {
	uint32_t	permit;		/* from 1, or 0 */
	uint32_t	place;		/* from 1, or 0 */
	uint64_t	token;		/* of the permit */
	uint64_t	number;		/* of the place */
	uint64_t	deadline_ms;
	uint64_t	told;		/* acquire: workers to tell */
	enum limiter_refusal refusal;
};

/*
 * OK: a permit.  GROWING: a place; its worker is told when it is granted.
 * BUSY: refused, ticket->refusal says why.  INVALID: no owner or no such
 * worker.  In any case ticket->told may name workers: a cap that was raised
 * lets waiters run.
 */
enum result limiter_acquire(struct limiter *limiter,
    const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now,
    struct limiter_ticket *ticket);

/* A permit for its holder's words; NULL: it is not that grant any more. */
struct limiter_permit *limiter_permit(const struct limiter *limiter,
    uint32_t permit, uint64_t token);

/*
 * What follows adds to *told a bit for each worker that has been granted
 * something: it has to be woken, and calls limiter_next_granted().
 */

/* False: not that grant any more (overdue, swept): nothing is changed. */
bool	limiter_release(struct limiter *limiter,
    const struct limiter_config *config, uint32_t permit, uint64_t token,
    struct boot_ms now, uint64_t *told);

/* Give a place back, and its permit if it was granted meanwhile. */
void	limiter_cancel(struct limiter *limiter,
    const struct limiter_config *config, struct limiter_ticket *ticket,
    struct boot_ms now, uint64_t *told);

/* After the limit was raised: grant what can be granted. */
void	limiter_grant(struct limiter *limiter,
    const struct limiter_config *config, struct boot_ms now, uint64_t *told);

/* The next granted place of a worker, once each; 0: no more. */
uint32_t limiter_next_granted(struct limiter *limiter, uint64_t worker);

/*
 * What has become of a place.  OK: granted; the place is given back, permit
 * and token are the caller's.  GROWING: waits on.  TIMEOUT: its time is over,
 * the place is given back.  MISS: it is not this caller's any more.
 */
enum result limiter_collect(struct limiter *limiter,
    const struct limiter_config *config, struct limiter_ticket *ticket,
    struct boot_ms now);

/* Is this owner gone?  Is this worker's life over? */
typedef bool (*limiter_dead_fn)(void *arg, uint64_t owner);
typedef bool (*limiter_worker_dead_fn)(void *arg, uint64_t worker);

/*
 * Free what the dead hold and what is overdue.  Either function may be NULL.
 * Looks at the taken slots, and at little else.
 */
void	limiter_sweep(struct limiter *limiter,
    const struct limiter_config *config, struct boot_ms now,
    limiter_dead_fn dead, limiter_worker_dead_fn worker_dead, void *arg,
    uint64_t *told);

/*
 * The same, and everything derived is made anew from the slots: after a
 * death under the lock, after a change of a cap, and at any time.
 */
void	limiter_rebuild(struct limiter *limiter,
    const struct limiter_config *config, struct boot_ms now,
    limiter_dead_fn dead, limiter_worker_dead_fn worker_dead, void *arg,
    uint64_t *told);

/* Every invariant above; the number of faults. */
unsigned limiter_verify(const struct limiter *limiter,
    const struct limiter_config *config);

const char *limiter_refusal_name(enum limiter_refusal refusal);

#endif
