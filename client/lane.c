/* SPDX-License-Identifier: ISC */

/*
 * Making, finding and giving back lanes.  A lane is freed when both its
 * handle and its thread are done with it, in whichever order.
 */
#include "lane.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* All lanes of one thread, of whatever handles. */
struct lane_list {
	struct lane	*first;
};

_Thread_local struct lane_cache lane_cached
    __attribute__((tls_model("initial-exec")));

static pthread_key_t lane_key;
static pthread_once_t lane_once = PTHREAD_ONCE_INIT;
static bool lane_key_made;

static void
drop_reference(struct lane *lane)
{
	/* Acquire and release: what each side wrote before the free(). */
	if (atomic_fetch_sub_explicit(&lane->references, 1,
	    memory_order_acq_rel) == 1) {
		free(lane);
	}
}

/* A thread ends. */
static void
end_thread(void *arg)
{
	struct lane_list *list = arg;
	struct lane *next;

	for (struct lane *lane = list->first; lane != NULL; lane = next) {
		next = lane->next_of_thread;
		/* Release: pairs with the acquire in take_free(). */
		atomic_store_explicit(&lane->owner, NULL,
		    memory_order_release);
		drop_reference(lane);
	}
	lane_cached.handle_serial = 0;
	free(list);
}

static void
make_key(void)
{
	lane_key_made = pthread_key_create(&lane_key, end_thread) == 0;
}

/* The library is unloaded: no thread may come back to end_thread(). */
static void __attribute__((destructor))
drop_key(void)
{
	if (lane_key_made) {
		(void)pthread_key_delete(lane_key);
	}
}

bool
lane_begin_process(void)
{
	return pthread_once(&lane_once, make_key) == 0 && lane_key_made;
}

static struct lane_list *
own_list(void)
{
	struct lane_list *list = pthread_getspecific(lane_key);

	if (list == NULL) {
		list = calloc(1, sizeof(*list));
		if (list != NULL && pthread_setspecific(lane_key, list) != 0) {
			free(list);
			list = NULL;
		}
	}
	return list;
}

/* This thread's lane of the handle; lanes of closed handles are let go. */
static struct lane *
search_list(struct lane_list *list, uint64_t serial)
{
	struct lane **at = &list->first, *found = NULL;

	while (*at != NULL) {
		struct lane *lane = *at;

		/* Acquire: pairs with the release in lane_close_all(). */
		if (atomic_load_explicit(&lane->closed,
		    memory_order_acquire)) {
			*at = lane->next_of_thread;
			drop_reference(lane);
			continue;
		}
		if (lane->handle_serial == serial) {
			found = lane;
		}
		at = &lane->next_of_thread;
	}
	return found;
}

/* A lane whose thread has ended; its counts stand and go on. */
static struct lane *
take_free(struct weir *handle, struct lane_list *list)
{
	/* Acquire: pairs with the release in push_lane(). */
	struct lane *lane = atomic_load_explicit(&handle->lanes,
	    memory_order_acquire);

	for (; lane != NULL; lane = lane->next_of_handle) {
		struct lane_list *none = NULL;

		/* Acquire: pairs with end_thread(); relaxed: not free. */
		if (atomic_compare_exchange_strong_explicit(&lane->owner,
		    &none, list, memory_order_acquire,
		    memory_order_relaxed)) {
			/* Relaxed: the handle holds one all the time. */
			(void)atomic_fetch_add_explicit(&lane->references, 1,
			    memory_order_relaxed);
			lane->detail[0] = '\0';
			return lane;
		}
	}
	return NULL;
}

/* Processes and threads that draw alike would expire alike. */
static void
seed(struct lane *lane)
{
	(void)!getrandom(&lane->random, sizeof(lane->random),
	    GRND_NONBLOCK);
	lane->hits_draw = lane->random;
}

static struct lane *
push_lane(struct weir *handle, struct lane_list *list)
{
	struct lane *lane = aligned_alloc(_Alignof(struct lane),
	    sizeof(*lane));
	struct lane *head;

	if (lane == NULL) {
		return NULL;
	}
	memset(lane, 0, sizeof(*lane));
	seed(lane);
	lane->handle_serial = handle->serial;
	/* Relaxed: nobody else has it yet. */
	atomic_store_explicit(&lane->owner, list, memory_order_relaxed);
	atomic_store_explicit(&lane->references, 2, memory_order_relaxed);
	head = atomic_load_explicit(&handle->lanes, memory_order_relaxed);
	do {
		lane->next_of_handle = head;
		/* Release: pairs with the acquire of whoever walks. */
	} while (!atomic_compare_exchange_weak_explicit(&handle->lanes,
	    &head, lane, memory_order_release, memory_order_relaxed));
	return lane;
}

struct lane *
lane_find(struct weir *handle)
{
	struct lane_list *list = own_list();
	struct lane *lane;

	if (list == NULL) {
		return NULL;
	}
	lane = search_list(list, handle->serial);
	if (lane == NULL) {
		lane = take_free(handle, list);
		if (lane == NULL) {
			lane = push_lane(handle, list);
		}
		if (lane == NULL) {
			return NULL;
		}
		lane->next_of_thread = list->first;
		list->first = lane;
	}
	lane_cached.lane = lane;
	lane_cached.handle_serial = handle->serial;
	return lane;
}

void
lane_close_all(struct weir *handle)
{
	/* Acquire: as in take_free(). */
	struct lane *lane = atomic_load_explicit(&handle->lanes,
	    memory_order_acquire);
	struct lane *next;

	for (; lane != NULL; lane = next) {
		next = lane->next_of_handle;
		/* Release: pairs with search_list(). */
		atomic_store_explicit(&lane->closed, true,
		    memory_order_release);
		drop_reference(lane);
	}
	if (lane_cached.handle_serial == handle->serial) {
		lane_cached.handle_serial = 0;
	}
}

void
lane_forget_others(struct weir *handle)
{
	struct lane_list *own = pthread_getspecific(lane_key);
	/* Acquire: as in take_free(). */
	struct lane *lane = atomic_load_explicit(&handle->lanes,
	    memory_order_acquire);

	for (; lane != NULL; lane = lane->next_of_handle) {
		/* Relaxed: the threads that could change it are not here. */
		struct lane_list *owner = atomic_load_explicit(&lane->owner,
		    memory_order_relaxed);

		lane->hint_count = 0;
		seed(lane);
		if (owner == own || owner == NULL) {
			continue;
		}
		lane->depth = 0;
		atomic_store_explicit(&lane->reading, NULL,
		    memory_order_relaxed);
		(void)atomic_fetch_sub_explicit(&lane->references, 1,
		    memory_order_relaxed);
		/* Release: pairs with take_free(). */
		atomic_store_explicit(&lane->owner, NULL,
		    memory_order_release);
	}
}

bool
lane_any_reads(const struct weir *handle, const struct attachment *attachment)
{
	/* Acquire: as in take_free(). */
	const struct lane *lane = atomic_load_explicit(&handle->lanes,
	    memory_order_acquire);

	for (; lane != NULL; lane = lane->next_of_handle) {
		/* Acquire: a3, pairs with r6. */
		if (atomic_load_explicit(&lane->reading,
		    memory_order_acquire) == attachment) {
			return true;
		}
	}
	return false;
}

uint64_t
lane_sum(const struct weir *handle, enum stat_id stat)
{
	/* Acquire: as in take_free(). */
	const struct lane *lane = atomic_load_explicit(&handle->lanes,
	    memory_order_acquire);
	uint64_t sum = 0;

	for (; lane != NULL; lane = lane->next_of_handle) {
		sum += stats_sum(&lane->stats, 1, stat);
	}
	return sum;
}

int
lane_fail(struct lane *lane, int result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(lane->detail, sizeof(lane->detail), format, args);
	va_end(args);
	return result;
}

int
lane_fail_plain(struct lane *lane, int result)
{
	const char *text = result_text((enum result)result);
	size_t length = strnlen(text, sizeof(lane->detail) - 1);

	memcpy(lane->detail, text, length);
	lane->detail[length] = '\0';
	return result;
}

void
lane_copy_pool(struct lane *lane, const struct attachment *attachment)
{
	lane->pool = attachment->pool;
	lane->pool.stats = &lane->stats;
	lane->pool_serial = attachment->serial;
}
