/* SPDX-License-Identifier: ISC */

/*
 * A mutex between processes that survives the death of its holder.  Daemon
 * processes only: it lives in a segment that no client maps.
 *
 * A holder that is killed leaves LOCK_HELD_OWNER_DIED to the next one, at
 * once.  A holder that is stopped never does: the wait ends after its time
 * with LOCK_BUSY, and the supervisor's watchdog deals with the holder.
 *
 * Not recursive: a holder that acquires again waits its time and gets
 * LOCK_BUSY.  The child of a fork does not hold what its parent holds.
 */
#ifndef LOCK_H
#define LOCK_H

#include "result.h"

#include <pthread.h>
#include <stdint.h>

/*
 * The longest hold measured is the reclaim of one extent under preemption,
 * 5 ms; a holder that dumps core stalls for 91 ms.  Who waited longer than
 * this waits for a stopped process, and a caller is served better by BUSY.
 */
#define LOCK_TIMEOUT_MS	100

struct shm_lock {
	pthread_mutex_t	mutex;	/* any daemon process */
};

enum lock_state {
	LOCK_HELD,		/* the caller holds it */
	/* the caller holds it; the last holder died: repair what it guards,
	 * then lock_mark_consistent() before lock_release() */
	LOCK_HELD_OWNER_DIED,
	LOCK_BUSY,		/* not held: the time is over */
	LOCK_BROKEN,		/* not held, for ever: init anew or give up */
};

/*
 * Make a lock in a shared mapping, before any other process can see it.
 * OK, NO_MEMORY, or SYSTEM with errno.
 */
enum result lock_init(struct shm_lock *lock);

/* A timeout of 0 only tries. */
enum lock_state lock_acquire(struct shm_lock *lock, uint32_t timeout_ms);

/* The caller holds it and has repaired what it guards. */
void	lock_mark_consistent(struct shm_lock *lock);

/*
 * Released after an owner's death without being marked consistent, the lock
 * is LOCK_BROKEN for everyone from then on.
 */
void	lock_release(struct shm_lock *lock);

#endif
