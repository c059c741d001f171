/* SPDX-License-Identifier: ISC */

/*
 * What sim_origin plays with: workers, clients and their callers around one
 * pool and one origin, all in one process with a clock that is told.  The
 * party keeps a book of what each caller believes it may do, and after each
 * call into the library compares the book with what lies in the tables.
 */
#ifndef PARTY_H
#define PARTY_H

#include "lease.h"
#include "origin.h"
#include "prng.h"

#include <stdbool.h>
#include <stdint.h>

#define PARTY_WORKERS	4u
#define PARTY_CLIENTS	6u
#define PARTY_CALLERS	28u
#define PARTY_KEYS	6u
#define PARTY_NEVER	UINT64_MAX

enum caller_state {
	CALLER_IDLE,
	CALLER_JOINED,		/* waits for somebody's flight */
	CALLER_QUEUED,		/* waits for a place of the origin */
	CALLER_CALLING,		/* has a permit */
};

struct caller {
	enum caller_state state;
	uint32_t	client;
	uint32_t	key;
	uint32_t	thread;
	bool		leads;
	/* a worker died while it was being served: it asks again, and what
	 * it is told then may be that it was done already */
	bool		unsure;
	bool		told;		/* its flight has to be looked at */
	unsigned	touched;	/* 1 perhaps, 2 surely */
	unsigned	purged;		/* since it led, as touched */
	uint64_t	held_until_ms;	/* its lease */
	uint64_t	end_ms;		/* of its call; PARTY_NEVER */
	enum breaker_outcome outcome;
	bool		uncacheable;
	bool		probe;
	uint64_t	episode;	/* of the breaker, at the grant */
	uint64_t	generation;
	bool		was_waiting;	/* before the call into the origin */
	uint64_t	granted_ms;	/* its place; 0 not yet */
	uint64_t	half_granted_ms; /* by who died over it */
	struct origin_request request;
	struct origin_ticket place;
	struct lease	lease;
};

struct party_client {
	uint64_t	holder;		/* which names its life, too */
	uint32_t	worker;
};

struct party_worker {
	uint64_t	word;		/* limiter_worker() of this life */
	bool		dead;
	bool		told;		/* to look at the origin */
};

/* What the key holds: a serial number; 0 nothing. */
struct party_key {
	uint64_t	serial;
	bool		unsure;
	char		text[16];
	struct key	key;
};

/* Before a call into the origin. */
struct party_before {
	uint32_t	breaker;
	uint64_t	generation;
	uint64_t	refused[2][LIMITER_REFUSALS];
	uint64_t	refused_open;
	uint64_t	rebuilt;
};

/* What a call into the origin may do to its breaker. */
enum party_edge {
	EDGE_NONE,
	EDGE_ADMIT,		/* open to half open */
	EDGE_SUCCESS,		/* half open to closed */
	EDGE_FAILURE,		/* to open */
	EDGE_HAND,		/* any */
};

struct party {
	struct prng	prng;
	struct boot_ms	now;
	struct pool	pool[PARTY_WORKERS];
	struct origin	origin;
	struct lease_door door;
	void		*memory;
	size_t		memory_bytes;
	uint32_t	steps;
	uint32_t	death_one_in;	/* 0 nobody dies */
	bool		by_hand;	/* people turn knobs, too */
	uint32_t	acting;		/* worker */
	uint32_t	busy;		/* caller being served, or CALLERS */
	struct party_worker worker[PARTY_WORKERS];
	struct party_client client[PARTY_CLIENTS];
	struct caller	caller[PARTY_CALLERS];
	struct party_key key[PARTY_KEYS];
	struct party_before before;
	uint64_t	lives;
	uint64_t	serials;
	uint64_t	episode;
	uint32_t	draining[2];	/* above a lowered limit */
	bool		broken;		/* a death under the origin's lock */
	uint64_t	deaths;
	uint64_t	led;
	uint64_t	filled;
	uint64_t	granted;
	uint64_t	refused;
	uint64_t	waited;
	uint64_t	half_granted;
	char		error[160];	/* empty as long as all is well */
};

/* False: no memory. */
bool	party_open(struct party *party, uint64_t seed);
void	party_close(struct party *party);
void	party_fail(struct party *party, const char *why_format, ...)
    __attribute__((format(printf, 2, 3)));

/* The worker that acted died in the middle of it. */
void	party_bury(struct party *party);
void	party_kill_client(struct party *party, uint32_t client);

/* A process dies with the origin's lock, its derived words half written. */
void	party_scribble(struct party *party);

/* What may happen; each is done by the worker that acts. */
void	party_fetch(struct party *party, uint32_t caller);
void	party_call(struct party *party, uint32_t caller);
void	party_read(struct party *party, uint32_t key);
void	party_end_call(struct party *party, uint32_t caller);
void	party_collect_place(struct party *party, uint32_t caller);
void	party_collect_flight(struct party *party, uint32_t caller);
void	party_end_flight(struct party *party, struct caller *caller,
    enum flight_outcome outcome);
void	party_abandon(struct party *party, struct caller *caller);
uint32_t party_count_together(const struct party *party,
    const struct caller *caller);
void	party_look(struct party *party);
void	party_leave(struct party *party, uint32_t caller);
void	party_change(struct party *party, uint32_t key);
void	party_sweep(struct party *party);
void	party_by_hand(struct party *party);

/* Around each call into the origin. */
void	party_before(struct party *party);
void	party_after(struct party *party, enum party_edge edge,
    enum origin_answer answer);

const struct limiter *party_limiter(const struct party *party, bool upload);
bool	party_place_is(const struct party *party, const struct caller *caller,
    enum limiter_place_state state);
bool	party_has_room(const struct party *party, const struct caller *caller);
void	party_note_grants(struct party *party);

/* The book against the tables. */
void	party_check(struct party *party);
void	party_verify(struct party *party);
bool	party_believes_it_calls(const struct party *party,
    const struct caller *caller);
bool	party_believes_it_leads(const struct party *party,
    const struct caller *caller);
void	party_check_idle(struct party *party);

static inline bool
party_failed(const struct party *party)
{
	return party->error[0] != '\0';
}

#endif
