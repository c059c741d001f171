/* SPDX-License-Identifier: ISC */

/*
 * Starting, letting go and adding up.
 */
#include "swarm.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S	UINT64_C(1000000000)
#define READY_PAUSE_NS	500000u
#define READY_TRIES	60000u		/* of half a millisecond */
#define STACK_BYTES	(256u << 10)

void
swarm_sleep_until(uint64_t ns)
{
	struct timespec until = { (time_t)(ns / NS_PER_S),
	    (long)(ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
	    NULL) == EINTR) {
	}
}

uint64_t
swarm_wait_for_start(struct swarm_member *member)
{
	struct swarm_shared *shared = member->swarm->shared;

	/* Release: the parent sees all that was set up. */
	(void)atomic_fetch_add_explicit(&shared->ready, 1,
	    memory_order_release);
	/* Not a loop that looks: thousands would disturb who runs. */
	while (sem_wait(&shared->go) != 0) {
	}
	swarm_sleep_until(shared->start_ns);
	return shared->start_ns;
}

uint64_t
swarm_claim(struct swarm_member *member)
{
	/* Relaxed: only that each number is given once. */
	return atomic_fetch_add_explicit(&member->swarm->shared->next, 1,
	    memory_order_relaxed);
}

struct thread {
	struct swarm_member member;
	swarm_fn	*fn;
	pthread_t	id;
};

static void *
run_thread(void *arg)
{
	struct thread *thread = arg;

	/* Else each sleep is up to 50 us too long, of the bench's making. */
	(void)prctl(PR_SET_TIMERSLACK, 1);
	thread->fn(&thread->member);
	return NULL;
}

/* In the child.  False: it could not be done. */
static bool
run_process(struct swarm *swarm, struct weir *weir, unsigned process,
    swarm_fn *fn, void *arg)
{
	struct thread *threads = calloc(swarm->threads, sizeof(*threads));
	pthread_attr_t small;

	if (threads == NULL || pthread_attr_init(&small) != 0 ||
	    pthread_attr_setstacksize(&small, STACK_BYTES) != 0) {
		return false;
	}
	for (unsigned i = 0; i < swarm->threads; i++) {
		unsigned number = process * swarm->threads + i;

		threads[i].fn = fn;
		threads[i].member = (struct swarm_member){
			.swarm = swarm,
			.weir = weir,
			.number = number,
			.arg = arg,
			.tally = swarm->shared->tallies +
			    (size_t)number * swarm->phases,
		};
		prng_init(&threads[i].member.prng, number);
		if (i > 0 && pthread_create(&threads[i].id, &small,
		    run_thread, &threads[i]) != 0) {
			return false;
		}
	}
	(void)run_thread(&threads[0]);
	for (unsigned i = 1; i < swarm->threads; i++) {
		(void)pthread_join(threads[i].id, NULL);
	}
	free(threads);
	return true;
}

static size_t
shared_bytes(const struct swarm *swarm)
{
	return sizeof(struct swarm_shared) + (size_t)swarm->member_count *
	    swarm->phases * sizeof(struct swarm_tally);
}

static bool
wait_until_ready(const struct swarm *swarm)
{
	for (unsigned i = 0; i < READY_TRIES; i++) {
		/* Acquire: with the release of each that is ready. */
		if (atomic_load_explicit(&swarm->shared->ready,
		    memory_order_acquire) == swarm->member_count) {
			return true;
		}
		swarm_sleep_until(measure_now_ns() + READY_PAUSE_NS);
	}
	return false;
}

void
swarm_start(const struct bench *b, struct swarm *swarm,
    const struct daemon *d, unsigned processes, unsigned threads,
    swarm_fn *fn, void *arg)
{
	swarm_start_phases(b, swarm, d, processes, threads, fn, arg,
	    SWARM_PHASES);
}

void
swarm_start_phases(const struct bench *b, struct swarm *swarm,
    const struct daemon *d, unsigned processes, unsigned threads,
    swarm_fn *fn, void *arg, unsigned phases)
{
	bool fine = processes <= SWARM_PROCESSES_MAX;

	*swarm = (struct swarm){ .b = b, .processes = processes,
	    .threads = threads, .member_count = processes * threads,
	    .phases = phases };
	swarm->shared = mmap(NULL, shared_bytes(swarm),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fine = fine && swarm->shared != MAP_FAILED &&
	    sem_init(&swarm->shared->go, 1, 0) == 0;
	for (unsigned i = 0; fine && i < processes; i++) {
		swarm->pids[i] = fork();
		if (swarm->pids[i] == 0) {
			struct weir *weir;

			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			weir = daemon_open(d);
			fine = weir != NULL && run_process(swarm, weir, i,
			    fn, arg);
			weir_close(weir);
			_exit(fine ? 0 : 1);
		}
		fine = swarm->pids[i] > 0;
	}
	if (!fine || !wait_until_ready(swarm)) {
		bench_fail(b, "%u client processes with %u threads each do "
		    "not start", processes, threads);
	}
}

void
swarm_go(struct swarm *swarm, uint64_t start_ns)
{
	swarm->shared->start_ns = start_ns;
	for (unsigned i = 0; i < swarm->member_count; i++) {
		(void)sem_post(&swarm->shared->go);
	}
}

void
swarm_finish(struct swarm *swarm)
{
	bool fine = true;
	uint64_t wrong = 0;

	for (unsigned i = 0; i < swarm->processes; i++) {
		int status;

		fine = waitpid(swarm->pids[i], &status, 0) ==
		    swarm->pids[i] && status == 0 && fine;
	}
	for (size_t i = 0; i < (size_t)swarm->member_count * swarm->phases;
	    i++) {
		wrong += swarm->shared->tallies[i].wrong;
	}
	if (!fine || wrong > 0) {
		bench_fail(swarm->b, "a client ended, or %llu values were "
		    "wrong", (unsigned long long)wrong);
	}
}

void
swarm_add(struct swarm_tally *sum, const struct swarm_tally *one)
{
	sum->asked += one->asked;
	sum->hits += one->hits;
	sum->stale += one->stale;
	sum->computed += one->computed;
	sum->waited += one->waited;
	sum->refused += one->refused;
	sum->failed += one->failed;
	if (one->failed > 0) {
		sum->failed_as = one->failed_as;
	}
	sum->wrong += one->wrong;
	sum->dropped += one->dropped;
	if (one->first_ns != 0 && one->first_ns < sum->first_ns) {
		sum->first_ns = one->first_ns;
	}
	if (one->last_ns > sum->last_ns) {
		sum->last_ns = one->last_ns;
	}
	if (one->latency.count > 0) {
		histogram_merge(&sum->latency, &one->latency);
	}
}

void
swarm_sum(const struct swarm *swarm, unsigned phase, struct swarm_tally *sum)
{
	*sum = (struct swarm_tally){ .first_ns = UINT64_MAX };
	histogram_init(&sum->latency);
	for (unsigned i = 0; i < swarm->member_count; i++) {
		swarm_add(sum, &swarm->shared->tallies[
		    (size_t)i * swarm->phases + phase]);
	}
}

void
swarm_free(struct swarm *swarm)
{
	(void)munmap(swarm->shared, shared_bytes(swarm));
}
