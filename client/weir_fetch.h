/* SPDX-License-Identifier: ISC */

/*
 * The part of weir.h that keeps an origin alive: get or compute, leases,
 * permits.  Include weir.h, which includes this.
 */
#ifndef WEIR_FETCH_H
#define WEIR_FETCH_H

#include "weir.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- get or compute ---- */

/*
 * One process of the machine computes a value, the others wait for it or are
 * served the stale one; all calls of the machine pass the origin's limiter
 * and breaker.  An origin has a name of the daemon's configuration.
 */
struct weir_origin {
	const char	*name;		/* NULL: "default"; "": none */
	const void	*partition;	/* what the limiter is fair between */
	size_t		partition_length; /* 0: none, uncapped */
	const void	*host;		/* as partition, for the host's cap */
	size_t		host_length;
	unsigned	background;	/* 1: shed first, never queued */
	unsigned	upload;		/* 1: of the pool of slow callers */
};

struct weir_fetch_options {
	size_t		size;		/* sizeof(struct weir_fetch_options) */
	struct weir_origin origin;
	uint64_t	ttl_ms;		/* fresh for; 0: for ever */
	/* after that served at once while one computes a new one */
	uint64_t	stale_while_revalidate_ms;
	/* after that served when a new one cannot be had */
	uint64_t	stale_if_error_ms;
	uint64_t	negative_ttl_ms; /* of "no such thing"; 0: not kept */
	/* a ttl of 10 s and more is shortened by up to so much; 100: not */
	unsigned	jitter_percent;	/* 0: 10 */
	/* XFetch: how eagerly a fresh value is refreshed before its end */
	unsigned	early_percent;	/* 0: off; 100: beta 1 */
	/* keys in frequent use are refreshed when less than that is left */
	uint64_t	refresh_ahead_ms; /* 0: off */
	unsigned	sliding;	/* 1: a hit renews the ttl */
	const struct weir_tag *tags;
	unsigned	tag_count;
	/* longest computation; 0: 30,000; at most 3,600,000 */
	uint32_t	lease_ms;
	uint32_t	wait_ms;	/* longest wait; 0: 40,000 */
	uint32_t	back_off_ms;	/* after a failure; 0: 100, doubling */
	unsigned	no_wait;	/* 1: WEIR_BUSY instead of a wait */
	/* 1: without a daemon say WEIR_NO_SERVER instead of computing alone */
	unsigned	no_alone;
};
#define WEIR_FETCH_OPTIONS_INIT						\
	{ .size = sizeof(struct weir_fetch_options) }

enum weir_outcome {
	WEIR_SUCCESS,		/* the origin answered */
	WEIR_FAILURE,		/* it failed: counts for the breaker */
	WEIR_NEUTRAL		/* says nothing of it: you gave up, ... */
};

/* What a callback says of the value that it was asked for. */
struct weir_computed {
	const void	*value;
	size_t		length;
	/* called when the library needs the value no more; may be NULL */
	void		(*release)(void *arg, const void *value);
	uint64_t	ttl_ms;		/* as in the options, which are here */
	uint64_t	stale_while_revalidate_ms; /* when it is called */
	uint64_t	stale_if_error_ms;
	const struct weir_tag *tags;
	unsigned	tag_count;
	/* not to be shared: others compute their own for so long, at most
	 * 60,000; 0: as it is cacheable */
	uint32_t	uncacheable_ms;
	enum weir_outcome outcome;	/* of a failure; WEIR_FAILURE before */
	int		code;		/* of a failure, for all who wait */
};

/*
 * Compute the value.  WEIR_OK: it is in *computed; WEIR_MISS: there is no such
 * thing; anything else: it failed.  Called without any lock; it may use the
 * handle, but to fetch the same key is WEIR_WOULD_DEADLOCK.
 */
typedef int (*weir_compute_fn)(void *arg, struct weir_computed *computed);

enum weir_source {
	WEIR_FROM_NONE,		/* no value: see the result */
	WEIR_FROM_HIT,
	WEIR_FROM_STALE,	/* why says what kept it from being fresh */
	WEIR_FROM_COMPUTED,	/* here, by the callback */
	WEIR_FROM_WAITED	/* by another process, just now */
};

struct weir_fetched {
	size_t		length;		/* of the value */
	enum weir_source source;
	/*
	 * Why there is no fresh value: WEIR_OK, WEIR_STALE (another computes
	 * it), WEIR_FAILED, WEIR_SHED, WEIR_CIRCUIT_OPEN, WEIR_BACKING_OFF,
	 * WEIR_TIMEOUT, WEIR_BUSY, WEIR_NO_SERVER, ...
	 */
	int		why;
	int		stored;		/* computed: WEIR_OK, or why not sent */
	int		code;		/* WEIR_FAILED: the callback's */
	const char	*reason;	/* WEIR_SHED: which limit; else "" */
	uint64_t	retry_after_ms;	/* of a refusal, jittered */
};

/*
 * Get the value, or have it computed.  WEIR_OK, WEIR_STALE: *fetched->length
 * bytes are in buffer; WEIR_MISS: the origin says there is no such thing.
 * Without a value: WEIR_FAILED, WEIR_SHED, WEIR_CIRCUIT_OPEN,
 * WEIR_BACKING_OFF, WEIR_TIMEOUT (waited wait_ms), WEIR_WOULD_DEADLOCK,
 * WEIR_BUSY, WEIR_NO_SERVER with no_alone, WEIR_TOO_LARGE (the value is
 * stored, and longer than the buffer: fetched->length), WEIR_INVALID,
 * WEIR_KEY_INVALID.  fetched may be NULL.
 *
 * A value of up to 16 KiB that was computed is sent to the daemon and not
 * waited for: other processes see it some tens of microseconds later.  Gets
 * over the same handle wait for it before they say WEIR_MISS.
 */
int	weir_fetch(struct weir *handle, const void *key, size_t key_length,
    void *buffer, size_t size, const struct weir_fetch_options *options,
    weir_compute_fn compute, void *arg, struct weir_fetched *fetched);

/* The same into memory from malloc(), as weir_get_dup(). */
int	weir_fetch_dup(struct weir *handle, const void *key,
    size_t key_length, void **value, const struct weir_fetch_options *options,
    weir_compute_fn compute, void *arg, struct weir_fetched *fetched);

/* The right to call an origin.  Copy it as you like; it is used up once. */
struct weir_permit {
	uint64_t	secret[4];
	uint64_t	left_ms;	/* then it is overdue, and taken back */
	uint64_t	retry_after_ms;	/* of a refusal */
	const char	*reason;	/* WEIR_SHED: which limit; else "" */
};

/*
 * Ask for the right to call an origin, wait at most wait_ms for it (0: not at
 * all).  WEIR_OK: call it, then release.  WEIR_SHED, WEIR_CIRCUIT_OPEN: do not
 * call it; WEIR_MISS: there is no origin of that name; WEIR_NO_SERVER and the
 * other errors of weir_connect().  A process that dies gives its permits back.
 */
int	weir_permit_acquire(struct weir *handle,
    const struct weir_origin *origin, uint32_t wait_ms,
    struct weir_permit *permit);

/*
 * WEIR_OK; WEIR_LEASE_LOST: it was overdue, and its outcome counts nothing;
 * WEIR_INVALID: the outcome is none, and the permit is yours yet.
 */
int	weir_permit_release(struct weir *handle, struct weir_permit *permit,
    enum weir_outcome outcome);

/* The right to compute the value of a key, and the origin's permit. */
struct weir_lease {
	uint64_t	secret[6];
	uint64_t	left_ms;	/* then another may compute it */
	uint64_t	retry_after_ms;	/* of a refusal */
	const char	*reason;
	int		code;		/* WEIR_FAILED: of the one who failed */
};

/*
 * The same in steps.  Ask who computes a key: seen_version is the version of
 * the value that is to be refreshed, 0 after a miss.
 *
 *	WEIR_LEAD	compute, then exactly one of the three below
 *	WEIR_OK		look again with weir_get()
 *	WEIR_ALONE	it may not be shared: compute your own, then
 *			weir_lease_fail() or weir_lease_uncacheable(), which
 *			give the permit back
 *	WEIR_BACKING_OFF, WEIR_FAILED, WEIR_SHED, WEIR_CIRCUIT_OPEN,
 *	WEIR_TIMEOUT, WEIR_WOULD_DEADLOCK, WEIR_BUSY: serve stale, or say so
 */
int	weir_lease(struct weir *handle, const void *key, size_t key_length,
    uint64_t seen_version, const struct weir_fetch_options *options,
    struct weir_lease *lease);

/*
 * Store the value and let all who wait have it.  WEIR_OK; WEIR_LEASE_LOST: too
 * late, another computes it; WEIR_CHANGED: the key was written meanwhile, and
 * this value is yours alone; and the results of weir_set().  All of them end
 * the lease, but for WEIR_KEY_INVALID.
 */
int	weir_lease_fill(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options, uint64_t *version);

/*
 * Tell all who wait that it failed, with that code.  WEIR_INVALID: the outcome
 * is none, WEIR_KEY_INVALID: nor is the key; then the lease is yours yet.
 * WEIR_LEASE_LOST: it was late, or ended before.
 */
int	weir_lease_fail(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, enum weir_outcome outcome, int code,
    uint32_t back_off_ms);

/* Not to be shared: all who wait compute their own, for so long. */
int	weir_lease_uncacheable(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, uint32_t for_ms);

/* ---- steps of these, for event loops ---- */

/*
 * lease or permit is filled in before done is called, and has to stay until
 * then; the key is copied.  The daemon waits, not this process: an answer may
 * take wait_ms.
 */
int	weir_start_lease(struct weir *handle, const void *key,
    size_t key_length, uint64_t seen_version,
    const struct weir_fetch_options *options, struct weir_lease *lease,
    weir_done_fn done, void *arg);
int	weir_start_lease_fill(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options, weir_done_fn done, void *arg);
int	weir_start_lease_fail(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, enum weir_outcome outcome, int code,
    uint32_t back_off_ms, weir_done_fn done, void *arg);
int	weir_start_lease_uncacheable(struct weir *handle,
    struct weir_lease *lease, const void *key, size_t key_length,
    uint32_t for_ms, weir_done_fn done, void *arg);
int	weir_start_permit_acquire(struct weir *handle,
    const struct weir_origin *origin, uint32_t wait_ms,
    struct weir_permit *permit, weir_done_fn done, void *arg);
int	weir_start_permit_release(struct weir *handle,
    struct weir_permit *permit, enum weir_outcome outcome, weir_done_fn done,
    void *arg);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
