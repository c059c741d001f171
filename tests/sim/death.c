/* SPDX-License-Identifier: ISC */

/*
 * A death without a process: the operation runs in a thread of its own, and
 * at its point it jumps out and ends.  The kernel does for the locks that
 * such a thread holds what it does for those of a killed process, so the
 * next to take them is told.
 */
#include "stage.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "point.h"

/* The hook has no argument: one run at a time. */
static struct {
	struct stage	*stage;
	death_fn	act;
	death_fn	between;
	uint64_t	countdown;
	bool		inside_between;
	bool		died;
	jmp_buf		out;
} run;

static void
meet_point(const char *name)
{
	if (run.inside_between) {
		return;
	}
	if (run.between != NULL && run.stage != NULL &&
	    strcmp(name, "shard_yielded") == 0) {
		run.inside_between = true;
		run.between(run.stage);
		run.inside_between = false;
	}
	if (run.countdown != 0 && --run.countdown == 0) {
		run.died = true;
		longjmp(run.out, 1);
	}
}

void
death_between(death_fn fn)
{
	run.between = fn;
}

static void *
live_and_die(void *argument)
{
	if (setjmp(run.out) == 0) {
		run.act(run.stage);
	}
	return argument;
}

bool
death_run(struct stage *stage, death_fn act, uint64_t countdown)
{
	pthread_t thread;

	shm_point_hook = meet_point;
	run.stage = stage;
	run.act = act;
	run.countdown = countdown;
	run.died = false;
	if (countdown == 0) {
		act(stage);
	} else if (pthread_create(&thread, NULL, live_and_die, NULL) != 0 ||
	    pthread_join(thread, NULL) != 0) {
		abort();	/* no threads for a test */
	}
	run.countdown = 0;
	run.stage = NULL;
	return run.died;
}
