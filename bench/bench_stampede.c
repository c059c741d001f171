/* SPDX-License-Identifier: ISC */

/*
 * Many want what nobody has: how often is it computed, how long does the
 * slowest wait, and how long after the end of the computation do waiters go
 * on?  Computations are counted by the origin, in memory that all share.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "live.h"

#define PROCESSES	64u
#define KEYS		100u
#define COMPUTE_MS	50u
#define WAIT_PROCESSES	8u
#define WAIT_THREADS	25u
#define WAITERS		(WAIT_PROCESSES * WAIT_THREADS)
#define ROUNDS_MAX	9u
#define START_TRIES	40000u	/* of half a millisecond */
#define VALUE		"computed once"

struct shared {
	_Atomic uint32_t ready;
	_Atomic uint32_t go;
	_Atomic uint32_t computes;
	_Atomic uint32_t failed;
	_Atomic uint64_t slowest_ns;
	_Atomic uint64_t computed_ns;	/* when the computation ended */
	_Atomic uint64_t returned_ns[WAITERS];
	pthread_barrier_t all_returned;	/* of all processes */
	_Atomic uint32_t woken;		/* of the floor: 1 wakes all */
};

struct task {
	struct shared	*shared;
	struct weir	*weir;
	const char	*key;
	unsigned	number;
};

/* Acquire and release: what was done before is seen with the number. */
static uint32_t
get(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void
add(_Atomic uint32_t *word)
{
	(void)atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
}

static void
pause_us(unsigned us)
{
	struct timespec span = { 0, (long)us * 1000 };

	(void)nanosleep(&span, NULL);
}

static int
compute(void *arg, struct weir_computed *computed)
{
	struct shared *shared = arg;
	struct timespec span = { 0, COMPUTE_MS * 1000000L };

	add(&shared->computes);
	(void)nanosleep(&span, NULL);
	computed->value = VALUE;
	computed->length = sizeof(VALUE);
	/* Relaxed, as all times: read when everybody has ended. */
	atomic_store_explicit(&shared->computed_ns, measure_now_ns(),
	    memory_order_relaxed);
	return WEIR_OK;
}

static void
fetch(struct shared *shared, struct weir *weir, const char *key)
{
	char value[64] = "";

	if (weir_fetch(weir, key, strlen(key), value, sizeof(value), NULL,
	    compute, shared, NULL) != WEIR_OK || strcmp(value, VALUE) != 0) {
		add(&shared->failed);
	}
}

static void
wait_for_go(struct shared *shared)
{
	add(&shared->ready);
	while (get(&shared->go) == 0) {
		pause_us(500);
	}
}

/* Every key once, each process in an order of its own. */
static void
fetch_all(struct shared *shared, struct weir *weir, unsigned round,
    unsigned number)
{
	wait_for_go(shared);
	for (unsigned i = 0; i < KEYS; i++) {
		char key[32];
		uint64_t start, took, slowest;

		/* 7 and 100 have no common part: all keys are met. */
		(void)snprintf(key, sizeof(key), "all-%u-%u", round,
		    (number * 13 + i * 7) % KEYS);
		start = measure_now_ns();
		fetch(shared, weir, key);
		took = measure_now_ns() - start;
		slowest = atomic_load_explicit(&shared->slowest_ns,
		    memory_order_relaxed);
		while (took > slowest &&
		    !atomic_compare_exchange_weak_explicit(
		    &shared->slowest_ns, &slowest, took,
		    memory_order_relaxed, memory_order_relaxed)) {
		}
	}
}

static void
note_return(struct task *task)
{
	atomic_store_explicit(&task->shared->returned_ns[task->number],
	    measure_now_ns(), memory_order_relaxed);
	/* The end of a thread costs more than its wait: not meanwhile. */
	(void)pthread_barrier_wait(&task->shared->all_returned);
}

static void *
fetch_one(void *arg)
{
	struct task *task = arg;

	wait_for_go(task->shared);
	fetch(task->shared, task->weir, task->key);
	note_return(task);
	return NULL;
}

/* The floor: all sleep on one word, and one system call wakes them. */
static void *
sleep_on_word(void *arg)
{
	struct task *task = arg;
	_Atomic uint32_t *word = &task->shared->woken;

	add(&task->shared->ready);
	while (get(word) == 0) {
		(void)syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
	}
	note_return(task);
	return NULL;
}

static void
run_threads(struct shared *shared, struct weir *weir, unsigned round,
    unsigned number, void *(*fn)(void *task))
{
	struct task tasks[WAIT_THREADS];
	pthread_t threads[WAIT_THREADS];
	char key[32];

	(void)snprintf(key, sizeof(key), "one-%u", round);
	for (unsigned i = 0; i < WAIT_THREADS; i++) {
		tasks[i] = (struct task){ shared, weir, key,
		    number * WAIT_THREADS + i };
		if (pthread_create(&threads[i], NULL, fn, &tasks[i]) != 0) {
			abort();	/* the parent sees it */
		}
	}
	for (unsigned i = 0; i < WAIT_THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
	}
}

/* So many threads over one handle. */
static void
fetch_together(struct shared *shared, struct weir *weir, unsigned round,
    unsigned number)
{
	run_threads(shared, weir, round, number, fetch_one);
}

static void
sleep_together(struct shared *shared, struct weir *weir, unsigned round,
    unsigned number)
{
	run_threads(shared, weir, round, number, sleep_on_word);
}

static void
init_barrier(pthread_barrier_t *barrier)
{
	pthread_barrierattr_t attr;

	(void)pthread_barrierattr_init(&attr);
	(void)pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	(void)pthread_barrier_init(barrier, &attr, WAITERS);
	(void)pthread_barrierattr_destroy(&attr);
}

static void
wake_sleepers(struct shared *shared)
{
	atomic_store_explicit(&shared->computed_ns, measure_now_ns(),
	    memory_order_relaxed);
	add(&shared->woken);
	(void)syscall(SYS_futex, &shared->woken, FUTEX_WAKE, INT_MAX, NULL,
	    NULL, 0);
}

typedef void (crowd_fn)(struct shared *shared, struct weir *weir,
    unsigned round, unsigned number);

static void
run_crowd(const struct bench *b, const struct live *l, struct shared *shared,
    unsigned processes, unsigned ready, unsigned round, crowd_fn *fn)
{
	pid_t pids[PROCESSES];
	bool fine = true;

	memset(shared, 0, sizeof(*shared));
	init_barrier(&shared->all_returned);
	for (unsigned i = 0; i < processes; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct weir *weir = live_open(l);

			if (weir == NULL || weir_connect(weir) != WEIR_OK) {
				_exit(1);
			}
			fn(shared, weir, round, i);
			weir_close(weir);
			_exit(0);
		}
		fine = fine && pids[i] > 0;
	}
	for (unsigned i = 0; fine && get(&shared->ready) < ready; i++) {
		pause_us(500);
		/* Somebody may have ended before it was ready. */
		fine = i < START_TRIES;
	}
	if (fn == sleep_together) {
		pause_us(COMPUTE_MS * 1000);	/* all sleep by then */
		wake_sleepers(shared);
	}
	atomic_store_explicit(&shared->go, 1, memory_order_release);
	for (unsigned i = 0; i < processes; i++) {
		int status;

		fine = pids[i] > 0 && waitpid(pids[i], &status, 0) ==
		    pids[i] && status == 0 && fine;
	}
	if (!fine || get(&shared->failed) != 0) {
		bench_fail(b, "a process ended, or %u fetches failed",
		    get(&shared->failed));
	}
}

static void
measure_stampede(struct bench *b, const struct live *l,
    struct shared *shared, unsigned rounds)
{
	double slowest[ROUNDS_MAX], most = 0;

	for (unsigned i = 0; i < rounds; i++) {
		double computes;

		run_crowd(b, l, shared, PROCESSES, PROCESSES, i, fetch_all);
		computes = get(&shared->computes);
		slowest[i] = (double)atomic_load_explicit(
		    &shared->slowest_ns, memory_order_relaxed) / 1e6;
		most = computes > most ? computes : most;
		bench_begin_row(b);
		bench_add_text(b, "round", "64 processes, 100 keys, %u",
		    i + 1);
		bench_add_number(b, "computes", computes);
		bench_add_number(b, "longest_wait_ms", slowest[i]);
	}
	bench_add_bar(b, "computes", most);
	bench_add_bar(b, "longest_wait_ms", measure_median(slowest, rounds));
}

/* The median of one round; a row of it. */
static double
measure_round(struct bench *b, const struct live *l, struct shared *shared,
    unsigned round, const char *what, crowd_fn *fn)
{
	double extra[WAITERS], longest = 0, median;
	uint64_t end;

	run_crowd(b, l, shared, WAIT_PROCESSES, WAITERS, round, fn);
	end = atomic_load_explicit(&shared->computed_ns,
	    memory_order_relaxed);
	for (unsigned n = 0; n < WAITERS; n++) {
		extra[n] = ((double)atomic_load_explicit(
		    &shared->returned_ns[n], memory_order_relaxed) -
		    (double)end) / 1e6;
		longest = extra[n] > longest ? extra[n] : longest;
	}
	median = measure_median(extra, WAITERS);
	bench_begin_row(b);
	bench_add_text(b, "round", "%s, %u", what, round + 1);
	bench_add_number(b, "computes", get(&shared->computes));
	bench_add_number(b, "median_extra_ms", median);
	bench_add_number(b, "longest_extra_ms", longest);
	return median;
}

static void
measure_waiters(struct bench *b, const struct live *l,
    struct shared *shared, unsigned rounds)
{
	double medians[ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++) {
		(void)measure_round(b, l, shared, i, "floor: 200 threads "
		    "woken by one system call", sleep_together);
		medians[i] = measure_round(b, l, shared, i,
		    "200 waiters, one key", fetch_together);
	}
	bench_add_bar(b, "median_extra_wait_200_waiters_ms",
	    measure_median(medians, rounds));
}

int
main(int argc, char **argv)
{
	struct bench *b = bench_create("stampede", argc, argv);
	unsigned rounds = (unsigned)bench_amount(b, 3, 5, ROUNDS_MAX);
	struct shared *shared = mmap(NULL, sizeof(*shared),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct live l;

	if (shared == MAP_FAILED) {
		bench_fail(b, "no memory");
	}
	live_create(b, &l, 1000, 64, 1000);
	bench_add_setting(b, "compute", "sleeps %u ms", COMPUTE_MS);
	bench_add_setting(b, "waiters", "%u processes, %u threads each over "
	    "one handle", WAIT_PROCESSES, WAIT_THREADS);
	measure_stampede(b, &l, shared, rounds);
	measure_waiters(b, &l, shared, rounds);
	bench_add_limit(b, "an origin that fails, or is at its limit: load "
	    "has those");
	live_destroy(&l);
	return bench_finish(b);
}
