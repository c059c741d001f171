/* SPDX-License-Identifier: ISC */

/*
 * The circuit breaker of an origin: one state for the whole machine.  It
 * lies in the control segment; daemon processes call it, with the origin's
 * lock held.  Time and randomness are arguments; nothing here waits.
 *
 *	            20 outcomes, half of them failures,
 *	            over enough partitions
 *	  CLOSED ---------------------------------------> OPEN
 *	    ^  ^                                          |  ^
 *	    |  `--- by hand ------------------------------+  |
 *	    |                             open time is over  |
 *	    |   probe succeeds                            v  | probe fails
 *	    `------------------------------------- HALF_OPEN-'
 *
 * 1. Each edge, each new probe and each hold raises the generation.  A call
 *    carries the generation it was admitted under, and its outcome counts in
 *    that generation alone: an answer that comes late neither closes nor
 *    opens anything.
 * 2. Half open admits one call at a time, the probe: a lease with an owner
 *    and a deadline.  When the owner dies or the deadline passes the next
 *    foreground call gets it: a lost probe cannot wedge the breaker.
 * 3. Opening needs outcomes within the window, and failures in more than one
 *    partition if more than one is called: neither a failure a day nor one
 *    bad page opens it.
 * 4. A hold, set by hand with an end, decides alone until then.
 *
 * Any mix of old and new words, as a death in the middle of a change leaves
 * it, is a state that ends by itself: open without its end is half open, and
 * a probe without its owner is the next caller's.  So is any other content:
 * a state out of range is closed, and no time reaches beyond the longest that
 * can be set.
 */
#ifndef BREAKER_H
#define BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "result.h"

#define BREAKER_BUCKETS		10u
#define BREAKER_PARTITIONS	8u

enum breaker_state {
	BREAKER_CLOSED,
	BREAKER_OPEN,
	BREAKER_HALF_OPEN,
};

enum breaker_outcome {
	BREAKER_SUCCESS,
	BREAKER_FAILURE,
	/* says nothing of the origin: the caller went away, was shed, ... */
	BREAKER_NEUTRAL,
};

/* Defaults; bounds are the configuration's. */
#define BREAKER_WINDOW_MS	10000u
#define BREAKER_MIN_OUTCOMES	20u
#define BREAKER_FAILURE_PCT	50u
#define BREAKER_MIN_PARTITIONS	2u
#define BREAKER_OPEN_MS		5000u
#define BREAKER_OPEN_MAX_MS	60000u
#define BREAKER_JITTER_PCT	20u
#define BREAKER_PROBE_MS	30000u
/* A hold that somebody forgot is over the next day. */
#define BREAKER_HOLD_MAX_MS	(24u * 3600u * 1000u)

struct breaker_config {
	uint32_t	window_ms;
	uint32_t	min_outcomes;
	uint32_t	failure_pct;
	uint32_t	min_partitions;	/* at most BREAKER_PARTITIONS */
	uint32_t	open_ms;
	uint32_t	open_max_ms;
	uint32_t	probe_ms;	/* as long as a permit lasts */
	uint32_t	enabled;
};
#define BREAKER_CONFIG_INIT						\
	{ BREAKER_WINDOW_MS, BREAKER_MIN_OUTCOMES, BREAKER_FAILURE_PCT,	\
	    BREAKER_MIN_PARTITIONS, BREAKER_OPEN_MS, BREAKER_OPEN_MAX_MS, \
	    BREAKER_PROBE_MS, 1 }

struct breaker_bucket {
	uint64_t	number;		/* of the time slice it counts */
	uint32_t	successes;
	uint32_t	failures;
};

/* A partition lately seen: enough of them to know that it is not one. */
struct breaker_partition {
	uint64_t	hash;		/* 0 is an unused row */
	uint64_t	seen_ms;
	uint64_t	failed_ms;	/* 0 never */
};

/* In shared memory; all zero is a closed breaker. */
struct breaker {
	uint32_t	state;		/* enum breaker_state */
	uint32_t	reopened;	/* times in a row, for the open time */
	uint64_t	generation;
	uint64_t	changed_ms;
	uint64_t	open_until_ms;
	uint64_t	probe_owner;	/* 0 nobody */
	uint64_t	probe_deadline_ms;
	uint64_t	hold_until_ms;	/* 0 no hold */
	uint32_t	hold_state;
	uint32_t	unused;
	uint64_t	opened_count;	/* since creation */
	struct breaker_bucket bucket[BREAKER_BUCKETS];
	struct breaker_partition partition[BREAKER_PARTITIONS];
};
_Static_assert(sizeof(struct breaker) == 72 + 16 * BREAKER_BUCKETS +
    24 * BREAKER_PARTITIONS, "the layout of a breaker changed");

struct breaker_admission {
	uint64_t	generation;
	bool		probe;
	uint64_t	retry_after_ms;	/* when refused: from now on */
};

/*
 * May a call go to the origin?  OK, or BUSY: open, with retry_after_ms.
 * owner is not 0 and names who is asking; only a foreground call may be the
 * probe.  probe_owner_is_dead: breaker->probe_owner is known to be gone.
 */
enum result breaker_admit(struct breaker *breaker,
    const struct breaker_config *config, uint64_t owner, bool foreground,
    bool probe_owner_is_dead, struct boot_ms now,
    struct breaker_admission *admission);

/*
 * What came of an admitted call.  partition is a hash, 0 if it has none;
 * jitter is random, all 64 bits.  True: the state changed.
 */
bool	breaker_record(struct breaker *breaker,
    const struct breaker_config *config,
    const struct breaker_admission *admission, enum breaker_outcome outcome,
    uint64_t partition, uint64_t jitter, struct boot_ms now);

/*
 * By hand: open now, as after failures; or close and forget the window.
 * Both end a hold.
 */
void	breaker_trip(struct breaker *breaker,
    const struct breaker_config *config, uint64_t jitter,
    struct boot_ms now);
void	breaker_reset(struct breaker *breaker, struct boot_ms now);

/*
 * Open or closed whatever happens, until then, at most BREAKER_HOLD_MAX_MS
 * ahead (0: end the hold).
 */
void	breaker_hold(struct breaker *breaker, enum breaker_state state,
    struct boot_ms until, struct boot_ms now);

/* The state as a caller would meet it now. */
enum breaker_state breaker_state_now(const struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now);

/*
 * True: it is open, and its time or its hold is not over; nobody is admitted,
 * and asking takes no probe.
 */
bool	breaker_is_open(struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now,
    uint64_t *retry_after_ms);

/* The owner of the probe is gone: the next foreground call gets it. */
void	breaker_lose_probe(struct breaker *breaker);

const char *breaker_state_name(enum breaker_state state);

/* Outcomes of the window, for people. */
void	breaker_window(const struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now,
    uint32_t *successes, uint32_t *failures);

#endif
