/* SPDX-License-Identifier: ISC */

/*
 * Two workers in one process, with a pool, a control segment and one origin,
 * "db"; clients are sockets that speak frames.  Nothing runs by itself: the
 * loops turn while an answer is waited for.  Time is the machine's.
 */
#ifndef WIRED_FIXTURE_H
#define WIRED_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "origin.h"
#include "protocol.h"
#include "worker.h"

#define WIRED_WORKERS		2u
/* How long a broken test hangs. */
#define WIRED_PATIENCE_MS	5000u

struct wired_answer {
	struct frame	frame;
	struct wire_lease_answer lease;	/* when that is what came */
	uint8_t		body[256];	/* its begin */
};

/* What a LEASE or PERMIT says; the rest is that of a plain call. */
struct wired_ask {
	uint64_t	id;
	const char	*key;		/* NULL: a PERMIT */
	const char	*origin;	/* NULL: none */
	uint32_t	flags;
	uint32_t	thread;
	uint32_t	wait_ms;	/* 0: 4,000 */
	uint32_t	lease_ms;	/* 0: 60,000 */
	uint64_t	partition;
};

/* Asserts that all could be made. */
void	wired_create(const struct origin_config *config);
void	wired_destroy(void);

struct worker *wired_worker(uint32_t number);

/*
 * It does nothing any more, and the others know that it is dead.  What it
 * wrote before, the clients can still read.
 */
void	wired_kill(uint32_t number);

/* A client of that worker that has said HELLO; *holder may be NULL. */
int	wired_connect(uint32_t worker, uint64_t *holder);
/* Its end, as the worker sees it. */
void	wired_hang_up(int fd);

/* Both loops turn until nothing is left to do for the moment. */
void	wired_turn(void);

void	wired_send(int fd, enum frame_type type, uint64_t id,
    const void *body, size_t length);
void	wired_ask(int fd, const struct wired_ask *ask);
/* FILL, FAIL, UNCACHEABLE, RELEASE of what that answer gave. */
void	wired_end(int fd, enum frame_type type, const char *key,
    const struct wired_answer *given, const struct wire_end *how);

/* The next answer of a client, or an assertion after WIRED_PATIENCE_MS. */
void	wired_receive(int fd, struct wired_answer *answer);
/* The same, and its status is that one. */
void	wired_expect(int fd, enum result status,
    struct wired_answer *answer);
/* Nothing comes, whatever the loops do now. */
void	wired_expect_silence(int fd);

/* Flights of the pool that are not free; their waiters. */
struct wired_flights {
	uint32_t	used;
	uint32_t	waiters;
	uint32_t	leading;
};
struct wired_flights wired_flights(void);

/* Calls under way and waiters of "db". */
struct origin_view wired_origin(void);

#endif
