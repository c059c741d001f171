/* SPDX-License-Identifier: ISC */

/*
 * A daemon of its own for a test program that kills, floods and probes it:
 * start, its processes, its memory, its own account of its health.  Values
 * follow from key and sequence, so that a torn or foreign one shows.
 */
#ifndef SCENE_H
#define SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plain_test.h"
#include "weir.h"

#define SCENE_PATH_BYTES	96
/* A process that does not come back in that time does not come back. */
#define SCENE_DEADLINE_MS	20000u
/*
 * 20 times what a read may spend on a daemon that hangs (50 ms), and what
 * an answer may take while somebody else misbehaves.
 */
#define SCENE_LATENCY_MAX_US	1000000u

struct scene {
	char		dir[SCENE_PATH_BYTES];
	char		socket[SCENE_PATH_BYTES + 16];
	unsigned	workers;
	const char	*memory;	/* as of -m */
	uid_t		uid;		/* runs it; 0: who runs the test */
	pid_t		pid;		/* of the supervisor; 0: none */
};

/* May the user of the scene execute the program at all? */
bool	scene_can_run(const struct scene *scene);
/*
 * Start, or start again after scene_kill(), and wait until it answers.  The
 * daemon dies with the calling process.  False: it does not get ready.
 */
bool	scene_start(struct scene *scene);
/* kill -9 of the supervisor; its directory stays. */
void	scene_kill(struct scene *scene);
/* SIGTERM, exit status 0, and the directory is removed. */
bool	scene_end(struct scene *scene);

/* A child by its title, "worker 0" or "keeper"; 0: it is not there. */
pid_t	scene_child(const struct scene *scene, const char *title);
/* Waits until that child is another process than old; 0: never. */
pid_t	scene_wait_child(const struct scene *scene, const char *title,
	    pid_t old);
/* Memory of their own, without the pool, of all children. */
uint64_t scene_private_kib(const struct scene *scene);
/* A number of a line of /proc/PID/status; 0 if there is none. */
uint64_t scene_status_number(pid_t pid, const char *name);

/* One weir-ctl command; the output, cut to size.  True: exit status 0. */
bool	scene_ctl(const struct scene *scene, const char *command, char *out,
	    size_t size);
/* A counter of the pool; UINT64_MAX: it was not to be had. */
uint64_t scene_counter(const struct scene *scene, const char *name);
/* weir-ctl verify says 0 faults; a check of that name. */
bool	scene_check_clean(struct plain_test *test, const struct scene *scene,
	    const char *name);

/* A handle for it; ends the process without one. */
struct weir *scene_open(const struct scene *scene);

uint64_t scene_now_us(void);

/* ---- values ---- */

/* Below what a pool of 16 MiB takes. */
#define SCENE_VALUE_MAX	(128u << 10)

/* The bytes of a value, at least 24 of them; length follows from both. */
size_t	scene_value_make(uint8_t *out, uint64_t key, uint64_t sequence);
/* False: not a value of that key.  *sequence is whose it is. */
bool	scene_value_read(const uint8_t *value, size_t length, uint64_t key,
	    uint64_t *sequence);

/* ---- somebody who behaves, while others do not ---- */

struct bystander {
	pid_t		pid;
	struct bystander_counts *counts;
};

struct bystander_counts {
	_Atomic uint32_t stop;
	_Atomic uint64_t rounds;	/* a set and a get of it, each */
	_Atomic uint64_t failed;	/* calls that were not OK */
	_Atomic uint64_t wrong;		/* values that are not theirs */
	_Atomic uint64_t slowest_get_us;
	_Atomic uint64_t slowest_set_us;
	_Atomic uint32_t last_failure;	/* a result, negated */
};

void	bystander_start(struct bystander *bystander,
	    const struct scene *scene);
/* True: so many more rounds were done within the deadline. */
bool	bystander_goes_on(struct bystander *bystander, uint64_t rounds);
/*
 * Ends it: a check that it met no failure, no wrong value and no call slower
 * than SCENE_LATENCY_MAX_US.
 */
void	bystander_check(struct plain_test *test,
	    struct bystander *bystander, const char *name);

#endif
