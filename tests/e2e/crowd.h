/* SPDX-License-Identifier: ISC */

/*
 * Processes that share an origin of the test's own: it counts its calls by
 * itself, in memory that all of them map, and knows nothing of Weir.
 */
#ifndef CROWD_H
#define CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "scene.h"

#define CROWD_MAX	256u

struct crowd_member {
	_Atomic uint32_t holds;		/* it may call the origin */
	_Atomic uint32_t doomed;	/* it is being killed: not counted */
	_Atomic uint32_t done;
	_Atomic int32_t	result;
	_Atomic int32_t	code;
	_Atomic uint64_t ended_us;
};

/* In memory that all processes share. */
struct crowd {
	_Atomic uint32_t calls;
	_Atomic uint32_t at_once;
	_Atomic uint32_t at_once_max;
	_Atomic uint32_t turns;		/* of holds and doomed */
	_Atomic uint32_t over;		/* times more than most held at once */
	_Atomic uint32_t most;		/* that may hold; 0: not watched */
	_Atomic uint64_t first_call_us;	/* of the calls, 0 none yet */
	_Atomic uint32_t ready;
	_Atomic uint32_t go;
	_Atomic uint32_t refused[8];
	struct crowd_member member[CROWD_MAX];
};

struct crowd_stage {
	struct plain_test test;
	struct scene	scene;
	struct crowd	*crowd;
	pid_t		pids[CROWD_MAX];
};

typedef void (crowd_fn)(struct crowd_stage *stage, struct weir *handle,
    uint32_t number);

/* The shared memory, and a daemon.  False: the reason was said. */
bool	crowd_open(struct crowd_stage *stage, int argc, char **argv);
int	crowd_close(struct crowd_stage *stage);

void	crowd_clear(struct crowd_stage *stage);

/* Processes first .. first + count - 1, with a handle each. */
void	crowd_start(struct crowd_stage *stage, uint32_t first,
    uint32_t count, crowd_fn *fn);
/* Waits for them; false: one was killed at the deadline. */
bool	crowd_end(struct crowd_stage *stage, uint32_t first, uint32_t count);
/* kill -9, and reap. */
void	crowd_kill(struct crowd_stage *stage, uint32_t number);

/* Counted: at once, first, all.  The call takes so long. */
void	crowd_call(struct crowd *crowd, uint32_t ms);

/* This member holds a permit from now on, until false. */
void	crowd_hold(struct crowd *crowd, uint32_t number, bool holds);

void	crowd_pause_ms(uint32_t ms);
uint32_t crowd_get(const _Atomic uint32_t *word);
void	crowd_set(_Atomic uint32_t *word, uint32_t value);
uint32_t crowd_add(_Atomic uint32_t *word, uint32_t by);

/* The callback that computes "value" in 20 ms; arg is the crowd. */
#define CROWD_COMPUTE_MS	20u
int	crowd_compute(void *arg, struct weir_computed *computed);

/*
 * Fetch crowd_key and keep what came of it for that member; a value that is
 * not "value" is WEIR_CORRUPT.
 */
extern const char *crowd_key;
int	crowd_fetch(struct crowd_stage *stage, struct weir *handle,
    uint32_t number, const struct weir_fetch_options *options,
    weir_compute_fn fn);
/* Members that are done with that result. */
uint32_t crowd_count(const struct crowd_stage *stage, uint32_t first,
    uint32_t count, int result);

/* A number of the first origin's JSON; UINT64_MAX: not to be had. */
uint64_t crowd_origin_number(const struct crowd_stage *stage,
    const char *member);

/* Polls: true as soon as the counter of the pool has reached that. */
bool	crowd_wait_counter(const struct crowd_stage *stage,
    const char *name, uint64_t least);
bool	crowd_wait_origin(const struct crowd_stage *stage,
    const char *member, uint64_t wanted);

#endif
