/* SPDX-License-Identifier: ISC */

/*
 * Admin requests: one JSON object in, one out.  The table of verbs, who may
 * use them, and what their answers have in common; the verbs themselves are
 * in the other files of that name.  Workers.
 *
 *	{"verb": V, "args": {...}}
 *	{"version": 1, "verb": V, ...}
 *	{"version": 1, "verb": V, "error": {"result": R, "text": T}}
 */
#ifndef ADMIN_H
#define ADMIN_H

#include <stddef.h>

#include <jansson.h>

#include "clock.h"
#include "heritage.h"
#include "peer.h"
#include "result.h"

/* Longest "reason" of a change. */
#define ADMIN_REASON_BYTES	200u
#define ADMIN_CHANGE_BYTES	192u

/* One request. */
struct admin {
	/* set by the caller */
	const struct heritage *heritage;
	const struct peer *peer;
	enum peer_level	level;
	struct boot_ms	now;
	struct origin	*origins;	/* the worker's */
	uint32_t	origin_count;
	uint64_t	random;		/* all 64 bits, of this request */
	/* set by admin_serve(), for verbs */
	const json_t	*args;		/* an object; empty if none came */
	json_t		*answer;	/* members are put in here */
	const struct pool *pool;	/* of "pool", or the default one */
	uint32_t	pool_index;
	char		text[128];	/* what is wrong, if anything is */
	/* set by a verb: the pool that a job of its own must verify */
	const struct pool *verify;
	/* set by a verb: what it changed, for the log; "" is the pool */
	char		change[ADMIN_CHANGE_BYTES];
	/* why, as the caller says: as it stands in the log */
	char		reason[ADMIN_REASON_BYTES * 2 + 1];
};

/* A verb: OK, or what is wrong, with admin->text if there is more to say. */
typedef enum result (admin_verb_fn)(struct admin *admin);

/*
 * Serve a request.  The answer is the caller's, NULL for want of memory;
 * *status is the result in it.  If admin->verify is set it is to be completed
 * by that job.
 */
json_t	*admin_serve(struct admin *admin, const char *body, size_t length,
    enum result *status);

/* Give an answer an error in the place of what it says. */
void	admin_put_error(json_t *answer, enum result result,
    const char *text);

/* Put a number; a time or a version above INT64_MAX becomes null. */
void	admin_put_number(json_t *object, const char *name, uint64_t number);

/*
 * A number of the arguments, otherwise if there is none.  False: it is no
 * number, or below 0; admin->text is set.
 */
bool	admin_get_number(struct admin *admin, const char *name,
    uint64_t otherwise, uint64_t *number);

admin_verb_fn admin_ping, admin_version, admin_status, admin_pools,
    admin_workers, admin_clients, admin_stats, admin_mem, admin_get,
    admin_inspect, admin_scan, admin_set, admin_del, admin_touch,
    admin_purge, admin_verify, admin_origins, admin_limiter_show,
    admin_limiter_set, admin_breaker_list, admin_breaker_trip,
    admin_breaker_reset, admin_breaker_hold, admin_mode_set, admin_leases;

#endif
