/* SPDX-License-Identifier: ISC */

/*
 * The wiped page, and what a child does with what it inherited.  Locks may
 * have been held by threads that are not in the child, so it makes new ones;
 * lists under those locks may be half changed, so it lets go of them (a few
 * bytes are lost) instead of walking them.
 */
#include "life.h"

#include "handle.h"
#include "lane.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic uint64_t *life_word;

static pthread_once_t life_once = PTHREAD_ONCE_INIT;
/* The last number given; inherited, so that no child takes an old one. */
static _Atomic uint64_t life_last = 1;

/* Where the kernel does not wipe. */
static void
wipe_in_child(void)
{
	/* Relaxed: the only thread of the child. */
	atomic_store_explicit(life_word, 0, memory_order_relaxed);
}

static void
make_page(void)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED) {
		return;
	}
	if (madvise(page, bytes, MADV_WIPEONFORK) != 0 &&
	    pthread_atfork(NULL, NULL, wipe_in_child) != 0) {
		(void)munmap(page, bytes);
		return;
	}
	life_word = page;
	/* Relaxed: pthread_once() orders it. */
	atomic_store_explicit(life_word, 1, memory_order_relaxed);
}

bool
life_begin(void)
{
	return pthread_once(&life_once, make_page) == 0 && life_word != NULL;
}

uint64_t
life_number(void)
{
	/* Relaxed: the number orders nothing, it is only compared. */
	uint64_t number = atomic_load_explicit(life_word,
	    memory_order_relaxed);
	uint64_t next;

	if (number != 0) {
		return number;
	}
	next = 1 + atomic_fetch_add_explicit(&life_last, 1,
	    memory_order_relaxed);
	/* A second thread of the child may be here too: one number wins. */
	if (atomic_compare_exchange_strong_explicit(life_word, &number, next,
	    memory_order_relaxed, memory_order_relaxed)) {
		return next;
	}
	return number;
}

void
life_adopt(struct weir *handle)
{
	uint64_t now = life_number();
	/* Acquire: pairs with the release at the end. */
	uint64_t seen = atomic_load_explicit(&handle->life,
	    memory_order_acquire);

	while (seen != now) {
		if (seen == (now | LIFE_CHANGING)) {
			/* Another thread of this process is at it. */
			(void)sched_yield();
			seen = atomic_load_explicit(&handle->life,
			    memory_order_acquire);
			continue;
		}
		/* Acquire: as above. */
		if (!atomic_compare_exchange_weak_explicit(&handle->life,
		    &seen, now | LIFE_CHANGING, memory_order_acquire,
		    memory_order_acquire)) {
			continue;
		}
		(void)pthread_mutex_init(&handle->lock, NULL);
		(void)pthread_mutex_init(&handle->ring_lock, NULL);
		lane_forget_others(handle);
		channel_forget(&handle->channel);
		attach_forget(&handle->attach);
		ring_out_forget(handle);
		/* Relaxed: the release below tells it. */
		atomic_store_explicit(&handle->fills_sent, 0,
		    memory_order_relaxed);
		/* Release: all of the above before another thread goes on. */
		atomic_store_explicit(&handle->life, now,
		    memory_order_release);
		return;
	}
}
