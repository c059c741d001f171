/* SPDX-License-Identifier: ISC */

/*
 * An origin: anything that can be overloaded, seen by the whole machine as
 * one.  Its record lies in the control segment, which no client sees: one
 * robust lock, two limiters (calls, and uploads, whose callers are slow), a
 * breaker, on request one for each partition too, an adaptive limit, a
 * detector of floods of misses, an incident mode.  Daemon processes alone;
 * each function but those that say otherwise locks, at most LOCK_TIMEOUT_MS.
 *
 * A call: origin_acquire(), later origin_collect() if it has to wait, the
 * call itself, origin_release().  Whoever is refused by an open breaker takes
 * no place; otherwise the breaker is asked when a permit is in the hand, so
 * that a place in the queue holds no probe.  When it opens every worker is
 * told to collect (origin_openings() has risen), and each place is given back
 * with ORIGIN_OPEN.
 *
 * Death of a caller or a worker: its permits, places and probe are swept by
 * whoever next looks (origin_sweep(), once a second and at each death).
 * Death under the lock: the next holder rebuilds everything from the slots
 * and tells every worker.
 */
#ifndef ORIGIN_H
#define ORIGIN_H

#include "adaptive.h"
#include "breaker.h"
#include "limiter.h"
#include "lock.h"
#include "missrate.h"
#include "origin_ledger.h"

#define ORIGINS_MAX		64u
#define ORIGIN_NAME_BYTES	64u
/* Breakers of single partitions, where they are asked for. */
#define ORIGIN_BREAKERS		64u
/* Incident modes and holds end within a day. */
#define ORIGIN_MODE_MAX_MS	BREAKER_HOLD_MAX_MS
/* How far a limit may be raised by hand while the daemon runs. */
#define ORIGIN_LIMIT_MAX	65536u
/* Uploads have so much beside, in percent of limit and queue. */
#define ORIGIN_UPLOAD_PCT	25u

enum origin_mode {
	ORIGIN_NORMAL,
	/* whatever is stored may be served when the origin fails */
	ORIGIN_STALE_ON_ERROR,
	/* nothing is served or stored: every call goes to the origin */
	ORIGIN_BYPASS,
	ORIGIN_MODES
};

struct origin_config {
	struct limiter_config limiter;
	struct limiter_config upload;	/* made by origin_config_derive() */
	struct breaker_config breaker;
	struct adaptive_config adaptive;
	struct missrate_config missrate;
	/* Each partition has one of its own, beside the origin's. */
	uint32_t	breaker_by_partition;
	uint32_t	upload_pct;	/* 1 to 100 */
};

/*
 * Fills in the defaults of limiter.h, breaker.h, adaptive.h, missrate.h.
 * This and the next two lock nothing.
 */
void	origin_config_init(struct origin_config *config);

/*
 * What follows from the rest: the upload pool (upload_pct of the limit and of
 * the queue, no reserve) and the probe's time, which is a permit's.
 */
void	origin_config_derive(struct origin_config *config);

/* Every number in its range. */
bool	origin_config_is_valid(const struct origin_config *config);

struct origin_record;

/* What the library cannot know of the daemon around it. */
struct origin_door {
	/* Is this owner, this worker word gone?  NULL: nobody ever is. */
	limiter_dead_fn	dead;
	limiter_worker_dead_fn worker_dead;
	/* Under the lock: these workers have to look at that origin. */
	void		(*tell)(void *arg, uint32_t origin, uint64_t workers);
	void		*arg;
};

/* One process's pointers. */
struct origin {
	struct origin_record *record;
	struct limiter	limiter;
	struct limiter	upload;
	uint32_t	index;		/* in the table of origins */
	struct origin_door door;
	struct origin_ledger ledger;	/* origin_keep_ledger() */
};

/*
 * Bytes for this limit and queue; 0: the configuration is not valid.  A limit
 * may be raised later to 4 times its own, or to 1024 if that is more, but not
 * beyond ORIGIN_LIMIT_MAX; uploads have the same share of that room.  Locks
 * nothing.
 */
size_t	origin_bytes(const struct origin_config *config);

/*
 * The supervisor, before anybody else sees it: memory is zero, 64-aligned,
 * of origin_bytes().  OK, INVALID, NO_MEMORY or SYSTEM.
 */
enum result origin_create(void *memory, const char *name,
    const struct origin_config *config);

/* False: what lies in these bytes is no origin.  Locks nothing. */
bool	origin_bind(struct origin *origin, void *memory, size_t bytes,
    uint32_t index, const struct origin_door *door);

const char *origin_name(const struct origin *origin);

struct origin_request {
	uint64_t	owner;		/* not 0 */
	uint64_t	worker;		/* who waits: limiter_worker() */
	uint64_t	client;		/* 0: no client cap */
	uint64_t	partition;	/* hash; 0: none, uncapped */
	uint64_t	host;		/* hash; 0: none, uncapped */
	enum limiter_class class;
	bool		upload;
	bool		marked;		/* of a key that may not be shared */
	uint32_t	wait_ms;	/* 0: not at all */
	uint32_t	hits;		/* of the partition, since the last */
	bool		counts_as_miss;	/* for the detector */
};

enum origin_answer {
	ORIGIN_GRANTED,
	ORIGIN_WAIT,		/* collect when told, or at deadline_ms */
	ORIGIN_SHED,		/* refusal says why */
	ORIGIN_OPEN,		/* the breaker */
	ORIGIN_LOST,		/* the place was swept: acquire anew */
	ORIGIN_LOCKED,		/* the lock was not had: nothing changed */
};

/* What happened that a log should say, once. */
enum origin_event {
	ORIGIN_NO_EVENT = 0,
	ORIGIN_OPENED = 1,
	ORIGIN_HALF_OPENED = 2,
	ORIGIN_CLOSED = 4,
	ORIGIN_MISS_FLOOD = 8,	/* see origin_look() */
	ORIGIN_REBUILT = 16,	/* a process died under the lock */
	/* breakers of partitions */
	ORIGIN_PARTITION_OPENED = 32,
	ORIGIN_PARTITION_CLOSED = 64,
};

struct origin_ticket {
	uint32_t	permit;		/* GRANTED */
	uint32_t	place;		/* WAIT */
	uint64_t	token;
	uint64_t	number;
	uint64_t	deadline_ms;	/* of the permit, or of the wait */
	bool		upload;
	uint64_t	partition;
	enum limiter_class class;
	enum limiter_refusal refusal;
	uint64_t	retry_after_ms;	/* SHED, OPEN; jittered */
	unsigned	events;		/* of enum origin_event */
};

/* random: all 64 bits, anew each time. */
enum origin_answer origin_acquire(struct origin *origin,
    const struct origin_request *request, uint64_t random,
    struct boot_ms now, struct origin_ticket *ticket);

/*
 * What has become of a place: when its worker is told, and at deadline_ms.
 * owner is the one it was acquired for.
 */
enum origin_answer origin_collect(struct origin *origin,
    struct origin_ticket *ticket, uint64_t owner, uint64_t random,
    struct boot_ms now);

/*
 * The next place of this worker that was granted: OK; MISS: no more of them;
 * BUSY: ask again.  Its permit waits for origin_collect().
 */
enum result origin_next_granted(struct origin *origin, uint64_t worker,
    struct boot_ms now, uint32_t *place, bool *upload);

/*
 * The caller went away: give place or permit back, with no outcome.  False:
 * locked.
 */
bool	origin_cancel(struct origin *origin, struct origin_ticket *ticket,
    uint64_t owner, uint64_t random, struct boot_ms now);

/*
 * The call is over.  OK; LEASE_LOST: not this owner's permit any more (it was
 * overdue), nothing counted; BUSY.  What it took is counted from the grant.
 * *events as above.
 */
enum result origin_release(struct origin *origin, uint32_t permit,
    bool upload, uint64_t token, uint64_t owner,
    enum breaker_outcome outcome, uint64_t random, struct boot_ms now,
    unsigned *events);

/* Free what dead and late ones hold.  False: locked. */
bool	origin_sweep(struct origin *origin, struct boot_ms now,
    unsigned *events);

/*
 * By hand; all say BUSY when locked, INVALID out of range, and then nothing
 * is changed.  configure takes what fits in the memory of this origin.
 */
enum result origin_set_limit(struct origin *origin, uint32_t limit,
    struct boot_ms now, uint32_t *old);
enum result origin_configure(struct origin *origin,
    const struct origin_config *config, struct boot_ms now);
/* The origin's own breaker; reset closes those of its partitions too. */
enum result origin_trip(struct origin *origin, uint64_t random,
    struct boot_ms now);
enum result origin_reset(struct origin *origin, struct boot_ms now);
/* until.ms 0 ends it; at most ORIGIN_MODE_MAX_MS ahead. */
enum result origin_hold(struct origin *origin, enum breaker_state state,
    struct boot_ms until, struct boot_ms now);
/* ORIGIN_NORMAL needs no end. */
enum result origin_set_mode(struct origin *origin, enum origin_mode mode,
    struct boot_ms until, struct boot_ms now);

/*
 * How often places became refusable: a breaker opened, the origin's or a
 * partition's, by itself, by hand or by a hold, or a death left it unknown.
 * Without the lock: one word.  A worker that is told compares it with what it
 * saw at its last look: if it rose each place is to be collected, else those
 * of origin_next_granted() alone.  Whoever asks after an opening is refused
 * at once, so one round for each rise is enough.
 */
uint64_t origin_openings(const struct origin *origin);

/* Without the lock: one word. */
enum origin_mode origin_mode_now(const struct origin *origin,
    struct boot_ms now);
const char *origin_mode_name(enum origin_mode mode);

/* For people: everything at one moment.  BUSY when locked. */
struct origin_view {
	struct origin_config config;
	uint32_t	limit_now;	/* adaptive, or the configured one */
	uint32_t	limit_max;	/* what origin_set_limit() takes */
	uint32_t	in_flight;
	uint32_t	waiting;
	uint32_t	upload_in_flight;
	uint32_t	upload_waiting;
	struct limiter_state limiter;
	struct limiter_state upload;
	enum breaker_state breaker;
	bool		held;		/* by hand, until hold_until_ms */
	uint64_t	breaker_generation;
	uint64_t	breaker_changed_ms;
	uint64_t	open_until_ms;
	uint64_t	hold_until_ms;
	uint64_t	opened_count;
	uint64_t	probe_owner;
	uint32_t	window_successes;
	uint32_t	window_failures;
	uint32_t	partitions_open;	/* breakers of partitions */
	uint64_t	openings;	/* origin_openings() */
	enum origin_mode mode;
	uint64_t	mode_until_ms;
	uint64_t	refused_open;
	uint64_t	successes;	/* since start */
	uint64_t	failures;
	uint64_t	neutral;
	uint64_t	rebuilt;	/* after a death under the lock */
	uint64_t	miss_floods;
	uint64_t	flood_partition; /* of the last one */
	uint64_t	latency_us;	/* adaptive's short average */
};
enum result origin_look(struct origin *origin, struct boot_ms now,
    struct origin_view *view);

/* Every invariant; the number of faults, at least 1 when locked. */
unsigned origin_verify(struct origin *origin, struct boot_ms now);

#endif
