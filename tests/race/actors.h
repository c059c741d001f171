/* SPDX-License-Identifier: ISC */

/*
 * The frame of a race: parts that play against each other for a time.  Each
 * actor is a process of its own, or, in a build with ThreadSanitizer, which
 * sees nothing between processes, a thread.  Workers inherit the pool over
 * fork; readers attach to it read-only, as a client does.
 *
 * Actors pass the named points of the library (point.h) and linger there now
 * and then, for a random while, so that the windows between two steps of a
 * protocol are met on a machine of two cores.
 */
#ifndef ACTORS_H
#define ACTORS_H

#include "plain_test.h"
#include "pool.h"
#include "prng.h"

#include <stdbool.h>
#include <stdint.h>

#define ACTORS_MAX	8
/* Holds the largest value of a 4 MiB pool. */
#define ACTOR_BUFFER_BYTES	(80u << 10)

/* In shared memory: what all actors of a run see. */
struct actors_board {
	_Atomic uint32_t stop;
	_Atomic uint32_t failed;	/* claims why */
	char		why[240];	/* of the first failure */
	/* what a body wants to count, for all of its actors */
	_Atomic uint64_t tally[8];
};

struct actor {
	struct pool	pool;		/* its own handle */
	struct stats_block stats;	/* a reader counts here */
	struct prng	prng;
	struct prng	delays;
	struct actors_board *board;
	void		*scene;		/* the body's own */
	uint32_t	number;		/* among those of its part */
	uint32_t	delay_one_in;
	uint32_t	delay_turns;
	uint32_t	looks;
	uint64_t	end_ns;
	uint64_t	last_ns;	/* with nothing shown yet */
	bool		(*showed)(const void *scene);
	uint8_t		buffer[ACTOR_BUFFER_BYTES];
	uint8_t		other[ACTOR_BUFFER_BYTES];
};

typedef void (actor_fn)(struct actor *actor);

struct actors_part {
	actor_fn	*play;
	uint32_t	count;
	bool		is_reader;	/* maps read-only, has no number */
	uint32_t	delay_one_in;	/* of all points passed; 0: never */
	uint32_t	delay_turns;	/* longest, of an empty loop */
};

/*
 * What a run needs beside its parts.  Workers are numbered in the order of
 * the parts.
 */
struct actors_play {
	const struct pool *pool;
	struct actors_board *board;
	void		*scene;
	const struct actors_part *parts;
	uint32_t	part_count;
	uint64_t	seed;
	uint32_t	run_ms;
	/*
	 * Whether what the run is about has happened; NULL: always.  On a
	 * slow machine the run goes on for it, up to SHOW_TIMES as long.
	 */
	bool		(*showed)(const void *scene);
};
#define SHOW_TIMES	20

/* Zeroed memory that processes share; the run ends if there is none. */
void	*actors_share(size_t bytes);

/* Runs all parts to their end.  False if one failed: board->why. */
bool	actors_run(const struct actors_play *play);

/* False when the time is over or somebody has failed. */
bool	actor_goes_on(struct actor *actor);

/* Says what went wrong and ends the run; the first one counts. */
void	actor_fail(struct actor *actor, const char *why_format, ...)
    __attribute__((format(printf, 2, 3)));

/* Lingers for at most that many turns, mostly much less. */
void	actor_linger(struct actor *actor, uint32_t turns);

void	actor_count(struct actor *actor, unsigned what);
uint64_t actors_tally(const struct actors_board *board, unsigned what);

#endif
