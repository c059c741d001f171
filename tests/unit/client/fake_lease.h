/* SPDX-License-Identifier: ISC */

/*
 * What the fake daemon answers to leases and permits: what the test told it
 * to, in that order, and a grant when it was told nothing.  It keeps what it
 * was asked, and leads no flights: whether a lease is right is the test's to
 * say.  Any thread.
 */
#ifndef FAKE_LEASE_H
#define FAKE_LEASE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

#define FAKE_ASKED_MAX	64u
#define FAKE_TOLD_MAX	32u
#define FAKE_HELD_MAX	32u
/* The secret of a holder is its number and this. */
#define FAKE_SECRET	UINT64_C(0x5ec0000000)

struct fake_client;
struct fake_daemon;

/* A frame of types CLAIM to ABANDON, as it was read. */
struct fake_asked {
	enum frame_type	type;
	uint64_t	id;
	struct wire_lease lease;	/* LEASE, PERMIT */
	char		name[64];
	struct wire_end	end;		/* FILL, FAIL, UNCACHEABLE, RELEASE */
	struct wire_set	set;		/* FILL */
	uint64_t	number[2];	/* CLAIM, ABANDON */
	bool		lists;		/* CLAIM: what it was told of */
	uint32_t	listed;
	struct wire_hold first;		/* of them */
	char		key[64];
	size_t		key_length;
};

enum fake_how {
	FAKE_AT_ONCE,
	FAKE_HELD,		/* when fake_lease_let_go() says */
	FAKE_NEVER,		/* hang up instead */
	FAKE_CUT,		/* the body is a byte short */
	FAKE_BARE,		/* a grant without a permit: of no origin */
};

struct fake_told {
	int		status;
	struct wire_lease_answer said;	/* when the status has one */
	enum fake_how	how;
};

struct fake_held {
	int		fd;		/* the test's own */
	struct frame	frame;
};

/* All under the lock. */
struct fake_lease {
	pthread_mutex_t	lock;
	/* LEASE and PERMIT; and FILL, FAIL, UNCACHEABLE, RELEASE */
	struct fake_told told[FAKE_TOLD_MAX];
	unsigned	told_count;
	struct fake_told ends[FAKE_TOLD_MAX];
	unsigned	end_count;
	int		claim_status;
	unsigned	claims_busy;	/* so many are answered BUSY before */
	bool		claim_hangs_up;	/* instead, once */
	struct fake_asked asked[FAKE_ASKED_MAX];
	unsigned	asked_count;
	struct fake_held held[FAKE_HELD_MAX];
	unsigned	held_count;
	uint32_t	grants;		/* number of the last permit */
};

void	fake_lease_init(struct fake_daemon *daemon);
/* What is held is answered by nobody. */
void	fake_lease_fini(struct fake_daemon *daemon);

/* The next answers, in order. */
void	fake_lease_tell(struct fake_daemon *daemon,
    const struct fake_told *told);
void	fake_lease_tell_status(struct fake_daemon *daemon, int status);
void	fake_lease_tell_end(struct fake_daemon *daemon, int status,
    enum fake_how how);
void	fake_lease_tell_claims(struct fake_daemon *daemon, int status);
/* So many of the next are BUSY, and after them one perhaps hung up on. */
void	fake_lease_delay_claims(struct fake_daemon *daemon, unsigned busy,
    bool hangs_up);

/* Waits until so many were asked, and copies the last of them. */
void	fake_lease_wait(struct fake_daemon *daemon, unsigned count,
    struct fake_asked *last);
/* How many were asked so far. */
unsigned fake_lease_asked_count(struct fake_daemon *daemon);

/* The one of that number, from 0, which was asked already. */
struct fake_asked fake_lease_asked(struct fake_daemon *daemon,
    unsigned number);
unsigned fake_lease_count(struct fake_daemon *daemon,
    enum frame_type type);

/* Answer the held one of that number, from 0, with a grant or a refusal. */
void	fake_lease_let_go(struct fake_daemon *daemon, unsigned number,
    int status);
/* Waits until so many are held. */
void	fake_lease_wait_held(struct fake_daemon *daemon, unsigned count);

/* For fake_lease.c: a CLAIM.  Under the lock; false: hang up. */
void	fake_claim_read(struct fake_asked *asked, const uint8_t *body,
    size_t length);
bool	fake_claim_serve(struct fake_lease *lease,
    struct fake_client *client, const struct frame *frame);

/* For fake_serve(): a frame of these types.  False: hang up. */
bool	fake_lease_serve(struct fake_daemon *daemon,
    struct fake_client *client, const struct frame *frame,
    const uint8_t *body);

#endif
