/* SPDX-License-Identifier: ISC */

/*
 * An origin's record, for the origin_*.c files alone.  Functions named
 * _locked are called with its lock held; the others take it.
 */
#ifndef ORIGIN_RECORD_H
#define ORIGIN_RECORD_H

#include "origin.h"

#include <stdatomic.h>

#define ORIGIN_MAGIC	UINT64_C(0x314e494749524f57)

struct origin_counts {
	uint64_t	refused_open;
	uint64_t	successes;
	uint64_t	failures;
	uint64_t	neutral;
	uint64_t	rebuilt;
};

/*
 * Breakers of partitions that failed lately: one that never fails has none.
 * When all rows are taken, the closed one whose failure is the longest ago
 * gives way.
 */
struct origin_partitions {
	uint64_t	hash[ORIGIN_BREAKERS];	/* 0 is an unused row */
	uint64_t	failed_ms[ORIGIN_BREAKERS];
	struct breaker	breaker[ORIGIN_BREAKERS];
};

/* The limiters' memory follows, each at a multiple of 64 bytes. */
struct origin_record {
	/* set at creation, then read-only */
	uint64_t	magic;
	char		name[ORIGIN_NAME_BYTES];
	uint32_t	permit_capacity;
	uint32_t	place_capacity;
	uint32_t	upload_permit_capacity;
	uint32_t	upload_place_capacity;

	/* any daemon process, atomic: until_ms x 4 + enum origin_mode */
	_Atomic uint64_t mode;
	/* stored under the lock, read by any daemon process, atomic */
	_Atomic uint64_t openings;

	struct shm_lock	lock;

	/* under the lock */
	struct origin_config config;
	struct origin_counts counts;
	uint64_t	breakers_made;	/* generations of a new one */
	uint32_t	events;		/* that no log was told of yet */
	uint32_t	ledger_top;	/* no entry above it is in use */
	uint32_t	ledger_upload_top;
	uint32_t	unused;
	struct breaker	breaker;
	struct adaptive	adaptive;
	struct missrate	missrate;
	struct origin_partitions partitions;
};

/* What the breakers said when a call was admitted; kept in its permit. */
struct origin_pass {
	uint64_t	generation;
	uint64_t	partition_generation;	/* 0: it had no breaker */
	uint32_t	probe;			/* bits of origin_probe */
};

enum origin_probe {
	ORIGIN_PROBE = 1,
	ORIGIN_PARTITION_PROBE = 2,
};

/* False: the lock was not had.  What a dead holder left is made anew. */
bool	origin_lock(struct origin *origin, struct boot_ms now);
void	origin_unlock(struct origin *origin);

void	origin_tell_locked(struct origin *origin, uint64_t workers);
void	origin_tell_all_locked(struct origin *origin);

/* Something opened: everybody is told, and origin_openings() rises. */
void	origin_tell_opened_locked(struct origin *origin);
unsigned origin_take_events_locked(struct origin *origin);

/* The configurations as they are in force now. */
struct limiter_config origin_limits_locked(const struct origin *origin,
    bool upload);

/*
 * Frees what dead owners and workers hold and what is overdue; anew: and
 * makes everything that follows from the slots from them.
 */
void	origin_sweep_locked(struct origin *origin, struct boot_ms now,
    bool anew);

/* True: open, for how long; takes no probe. */
bool	origin_is_open_locked(struct origin *origin, uint64_t partition,
    struct boot_ms now, uint64_t *retry_after_ms);

/* OK, or BUSY with *retry_after_ms. */
enum result origin_admit_locked(struct origin *origin, uint64_t owner,
    uint64_t partition, bool foreground, struct boot_ms now,
    struct origin_pass *pass, uint64_t *retry_after_ms);

/* What came of an admitted call; tells everybody when something opens. */
void	origin_record_locked(struct origin *origin,
    const struct origin_pass *pass, enum breaker_outcome outcome,
    uint64_t partition, uint64_t random, struct boot_ms now);

/* The probes whose owners are gone. */
void	origin_lose_probes_locked(struct origin *origin);

#endif
