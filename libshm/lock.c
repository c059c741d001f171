/* SPDX-License-Identifier: ISC */

/*
 * The robust mutex between daemon processes, and the only file that knows
 * which call waits for it.
 *
 * The kernel keeps the list of what a thread holds and marks each mutex when
 * the thread ends, however it ends; the next to take it is told.  Priority
 * inheritance is left out: workers run at one priority, and it boosts no nice
 * level.
 */
#include "lock.h"

#include "clock.h"
#include "shm_fence.h"

#include <errno.h>
#include <time.h>

enum result
lock_init(struct shm_lock *lock)
{
	pthread_mutexattr_t attr;
	int err;

	err = pthread_mutexattr_init(&attr);
	if (err == 0) {
		err = pthread_mutexattr_setpshared(&attr,
		    PTHREAD_PROCESS_SHARED);
		if (err == 0) {
			err = pthread_mutexattr_setrobust(&attr,
			    PTHREAD_MUTEX_ROBUST);
		}
		if (err == 0) {
			err = pthread_mutex_init(&lock->mutex, &attr);
		}
		(void)pthread_mutexattr_destroy(&attr); /* frees nothing */
	}
	if (err == 0) {
		return OK;
	}
	errno = err;
	return err == ENOMEM ? NO_MEMORY : SYSTEM;
}

/*
 * The monotonic clock, so that a step of the wall clock neither stretches nor
 * cuts the wait.  ThreadSanitizer does not know pthread_mutex_clocklock() and
 * would see no lock at all: its build waits by the wall clock.
 */
#if SHM_TSAN
#define LOCK_CLOCK	CLOCK_REALTIME
#define LOCK_UNTIL(mutex, until)					\
	pthread_mutex_timedlock(mutex, until)
#else
#define LOCK_CLOCK	CLOCK_MONOTONIC
#define LOCK_UNTIL(mutex, until)					\
	pthread_mutex_clocklock(mutex, LOCK_CLOCK, until)
#endif

/*
 * Take a free lock, by waiting with a deadline long past: no look at a clock
 * and, if it is free, no system call.  pthread_mutex_trylock() will not do:
 * in glibc 2.36 the one that answers ENOTRECOVERABLE leaves the mutex taken,
 * and every later caller waits for nobody.  ThreadSanitizer follows the death
 * of an owner through that call alone, so its build has that fault instead.
 */
static int
take_free(pthread_mutex_t *mutex)
{
#if SHM_TSAN
	int err = pthread_mutex_trylock(mutex);

	return err == EBUSY ? ETIMEDOUT : err;
#else
	const struct timespec past = { 0 };

	return LOCK_UNTIL(mutex, &past);
#endif
}

static struct timespec
deadline_after(uint32_t timeout_ms)
{
	struct timespec until = { 0 };

	(void)clock_gettime(LOCK_CLOCK, &until); /* cannot fail */
	until.tv_sec += timeout_ms / CLOCK_MS_PER_S;
	until.tv_nsec += (long)(timeout_ms % CLOCK_MS_PER_S) *
	    CLOCK_NS_PER_MS;
	if (until.tv_nsec >= CLOCK_NS_PER_S) {
		until.tv_sec++;
		until.tv_nsec -= CLOCK_NS_PER_S;
	}
	return until;
}

enum lock_state
lock_acquire(struct shm_lock *lock, uint32_t timeout_ms)
{
	int err = take_free(&lock->mutex);

	if (err == ETIMEDOUT && timeout_ms > 0) {
		struct timespec until = deadline_after(timeout_ms);

		err = LOCK_UNTIL(&lock->mutex, &until);
	}
	switch (err) {
	case 0:
		return LOCK_HELD;
	case EOWNERDEAD:
		return LOCK_HELD_OWNER_DIED;
	case ETIMEDOUT:
		return LOCK_BUSY;
	default:
		/* ENOTRECOVERABLE, or bytes that are no mutex. */
		return LOCK_BROKEN;
	}
}

void
lock_mark_consistent(struct shm_lock *lock)
{
	/* Fails only where the last holder did not die: nothing to mark. */
	(void)pthread_mutex_consistent(&lock->mutex);
}

void
lock_release(struct shm_lock *lock)
{
	/* Fails only in a process that does not hold it, and changes nothing
	 * then: the child of a fork inside the lock. */
	(void)pthread_mutex_unlock(&lock->mutex);
}
