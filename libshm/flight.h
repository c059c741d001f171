/* SPDX-License-Identifier: ISC */

/*
 * Flights: who computes a missing or stale value now, and who waits for it.
 * One table per shard in the pool's private segment, which no client sees;
 * workers call it with the shard's lock held.  Nothing here waits or wakes:
 * what has to be woken is told by a mask of workers.
 *
 *	            begin                     end (fill, fail, uncacheable)
 *	   FREE ------------> LEADING --------------------------> ENDED
 *	                        |  ^                               | all workers
 *	            leader gone |  | offer taken, or lapsed        v have looked
 *	                        v  |                              FREE
 *	                      OFFERED
 *
 *	   fail also leaves a BACKOFF note, uncacheable a MARK: newcomers
 *	   meet it until its time is over.
 *
 * 1. At most one leader per key: begin looks for the key's record under the
 *    lock, and there is one LEADING or OFFERED record of a key at most.  It
 *    is told by hash and digest, so that two keys of one hash fly apart.
 * 2. A token is a number of a counter that never goes back (recovery raises
 *    it, too), and is compared together with its leader: a leader whose
 *    time passed, or who was taken for dead, can end nothing any more.
 * 3. No wake-up is lost: a record keeps a bit for each worker that has
 *    waiters until that worker has looked at it (flight_collect); the mask
 *    that end returns goes into those workers' pending words before the lock
 *    is let go.  The bits are the truth; the count of waiters is for the cap,
 *    and may be too high once a worker died.
 * 4. A write or purge of the key meanwhile sets touched: the fill is its own
 *    caller's alone, and the waiters look again.
 * 5. Notes have places of their own, a ring for each kind with a quarter of
 *    the table's capacity: the oldest gives way, and none of them takes the
 *    place of a flight.
 *
 * Leader's process dies: flight_sweep() offers the flight to a worker with
 * waiters, or frees it.  A worker dies: its bit goes, its clients' flights
 * stay theirs, but for those that they were never told of: flight_keep_known()
 * when they claim.  A worker dies under the lock: recovery calls
 * flight_rebuild(), which makes lists and counts from the records; a flight
 * that was being filled (the link may be there or not) ends, and its waiters
 * look again.
 */
#ifndef FLIGHT_H
#define FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "result.h"

#define FLIGHT_OFFER_MS		10u
#define FLIGHT_WAITERS_MAX	4096u
#define FLIGHT_BACKOFF_MS	100u
#define FLIGHT_BACKOFF_MAX_MS	10000u
#define FLIGHT_MARK_MAX_MS	60000u
#define FLIGHT_CAPACITY_MAX	(1u << 20)

enum flight_state {
	FLIGHT_FREE,
	FLIGHT_LEADING,
	FLIGHT_OFFERED,
	FLIGHT_ENDED,
	FLIGHT_BACKOFF,
	FLIGHT_MARK,
	FLIGHT_STATES
};

enum flight_outcome {
	FLIGHT_FILLED,		/* look again: it is there */
	FLIGHT_LOOK_AGAIN,	/* something newer is, or nothing */
	FLIGHT_FAILED,		/* the computation failed: code */
	FLIGHT_UNCACHEABLE,	/* compute your own, under the limiter */
	FLIGHT_SHED,		/* the limiter refused it: code is why */
	FLIGHT_OPEN,		/* the breaker refused it */
	FLIGHT_OUTCOMES
};

/* How a flight ends, and what its waiters are told. */
struct flight_ending {
	enum flight_outcome outcome;
	int32_t		code;		/* the caller's, or a refusal */
	uint32_t	retry_after_ms;	/* SHED, OPEN; of FAILED: the note's */
	uint32_t	back_off_ms;	/* FAILED: of the first; 0 no note */
	uint32_t	mark_ms;	/* UNCACHEABLE: 0 no mark */
};

struct flight {
	uint64_t	digest[2];	/* of the key, keyed */
	uint64_t	hash;
	uint64_t	token;		/* of the leader, or that ended */
	uint64_t	leader;		/* holder, 0 nobody */
	uint64_t	started_ms;
	/* LEADING, of the lease; OFFERED, of the offer; of a note, its end */
	uint64_t	deadline_ms;
	uint64_t	epoch;		/* newest purge when it was led */
	uint64_t	waiting_workers; /* a bit each */
	uint32_t	thread;		/* of the leader, for WOULD_DEADLOCK */
	uint32_t	next;		/* in its list, from 1 */
	int32_t		code;		/* ENDED, BACKOFF: of the ending */
	uint32_t	retry_after_ms;
	uint16_t	waiters;	/* 0 only if waiting_workers is */
	uint8_t		failures;	/* in a row */
	uint8_t		offered_worker;
	uint8_t		state;
	uint8_t		outcome;
	uint8_t		touched;	/* the key was changed meanwhile */
	uint8_t		filling;	/* between a fill's check and its end */
};
_Static_assert(sizeof(struct flight) == 96, "flight");

enum flight_note {
	FLIGHT_NOTE_BACKOFF,
	FLIGHT_NOTE_MARK,
	FLIGHT_NOTES
};

struct flight_state_words {
	uint64_t	last_token;
	uint32_t	free_list;	/* of flights */
	uint32_t	used;		/* flights */
	uint32_t	noted;		/* notes of both kinds */
	uint32_t	ring[FLIGHT_NOTES]; /* where the next note goes */
	uint32_t	unused;
};
_Static_assert(sizeof(struct flight_state_words) == 32, "flight words");

/*
 * One process's pointers.  Records are numbered from 1: capacity flights,
 * then the ring of back-offs, then that of marks.
 */
struct flight_table {
	struct flight_state_words *state;
	struct flight	*flights;
	uint32_t	*heads;		/* [head_count] */
	uint32_t	capacity;
	uint32_t	notes;		/* of each kind */
	uint32_t	head_count;	/* a power of two */
};

/* Bytes of a table, a multiple of 32; 0 for a capacity out of range. */
size_t	flight_bytes(uint32_t capacity);
void	flight_bind(struct flight_table *table, void *memory,
    uint32_t capacity);

/* All free.  Tokens begin above first_token. */
void	flight_init(const struct flight_table *table, uint64_t first_token);

struct flight_key {
	uint64_t	hash;
	uint64_t	digest[2];
};

struct flight_caller {
	uint64_t	holder;		/* the client's process; not 0 */
	uint32_t	thread;		/* 0: never WOULD_DEADLOCK */
	uint32_t	worker;		/* below 64 */
	bool		may_wait;
};

struct flight_ticket {
	uint32_t	index;
	uint64_t	token;		/* of the flight waited for, or led */
	uint64_t	epoch;		/* led: for the fill */
	uint64_t	until_ms;	/* BACK_OFF, ALONE; WAIT: look then */
	bool		took_over;	/* led: from a leader who was lost */
};

enum flight_answer {
	FLIGHT_LEAD,		/* compute; end it with ticket->token */
	FLIGHT_WAIT,		/* collect when told, or at until_ms */
	FLIGHT_UNDER_WAY,	/* others do it; the caller may not wait */
	FLIGHT_FOUND,		/* look again: it is there (lease.c alone) */
	FLIGHT_ENDED_NOW,	/* collect: it ended, see *ending */
	FLIGHT_BACK_OFF,	/* it failed lately: not before until_ms */
	FLIGHT_ALONE,		/* marked: compute without it */
	FLIGHT_DEADLOCK,	/* this thread is computing it already */
	FLIGHT_TABLE_FULL,	/* no record is free */
	FLIGHT_WAITERS_FULL,	/* as many wait for it as may */
	FLIGHT_ANSWERS
};

/* Whether a holder is gone. */
typedef bool (*flight_dead_fn)(void *arg, uint64_t holder);

/* What begin and collect know of the moment; the same for both. */
struct flight_scene {
	uint32_t	lease_ms;	/* the leader's time */
	uint64_t	epoch;		/* newest purge of the pool */
	struct boot_ms	now;
	flight_dead_fn	dead;		/* NULL: nobody is */
	void		*arg;
};

/*
 * Begin, or join.  A flight whose leader is dead or late is led anew by the
 * caller.  An offer is for the waiters first: a newcomer takes it only when
 * it has lapsed.
 */
enum flight_answer flight_begin(const struct flight_table *table,
    const struct flight_key *key, const struct flight_caller *caller,
    const struct flight_scene *scene, struct flight_ticket *ticket);

/*
 * May this holder end the flight of that key?  OK with its number in *index;
 * LEASE_LOST: another leads, or it ended, or its time is over.
 */
enum result flight_check(const struct flight_table *table,
    const struct flight_key *key, uint64_t token, uint64_t holder,
    struct boot_ms now, uint32_t *index);

/*
 * End a flight that flight_check() gave.  FAILED makes newcomers wait
 * back_off_ms (doubled for each failure in a row, jittered); UNCACHEABLE
 * marks the key for mark_ms.  The waiters of a touched one are told to look
 * again whatever the outcome.  Returns the workers to tell.
 */
uint64_t flight_end(const struct flight_table *table, uint32_t index,
    const struct flight_ending *ending, uint64_t jitter, struct boot_ms now);

/* The flight that is being filled with that token; 0 if none is. */
uint32_t flight_filling(const struct flight_table *table, uint64_t hash,
    uint64_t token);

/*
 * What became of the flight of that key that `waiters` (1 or more, all that
 * there are) of the caller's worker wait for.
 *	WAIT		nothing yet; ticket->until_ms may be another
 *	LEAD		its leader is gone, one of them leads now, with the new
 *			ticket->token; the others go on waiting
 *	ENDED_NOW	*ending tells; none of them counts any more
 */
enum flight_answer flight_collect(const struct flight_table *table,
    const struct flight_key *key, const struct flight_caller *caller,
    uint32_t waiters, const struct flight_scene *scene,
    struct flight_ticket *ticket, struct flight_ending *ending);

/*
 * So many waiters of a worker wait no more, and so many are left.  True: an
 * offered flight went, as nobody wants it.  *tell: the worker that the offer
 * was passed on to; it looked when another had it.
 */
bool	flight_leave(const struct flight_table *table,
    const struct flight_key *key, uint32_t index, uint32_t worker,
    uint32_t waiters, uint32_t left, uint64_t *tell);

/*
 * A key of that hash is set, deleted, touched: see 4; notes of it go.  How
 * many flights under way were not touched before.  Costs a load while the
 * table is empty.
 */
uint32_t flight_touch(const struct flight_table *table, uint64_t hash);

/*
 * Its leader is gone: offered to a worker with waiters (that one before all
 * others if it has any), or away.  Returns the workers to tell.
 */
uint64_t flight_hand_over(const struct flight_table *table, uint32_t index,
    uint32_t worker, struct boot_ms now);

/*
 * Leaders that are dead or late, workers of dead_workers, notes that are
 * over.  fn hears of each flight that was led or offered before: whom to
 * tell, and whether it is over.
 */
typedef void (*flight_swept_fn)(void *arg, uint32_t index, uint64_t hash,
    uint64_t tell, bool over);
void	flight_sweep(const struct flight_table *table, uint64_t dead_workers,
    const struct flight_scene *scene, flight_swept_fn fn, void *arg);

/*
 * Flights that this holder leads under tokens that its client was never told
 * of (the worker died between giving and answering) are handed over, to that
 * worker first.  Costs a look at the flights in use.
 */
typedef bool (*flight_knows_fn)(void *arg, uint64_t token);
void	flight_keep_known(const struct flight_table *table, uint64_t holder,
    uint32_t worker, flight_knows_fn knows, void *knower, struct boot_ms now,
    flight_swept_fn fn, void *arg);

/* A flight of that hash is led or offered. */
bool	flight_is_under_way(const struct flight_table *table, uint64_t hash);

/* After a death under the lock: lists and counts from the records. */
void	flight_rebuild(const struct flight_table *table);

/* After that failed: forget all, but for the tokens. */
void	flight_forget(const struct flight_table *table);

/* Every invariant; the number of faults. */
unsigned flight_verify(const struct flight_table *table);

#endif
