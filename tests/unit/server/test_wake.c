/* SPDX-License-Identifier: ISC */

#include "wake.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heritage.h"
#include "wait_until.h"
#include "worker_fixture.h"

#define POOL(worker)	(&(worker)->heritage->pools[0])

/* Whether it rang since the last look. */
static bool
rang(struct worker *worker, uint32_t process)
{
	uint64_t count;

	return read(worker->heritage->wake_fds[process], &count,
	    sizeof(count)) == sizeof(count);
}

/* Starts without bits or rings, whatever the setting up has told. */
static struct worker *
start(struct wake *wake)
{
	struct worker *worker = worker_fixture_create();
	struct wake_set set;

	for (uint32_t i = 0; i < worker->heritage->config.workers; i++) {
		(void)wake_take(worker->control, i, &set);
		(void)rang(worker, i);
	}
	*wake = (struct wake){ .heritage = worker->heritage };
	return worker;
}

Test(wake, says_where_to_look_and_rings_those_alone)
{
	struct wake wake;
	struct worker *worker = start(&wake);
	struct wake_set set;

	wake_origin(&wake, 3, 1u << 1);
	wake_flight(&wake, POOL(worker), 9, 70, 1u << 1);
	cr_assert_not(rang(worker, 1), "not under the lock");
	wake_send(&wake);
	cr_assert(rang(worker, 1));
	cr_assert_not(rang(worker, 0));
	cr_assert_not(wake_take(worker->control, 0, &set));
	cr_assert(wake_take(worker->control, 1, &set));
	cr_assert_eq(set.origins, 1u << 3);
	cr_assert_eq(set.flights[0], 1u << (70 - 64));
	cr_assert_eq(set.flights[1], 0);
	cr_assert_not(set.all);
	cr_assert_not(wake_take(worker->control, 1, &set), "taken");
	wake_send(&wake);
	cr_assert_not(rang(worker, 1), "rung once");
	worker_fixture_destroy(worker);
}

Test(wake, gathers_what_is_told_before_it_rings)
{
	struct wake wake;
	struct worker *worker = start(&wake);
	struct wake_set set;

	for (uint32_t i = 0; i < 5; i++) {
		wake_origin(&wake, i, 3);
		wake_send(&wake);
	}
	for (uint32_t w = 0; w < 2; w++) {
		cr_assert(rang(worker, w));
		cr_assert_not(rang(worker, w));
		cr_assert(wake_take(worker->control, w, &set));
		cr_assert_eq(set.origins, 0x1f);
	}
	worker_fixture_destroy(worker);
}

Test(wake, knows_no_workers_and_pools_that_there_are_not)
{
	struct wake wake;
	struct worker *worker = start(&wake);
	struct pool elsewhere;
	struct wake_set set;

	memset(&elsewhere, 0, sizeof(elsewhere));
	wake_origin(&wake, 1, ~UINT64_C(3));
	wake_flight(&wake, POOL(worker), 0, 1, ~UINT64_C(3));
	wake_flight(&wake, &elsewhere, 0, 1, 3);
	cr_assert_eq(wake.due, 0);
	wake_send(&wake);
	for (uint32_t w = 0; w < WORKERS_MAX; w++) {
		cr_assert_not(wake_take(worker->control, w, &set));
	}
	worker_fixture_destroy(worker);
}

Test(wake, never_blocks_at_a_full_bell)
{
	struct wake wake;
	struct worker *worker = start(&wake);
	const uint64_t most = UINT64_MAX - 1;

	cr_assert_eq(write(worker->heritage->wake_fds[1], &most,
	    sizeof(most)), (ssize_t)sizeof(most));
	wake_origin(&wake, 0, 1u << 1);
	wake_send(&wake);
	cr_assert(rang(worker, 1));
	worker_fixture_destroy(worker);
}

Test(wake, crosses_processes)
{
	struct wake wake;
	struct worker *worker = start(&wake);
	struct pollfd bell = {
		.fd = worker->heritage->wake_fds[0], .events = POLLIN,
	};
	struct wake_set set;
	int status = -1;
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		wake_flight(&wake, POOL(worker), 0, 5, 1);
		wake_send(&wake);
		_exit(0);
	}
	cr_assert_eq(poll(&bell, 1, WORKER_FIXTURE_DEADLINE_MS), 1);
	cr_assert(wake_take(worker->control, 0, &set));
	cr_assert_eq(set.flights[0], 1u << 5);
	cr_assert(wait_until_exit(pid, WORKER_FIXTURE_DEADLINE_MS, &status));
	worker_fixture_destroy(worker);
}

Test(wake, whoever_dies_before_it_rings_leaves_the_bit)
{
	struct wake wake;
	struct worker *worker = start(&wake);
	struct wake_set set;
	int status = 0;
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		wake_origin(&wake, 7, 1);
		(void)raise(SIGKILL);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status));
	cr_assert_not(rang(worker, 0));
	/* What the supervisor does at each death. */
	wake_all(&wake);
	for (uint32_t w = 0; w < 2; w++) {
		cr_assert(rang(worker, w));
		cr_assert(wake_take(worker->control, w, &set));
		cr_assert(set.all);
		cr_assert_eq(set.origins, w == 0 ? 1u << 7 : 0);
		cr_assert_not(wake_take(worker->control, w, &set));
	}
	worker_fixture_destroy(worker);
}

#define TELLERS		2u
#define TOLD		10000u

struct told {
	_Atomic uint32_t change[TELLERS];	/* what the bits are about */
	_Atomic uint32_t seen[TELLERS];		/* by the worker */
};

/* Each change is told, and waits for the worker to see it. */
static void
tell(struct wake *wake, struct told *told, uint32_t number)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (uint32_t i = 1; i <= TOLD; i++) {
		/* Relaxed: the release of the bit publishes it. */
		atomic_store_explicit(&told->change[number], i,
		    memory_order_relaxed);
		wake_origin(wake, number, 1);
		wake_send(wake);
		/* Relaxed: nothing else is read. */
		while (atomic_load_explicit(&told->seen[number],
		    memory_order_relaxed) != i) {
			(void)sched_yield();
		}
	}
	_exit(0);
}

/* The worker's look: what it takes a bit of it has to find. */
static uint32_t
look(struct worker *worker, struct told *told)
{
	uint32_t found = 0;
	struct wake_set set;

	(void)wake_take(worker->control, 0, &set);
	for (uint32_t i = 0; i < TELLERS; i++) {
		/* Relaxed: after the acquire of wake_take(). */
		uint32_t change = atomic_load_explicit(&told->change[i],
		    memory_order_relaxed);

		if ((set.origins >> i & 1) != 0 && change !=
		    atomic_load_explicit(&told->seen[i],
		    memory_order_relaxed)) {
			atomic_store_explicit(&told->seen[i], change,
			    memory_order_relaxed);
			found++;
		}
	}
	return found;
}

/*
 * A worker that looks when it is rung, and then only where it was told,
 * misses nothing, though others tell while it takes.
 */
Test(wake, loses_nothing_that_is_told_while_it_is_taken)
{
	struct wake wake;
	struct worker *worker = start(&wake);
	struct told *told = mmap(NULL, sizeof(*told), PROT_READ |
	    PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct pollfd bell = {
		.fd = worker->heritage->wake_fds[0], .events = POLLIN,
	};
	pid_t pids[TELLERS];

	cr_assert_neq(told, MAP_FAILED);
	for (uint32_t i = 0; i < TELLERS; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (pids[i] == 0) {
			tell(&wake, told, i);
		}
	}
	for (uint32_t found = 0; found < TELLERS * TOLD;) {
		cr_assert_eq(poll(&bell, 1, WORKER_FIXTURE_DEADLINE_MS), 1,
		    "nothing rings after %u changes", found);
		cr_assert(rang(worker, 0));
		found += look(worker, told);
	}
	for (uint32_t i = 0; i < TELLERS; i++) {
		int status = -1;

		cr_assert(wait_until_exit(pids[i],
		    WORKER_FIXTURE_DEADLINE_MS, &status));
		cr_assert_eq(status, 0);
	}
	(void)munmap(told, sizeof(*told));
	worker_fixture_destroy(worker);
}
