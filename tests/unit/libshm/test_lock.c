/* SPDX-License-Identifier: ISC */

/*
 * The lock between processes: holders that are killed, stopped, forked.
 */
#include "lock.h"

#include "wait_until.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How long a broken run may hang. */
#define DEADLINE_MS	10000
/* A wait that is known to end without success. */
#define SHORT_WAIT_MS	30

struct shared {
	struct shm_lock	lock;
	_Atomic uint32_t stage;		/* stored by the child */
	_Atomic uint32_t state;		/* enum lock_state the child got */
	_Atomic uint32_t sum;		/* guarded by the lock */
};

static struct shared *
map_shared(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(shared, MAP_FAILED);
	cr_assert_eq(lock_init(&shared->lock), OK);
	return shared;
}

/* A child that takes the lock and keeps it until it is killed. */
static pid_t
start_holder(struct shared *shared)
{
	pid_t pid = fork();

	cr_assert_neq(pid, -1);
	if (pid == 0) {
		atomic_store(&shared->state,
		    lock_acquire(&shared->lock, DEADLINE_MS));
		atomic_store(&shared->stage, 1);
		for (;;) {
			pause();
		}
	}
	cr_assert(wait_until_word(&shared->stage, 1, DEADLINE_MS));
	cr_assert_eq(atomic_load(&shared->state), LOCK_HELD);
	return pid;
}

static void
kill_and_reap(pid_t pid)
{
	int status;

	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
}

/* What another process gets that only tries. */
static enum lock_state
try_in_child(struct shared *shared)
{
	int status;
	pid_t pid = fork();

	cr_assert_neq(pid, -1);
	if (pid == 0) {
		enum lock_state state = lock_acquire(&shared->lock, 0);

		if (state == LOCK_HELD) {
			lock_release(&shared->lock);
		}
		_exit((int)state);
	}
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert(WIFEXITED(status));
	return (enum lock_state)WEXITSTATUS(status);
}

static uint64_t
now_ms(void)
{
	struct timespec ts;

	cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

Test(lock, keeps_other_processes_out_until_it_is_released)
{
	struct shared *shared = map_shared();

	cr_assert_eq(lock_acquire(&shared->lock, 0), LOCK_HELD);
	cr_assert_eq(try_in_child(shared), LOCK_BUSY);
	lock_release(&shared->lock);
	cr_assert_eq(try_in_child(shared), LOCK_HELD);
}

Test(lock, the_next_holder_is_told_that_the_last_was_killed)
{
	struct shared *shared = map_shared();
	pid_t holder = start_holder(shared);

	cr_assert_eq(lock_acquire(&shared->lock, 0), LOCK_BUSY);
	kill_and_reap(holder);
	cr_assert_eq(lock_acquire(&shared->lock, LOCK_TIMEOUT_MS),
	    LOCK_HELD_OWNER_DIED);
	lock_mark_consistent(&shared->lock);
	lock_release(&shared->lock);
	cr_assert_eq(lock_acquire(&shared->lock, 0), LOCK_HELD);
	lock_release(&shared->lock);
}

Test(lock, a_waiter_gets_the_lock_when_the_holder_is_killed)
{
	struct shared *shared = map_shared();
	pid_t holder = start_holder(shared);
	int status;
	pid_t waiter = fork();

	cr_assert_neq(waiter, -1);
	if (waiter == 0) {
		atomic_store(&shared->stage, 2);
		_exit((int)lock_acquire(&shared->lock, DEADLINE_MS));
	}
	cr_assert(wait_until_word(&shared->stage, 2, DEADLINE_MS));
	kill_and_reap(holder);
	cr_assert(wait_until_exit(waiter, DEADLINE_MS, &status));
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), LOCK_HELD_OWNER_DIED);
}

Test(lock, a_recoverer_that_dies_leaves_the_news_to_the_next)
{
	struct shared *shared = map_shared();
	int status;
	pid_t pid;

	kill_and_reap(start_holder(shared));
	pid = fork();
	cr_assert_neq(pid, -1);
	if (pid == 0) {
		_exit((int)lock_acquire(&shared->lock, DEADLINE_MS));
	}
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_eq(WEXITSTATUS(status), LOCK_HELD_OWNER_DIED);
	cr_assert_eq(lock_acquire(&shared->lock, 0), LOCK_HELD_OWNER_DIED);
}

Test(lock, released_without_repair_it_is_broken_until_init)
{
	struct shared *shared = map_shared();

	kill_and_reap(start_holder(shared));
	cr_assert_eq(lock_acquire(&shared->lock, 0), LOCK_HELD_OWNER_DIED);
	lock_release(&shared->lock);
	cr_assert_eq(lock_acquire(&shared->lock, SHORT_WAIT_MS), LOCK_BROKEN);
	cr_assert_eq(try_in_child(shared), LOCK_BROKEN);
	cr_assert_eq(lock_init(&shared->lock), OK);
	cr_assert_eq(lock_acquire(&shared->lock, 0), LOCK_HELD);
}

Test(lock, a_stopped_holder_makes_it_busy_after_the_time_given)
{
	struct shared *shared = map_shared();
	pid_t holder = start_holder(shared);
	uint64_t start_ms;

	cr_assert_eq(kill(holder, SIGSTOP), 0);
	cr_assert(wait_until_stopped(holder, DEADLINE_MS));
	start_ms = now_ms();
	cr_assert_eq(lock_acquire(&shared->lock, SHORT_WAIT_MS), LOCK_BUSY);
	cr_assert_geq(now_ms() - start_ms, SHORT_WAIT_MS - 1);
	kill_and_reap(holder);
	cr_assert_eq(lock_acquire(&shared->lock, 0), LOCK_HELD_OWNER_DIED);
}

Test(lock, bytes_that_are_no_lock_are_broken)
{
	struct shared *shared = map_shared();

	memset(&shared->lock, 0xff, sizeof(shared->lock));
	cr_assert_eq(lock_acquire(&shared->lock, SHORT_WAIT_MS), LOCK_BROKEN);
}

Test(lock, the_child_of_a_fork_does_not_hold_what_its_parent_holds)
{
	struct shared *shared = map_shared();
	int status;
	pid_t pid;

	cr_assert_eq(lock_acquire(&shared->lock, 0), LOCK_HELD);
	pid = fork();
	cr_assert_neq(pid, -1);
	if (pid == 0) {
		lock_release(&shared->lock);
		_exit(0);
	}
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_eq(try_in_child(shared), LOCK_BUSY);
}

/* Two processes add to one word with a load and a store. */
Test(lock, additions_under_it_are_not_lost)
{
	enum { ADDITIONS = 20000 };
	struct shared *shared = map_shared();
	int status;
	pid_t pid = fork();

	cr_assert_neq(pid, -1);
	for (int i = 0; i < ADDITIONS; i++) {
		uint32_t sum;

		if (lock_acquire(&shared->lock, DEADLINE_MS) != LOCK_HELD) {
			break;
		}
		sum = atomic_load_explicit(&shared->sum,
		    memory_order_relaxed);
		atomic_store_explicit(&shared->sum, sum + 1,
		    memory_order_relaxed);
		lock_release(&shared->lock);
	}
	if (pid == 0) {
		_exit(0);
	}
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_eq(atomic_load(&shared->sum), 2 * ADDITIONS);
}
