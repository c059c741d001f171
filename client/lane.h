/* SPDX-License-Identifier: ISC */

/*
 * What a thread keeps of a handle: its clock, its counters, its hints, the
 * last error, and a copy of the pool's addresses.  Made at a thread's first
 * use of a handle, reused by another when the thread has ended.
 *
 * Reading and unmapping.  A thread says which attachment it reads before it
 * reads; who replaces an attachment looks at that before it unmaps.
 *
 *	reader					re-attacher, holds the lock
 *	r1 a = current				a1 current = new (release)
 *	r2 reading = a (relaxed)		a2 membarrier: a full fence in
 *	r3 compiler fence			   every thread of the process
 *	r4 current != a: back to r1		a3 any reading == old (acquire):
 *	r5 ... reads a ...			   keep it for later
 *	r6 reading = NULL (release)		a4 unmap old
 *
 * 1. If r2 comes before a2 in its thread, a3 sees it and keeps the mapping,
 *    or sees r6 and all reads are over.  If r2 comes after a2, so does r4,
 *    which sees a1 and does not read the old one.
 * 2. The fence of r3 costs nothing, as a2 makes it one where it is needed.
 *    Without membarrier(2) an old attachment stays mapped until the close.
 * 3. A thread that ends, or is no more after a fork, reads nothing.
 */
#ifndef LANE_H
#define LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach.h"
#include "clock.h"
#include "handle.h"
#include "life.h"
#include "pool.h"
#include "protocol.h"
#include "shm_fence.h"
#include "stats.h"

#define LANE_DETAIL_BYTES	256
/* A few hits to a record: the header of a record is half a hint. */
#define LANE_HINTS_MAX		8
/*
 * Hints of a thread in a window: what a worker would drop costs a hit time
 * and tells nobody.  Windows are short, so that a fast reader's hints are of
 * more than the first moment of each second.
 */
#define LANE_WINDOW_MS		20u
#define LANE_WINDOW_HINTS	(RING_HINTS_PER_S * LANE_WINDOW_MS / 1000)

struct lane_list;

/* See ask_later.h. */
#define LANE_LATER_ROWS		64u
struct lane_later {
	uint64_t	hash;
	uint64_t	until_ms;
};

/* See hit_count.h. */
#define LANE_HIT_ROWS		128u
struct lane_hits {
	uint64_t	hash;		/* of the partition */
	uint32_t	hits;		/* 0: the row is free */
	uint32_t	unused;
};

struct lane {
	/* the thread's counters; read by whoever sends them */
	struct stats_block stats;
	/* the thread that owns it, alone */
	struct pool	pool;		/* of the attachment, own stats */
	uint64_t	pool_serial;	/* of that attachment; 0 none */
	struct clock_cache clock;
	const struct attachment *active; /* while depth > 0 */
	unsigned	depth;		/* a callback may read again */
	unsigned	hint_count;
	uint64_t	window_ms;	/* start of the window of hints */
	unsigned	window_hints;	/* in it so far */
	uint8_t		hints[LANE_HINTS_MAX * RING_HINT_BYTES];
	char		detail[LANE_DETAIL_BYTES];
	uint64_t	random;
	struct lane_later later[LANE_LATER_ROWS];
	struct lane_hits partition_hits[LANE_HIT_ROWS];
	uint64_t	hits_draw;	/* which hits are counted */
	uint64_t	hits_told;	/* of stats */
	struct lane	*next_of_thread;
	/* set when it is made */
	uint64_t	handle_serial;
	struct lane	*next_of_handle;
	/* any thread, atomic */
	_Atomic(const struct attachment *) reading;
	_Atomic(struct lane_list *) owner; /* NULL: free */
	_Atomic bool	closed;		/* the handle is no more */
	_Atomic unsigned references;	/* handle, thread */
};

struct lane_cache {
	uint64_t	handle_serial;	/* 0: nothing */
	struct lane	*lane;
};

extern _Thread_local struct lane_cache lane_cached
    __attribute__((tls_model("initial-exec")));

/* Once per process; false: the system has no keys for threads left. */
bool	lane_begin_process(void);

/* The slow half of lane_of().  NULL: no memory. */
struct lane *lane_find(struct weir *handle);

/* At close: no thread uses the handle. */
void	lane_close_all(struct weir *handle);

/* In the child of a fork: only this thread's lanes have an owner. */
void	lane_forget_others(struct weir *handle);

/* Is this attachment read by any thread?  After a2. */
bool	lane_any_reads(const struct weir *handle,
    const struct attachment *attachment);

/* Sum of a counter over all lanes. */
uint64_t lane_sum(const struct weir *handle, enum stat_id stat);

/* Keep what went wrong for weir_detail(); returns result. */
int	lane_fail(struct lane *lane, int result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with the text of the result. */
int	lane_fail_plain(struct lane *lane, int result);

/* The slow half of lane_enter(). */
void	lane_copy_pool(struct lane *lane, const struct attachment *attachment);

/* This thread's lane.  NULL: no memory. */
static inline struct lane *
lane_of(struct weir *handle)
{
	/* Relaxed: compared alone; life_adopt() has the orders. */
	if (atomic_load_explicit(life_word, memory_order_relaxed) !=
	    atomic_load_explicit(&handle->life, memory_order_relaxed)) {
		life_adopt(handle);
	}
	if (lane_cached.handle_serial == handle->serial) {
		return lane_cached.lane;
	}
	return lane_find(handle);
}

/*
 * r1 to r4.  The attachment to read, or NULL when there is none; then too
 * lane_leave() follows.
 */
static inline const struct attachment *
lane_enter(struct weir *handle, struct lane *lane)
{
	const struct attachment *a, *again;

	if (lane->depth++ > 0) {
		/* Inside a callback: what is read there stays. */
		return lane->active;
	}
	/* Acquire: pairs with the release of a1. */
	a = atomic_load_explicit(&handle->current, memory_order_acquire);
	for (;;) {
		/* Relaxed: ordered by r3 and a2. */
		atomic_store_explicit(&lane->reading, a,
		    memory_order_relaxed);
		shm_fence_compiler();
		again = atomic_load_explicit(&handle->current,
		    memory_order_acquire);
		if (again == a) {
			break;
		}
		a = again;
	}
	if (a != NULL && lane->pool_serial != a->serial) {
		lane_copy_pool(lane, a);
	}
	lane->active = a;
	return a;
}

/* r6. */
static inline void
lane_leave(struct lane *lane)
{
	if (--lane->depth == 0) {
		/* Release: pairs with the acquire of a3. */
		atomic_store_explicit(&lane->reading, NULL,
		    memory_order_release);
	}
}

#endif
