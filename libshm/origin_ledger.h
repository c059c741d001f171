/* SPDX-License-Identifier: ISC */

/*
 * The ledger of an origin: which client has which permit, in memory that may
 * outlive the daemon, so that its successor knows which calls are still out.
 * Daemon processes alone; what says _locked is called with the origin's lock
 * held.
 *
 *	grant		entry's words, then its token; then the answer
 *	release		entry's token -> 0, then the permit's owner -> 0
 *	death anywhere	the ledger has every permit that a client was told of,
 *			and perhaps one that it was not told of, or that it
 *			gave back this moment
 *
 * 1. An entry is the permit's of the same number.  It says whose it is in
 *    words that mean something in another life of the daemon: process, start
 *    time, secret.  Permits of callers without such words (a worker's own)
 *    are not entered: they end with the daemon.
 * 2. A place that was granted and not collected is not entered: its owner
 *    knows of no permit.
 * 3. While the daemon is closing, connections end that the client did not
 *    end, and what it held is freed for its waiters; its call goes on all the
 *    same.  From then on an entry is cleared by a result alone.
 * 4. A successor puts back what it finds with origin_restore().  Each counts
 *    against the limit until its owner, who claims it when it comes back,
 *    gives it back, ends, or the permit's time is over.
 *
 * Whatever is read from the memory of another life is input.
 */
#ifndef ORIGIN_LEDGER_H
#define ORIGIN_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "result.h"

/* A client process, as its row of the table of clients has it. */
struct origin_caller {
	uint32_t	pid;		/* 0: not to be seen from here */
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	pool;
	uint64_t	started;	/* of the process; 0 unknown */
	uint64_t	secret;		/* who knows it may claim */
};

struct origin_ledger_entry {
	uint64_t	token;		/* of the permit; 0: nobody's */
	uint64_t	owner;
	uint64_t	client;
	uint64_t	partition;
	uint64_t	host;
	uint64_t	number;		/* of arrival */
	uint64_t	deadline_ms;
	struct origin_caller caller;
	uint32_t	cap;
	uint32_t	unused;
};
_Static_assert(sizeof(struct origin_ledger_entry) == 96,
    "the layout of a ledger's entry changed");

/* One process's pointers; all NULL: no ledger is kept. */
struct origin_ledger {
	struct origin_ledger_entry *calls;	/* of permits 1 .. */
	struct origin_ledger_entry *uploads;
	uint32_t	call_count;
	uint32_t	upload_count;
	/* whose owner that is; false: nobody that outlives the daemon */
	bool		(*caller)(void *arg, uint64_t owner,
			    struct origin_caller *caller);
	const _Atomic uint32_t *closing;	/* not 0: see 3. */
	void		*arg;
};

struct origin;
struct origin_config;
struct limiter_permit;

/* Entries that an origin of this configuration needs, all and of uploads. */
uint32_t origin_ledger_entries(const struct origin_config *config,
    uint32_t *uploads);

/*
 * Keep that ledger from now on; its entries are the caller's, all zero or of
 * origin_restore().  False: it is not of this origin's size.
 */
bool	origin_keep_ledger(struct origin *origin,
    const struct origin_ledger *ledger);

/*
 * A permit of the daemon before, under its number: OK; INVALID: its words
 * make no sense, or it is over; FULL: the number is taken.  It is entered in
 * this origin's ledger, too.  After the last one origin_restored().
 */
enum result origin_restore(struct origin *origin, bool upload,
    uint32_t number, const struct origin_ledger_entry *entry,
    struct boot_ms now);
/* False: the origin is locked. */
bool	origin_restored(struct origin *origin, struct boot_ms now);

void	origin_ledger_enter_locked(struct origin *origin, bool upload,
    uint32_t number, const struct limiter_permit *permit);
void	origin_ledger_clear_locked(struct origin *origin, bool upload,
    uint32_t number, uint64_t token, bool with_a_result);
/* Clear the entries of permits that a sweep has freed. */
void	origin_ledger_settle_locked(struct origin *origin);

#endif
