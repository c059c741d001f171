/* SPDX-License-Identifier: ISC */

/*
 * Starting, delaying and ending the actors of a race.
 */
#include "actors.h"

#include "point.h"
#include "shm_fence.h"
#include "wait_until.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long an actor may go on after its time: the machine may be slow. */
#define GRACE_MS	60000
/* Between two looks at the clock. */
#define LOOKS_PER_CLOCK	32
/* One lingering of so many gives the processor away. */
#define YIELD_ONE_IN	8
#define NS_PER_MS	1000000u
#define NS_PER_S	1000000000u

/* Not shared: each process, or each thread, has its own. */
static _Thread_local struct actor *current;
static struct actor actors[ACTORS_MAX];

static uint64_t
now_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void *
actors_share(size_t bytes)
{
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return shared;
}

bool
actor_goes_on(struct actor *actor)
{
	struct actors_board *board = actor->board;

	if (actor->looks++ % LOOKS_PER_CLOCK == 0) {
		uint64_t now = now_ns();

		if (now >= actor->last_ns || (now >= actor->end_ns &&
		    (actor->showed == NULL || actor->showed(actor->scene)))) {
			atomic_store_explicit(&board->stop, 1,
			    memory_order_relaxed);
		}
	}
	/* Relaxed: a late look costs a round. */
	return atomic_load_explicit(&board->stop, memory_order_relaxed) == 0;
}

void
actor_fail(struct actor *actor, const char *why_format, ...)
{
	struct actors_board *board = actor->board;

	if (atomic_exchange(&board->failed, 1) == 0) {
		va_list args;

		va_start(args, why_format);
		(void)vsnprintf(board->why, sizeof(board->why), why_format,
		    args);
		va_end(args);
	}
	atomic_store_explicit(&board->stop, 1, memory_order_relaxed);
}

void
actor_linger(struct actor *actor, uint32_t turns)
{
	struct prng *prng = &actor->delays;

	if (prng_one_in(prng, YIELD_ONE_IN)) {
		sched_yield();
		return;
	}
	/* All scales alike: a window may be short or long. */
	turns = prng_below(prng, turns + 1) >> prng_below(prng, 10);
	for (uint32_t i = 0; i < turns; i++) {
		shm_fence_compiler();
	}
}

#ifdef SHM_TEST_POINTS
static void
linger_at_point(const char *name)
{
	(void)name;
	if (current != NULL && current->delay_one_in != 0 &&
	    prng_one_in(&current->delays, current->delay_one_in)) {
		actor_linger(current, current->delay_turns);
	}
}
#endif

void
actor_count(struct actor *actor, unsigned what)
{
	/* Relaxed: read when all have ended. */
	atomic_fetch_add_explicit(&actor->board->tally[what], 1,
	    memory_order_relaxed);
}

uint64_t
actors_tally(const struct actors_board *board, unsigned what)
{
	return atomic_load(&board->tally[what]);
}

/* In its own process or thread. */
static void
act(struct actor *actor, actor_fn *play)
{
	current = actor;
	play(actor);
	current = NULL;
}

static void
prepare(struct actor *actor, const struct actors_play *play,
    const struct actors_part *part, uint32_t number, uint32_t worker,
    uint64_t end_ns)
{
	memset(actor, 0, offsetof(struct actor, buffer));
	actor->pool = *play->pool;
	actor->board = play->board;
	actor->scene = play->scene;
	actor->number = number;
	actor->delay_one_in = part->delay_one_in;
	actor->delay_turns = part->delay_turns;
	actor->end_ns = end_ns;
	actor->last_ns = end_ns +
	    (uint64_t)play->run_ms * NS_PER_MS * (SHOW_TIMES - 1);
	actor->showed = play->showed;
	prng_init(&actor->prng, play->seed * 1000 + worker * 2);
	prng_init(&actor->delays, play->seed * 1000 + worker * 2 + 1);
	if (!part->is_reader) {
		pool_become_worker(&actor->pool, worker);
	} else {
		/* As a client: no private segment, a block of its own. */
		actor->pool.priv = NULL;
		actor->pool.shards_private = NULL;
		actor->pool.infos = NULL;
		actor->pool.pins = NULL;
		actor->pool.stats = &actor->stats;
	}
}

#if SHM_TSAN

struct thread {
	pthread_t	id;
	struct actor	*actor;
	actor_fn	*play;
};

static void *
run_thread(void *argument)
{
	struct thread *thread = argument;

	act(thread->actor, thread->play);
	return NULL;
}

static void
start(struct thread *thread, const struct actors_part *part)
{
	thread->play = part->play;
	if (pthread_create(&thread->id, NULL, run_thread, thread) != 0) {
		perror("pthread_create");
		exit(1);
	}
}

static void
finish(struct thread *thread, struct actors_board *board, uint32_t run_ms)
{
	(void)board;
	(void)run_ms;
	(void)pthread_join(thread->id, NULL);
}

#else

struct thread {
	pid_t		pid;
	struct actor	*actor;
};

static _Noreturn void
run_process(struct actor *actor, const struct actors_part *part)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (part->is_reader && pool_attach(&actor->pool,
	    dup(actor->pool.segment.fd), &actor->stats) != OK) {
		actor_fail(actor, "a reader cannot attach");
		_exit(1);
	}
	act(actor, part->play);
	_exit(0);
}

static void
start(struct thread *thread, const struct actors_part *part)
{
	thread->pid = fork();
	if (thread->pid < 0) {
		perror("fork");
		exit(1);
	}
	if (thread->pid == 0) {
		run_process(thread->actor, part);
	}
}

static void
finish(struct thread *thread, struct actors_board *board, uint32_t run_ms)
{
	int status;
	bool ended = wait_until_exit(thread->pid,
	    run_ms * SHOW_TIMES + GRACE_MS, &status);

	if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		return;
	}
	if (atomic_exchange(&board->failed, 1) == 0) {
		(void)snprintf(board->why, sizeof(board->why),
		    ended ? "an actor ended with status %#x" :
		    "an actor hangs, killed with status %#x",
		    (unsigned)status);
	}
	atomic_store(&board->stop, 1);
}

#endif

bool
actors_run(const struct actors_play *play)
{
	struct thread threads[ACTORS_MAX];
	const struct actors_part *parts[ACTORS_MAX];
	uint64_t end_ns = now_ns() + (uint64_t)play->run_ms * NS_PER_MS;
	uint32_t count = 0;

	memset(play->board, 0, sizeof(*play->board));
#ifdef SHM_TEST_POINTS
	shm_point_hook = linger_at_point;
#endif
	for (uint32_t p = 0; p < play->part_count; p++) {
		for (uint32_t i = 0; i < play->parts[p].count; i++) {
			prepare(&actors[count], play, &play->parts[p], i,
			    count, end_ns);
			threads[count].actor = &actors[count];
			parts[count++] = &play->parts[p];
		}
	}
	fflush(stdout);
	for (uint32_t i = 0; i < count; i++) {
		start(&threads[i], parts[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		finish(&threads[i], play->board, play->run_ms);
	}
	return atomic_load(&play->board->failed) == 0;
}
