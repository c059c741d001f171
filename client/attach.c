/* SPDX-License-Identifier: ISC */

/*
 * Attaching, re-attaching with a jittered back-off, and unmapping what no
 * thread reads any more.
 */
#include "attach.h"

#include "attach_claim.h"
#include "clock.h"
#include "geometry.h"
#include "handle.h"
#include "lane.h"
#include "socket_path.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BACKOFF_MIN_MS		20
#define BACKOFF_MAX_MS		1000
/* What a read that has a mapping already spends on a daemon that hangs. */
#define RETRY_TIMEOUT_MS	50
#define LOOK_EVERY_MS		100
/* Clocks of one time namespace differ by the time a message takes. */
#define CLOCK_SLACK_MS		1000
#define HELLO_ANSWER_BYTES	56

static _Atomic uint64_t last_serial;

void
attach_forget(struct attach_state *state)
{
	state->retired = NULL;
	state->retry_at_ms = 0;
	state->backoff_ms = 0;
	/* What the parent holds is the parent's. */
	state->holder = 0;
	state->claims_until_ms = 0;
	/* Not freed: another thread of the parent may have been growing it. */
	memset(&state->holds, 0, sizeof(state->holds));
}

static void
destroy(struct attachment *a)
{
	pool_destroy(&a->pool);
	free(a);
}

/* a2 to a4. */
static void
reap_retired(struct weir *handle)
{
	struct attachment **at = &handle->attach.retired;

	if (*at == NULL || !handle->attach.has_membarrier ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) !=
	    0) {
		return;
	}
	while (*at != NULL) {
		struct attachment *a = *at;

		/* The lanes first: a view is marked while it is read.
		 * Relaxed: ordered by the acquire of a3. */
		if (lane_any_reads(handle, a) || atomic_load_explicit(
		    &a->viewed, memory_order_relaxed)) {
			at = &a->next_retired;
			continue;
		}
		*at = a->next_retired;
		destroy(a);
	}
}

static void
publish(struct weir *handle, struct attachment *a)
{
	/* Relaxed: only holders of the lock store it. */
	struct attachment *old = atomic_load_explicit(&handle->current,
	    memory_order_relaxed);

	handle->attach.has_membarrier = syscall(SYS_membarrier,
	    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
	/* Release: a1, pairs with lane_enter(). */
	atomic_store_explicit(&handle->current, a, memory_order_release);
	if (old != NULL) {
		old->next_retired = handle->attach.retired;
		handle->attach.retired = old;
	}
	reap_retired(handle);
}

static int64_t
clock_offset(uint64_t before_ms, uint64_t after_ms, uint64_t daemon_ms)
{
	if (daemon_ms + CLOCK_SLACK_MS >= before_ms &&
	    daemon_ms <= after_ms + CLOCK_SLACK_MS) {
		return 0;
	}
	return (int64_t)(daemon_ms - after_ms);
}

/* Map what came with the answer to HELLO, unless it is mapped already. */
static enum result
map_pool(struct weir *handle, struct lane *lane, struct answer *answer,
    uint64_t before_ms)
{
	/* Relaxed: as in publish(). */
	const struct attachment *now = atomic_load_explicit(&handle->current,
	    memory_order_relaxed);
	const uint8_t *boot_id = answer->body + 24;
	struct attachment *a;
	char text[LANE_DETAIL_BYTES];
	enum result result;

	if (answer->length != HELLO_ANSWER_BYTES || answer->fd < 0) {
		return (enum result)lane_fail(lane, CORRUPT,
		    "the answer to HELLO makes no sense");
	}
	if (now != NULL && memcmp(now->boot_id, boot_id,
	    sizeof(now->boot_id)) == 0) {
		return OK;
	}
	a = calloc(1, sizeof(*a));
	if (a == NULL) {
		return (enum result)lane_fail(lane, NO_MEMORY,
		    "for an attachment");
	}
	result = pool_attach(&a->pool, answer->fd, NULL);
	if (result != OK) {
		(void)lane_fail(lane, result, "%s", result == LAYOUT_MISMATCH ?
		    pool_mismatch_text(answer->fd, text, sizeof(text)) :
		    result_text(result));
		free(a);
		return result;
	}
	/* The mapping holds the memory; the caller closes the descriptor. */
	a->pool.segment.fd = -1;
	/* Relaxed: only its being different counts. */
	a->serial = 1 + atomic_fetch_add_explicit(&last_serial, 1,
	    memory_order_relaxed);
	a->clock_offset_ms = clock_offset(before_ms, clock_boot_now().ms,
	    wire_get_u64(answer->body));
	a->value_max_bytes = geometry_value_max_bytes(&a->pool.g);
	memcpy(a->boot_id, boot_id, sizeof(a->boot_id));
	publish(handle, a);
	return OK;
}

static enum result
say_hello(struct weir *handle, struct lane *lane, struct deadline deadline)
{
	struct request request = {
		.type = FRAME_HELLO,
		.value = handle->pool_name,
		.value_length = strlen(handle->pool_name),
		.pid = (uint32_t)getpid(),
		.number = { handle->attach.holder, handle->attach.secret },
	};
	struct answer answer;
	uint64_t before_ms = clock_boot_now().ms;
	enum result result;
	bool whole;

	result = channel_exchange(handle, &request, NULL, &answer, deadline,
	    &whole);
	if (result != OK) {
		return (enum result)lane_fail(lane, result,
		    "saying hello: %s", result_text(result));
	}
	if (answer.status != OK) {
		result = (enum result)lane_fail(lane, answer.status, "%.*s",
		    (int)answer.length, (const char *)answer.body);
	} else {
		result = map_pool(handle, lane, &answer, before_ms);
		if (result == OK) {
			result = attach_claim(handle,
			    wire_get_u64(answer.body + 40),
			    wire_get_u64(answer.body + 48), deadline);
			if (result != OK) {
				(void)lane_fail(lane, result, "claiming what "
				    "was held: %s", result_text(result));
			}
		}
	}
	if (answer.fd >= 0) {
		(void)close(answer.fd);
	}
	if (result != OK) {
		channel_drop(handle);
	}
	return result;
}

static enum result
connect_socket(struct weir *handle, struct lane *lane,
    struct deadline deadline)
{
	char room[SOCKET_PATH_BYTES];
	const char *path = handle->socket_path;
	enum result result;

	if (path == NULL) {
		path = socket_path_default(room);
	}
	result = wire_connect(&handle->channel.wire, path, deadline);
	if (result == SYSTEM) {
		int error = errno;

		(void)lane_fail(lane, result, "connecting to %s: error %d",
		    path, error);
		errno = error;
	} else if (result != OK) {
		(void)lane_fail(lane, result, "connecting to %s: %s", path,
		    result_text(result));
	}
	return result;
}

/* Under the lock, not connected. */
static enum result
try_attach(struct weir *handle, struct lane *lane, struct deadline deadline)
{
	struct attach_state *state = &handle->attach;
	enum result result = connect_socket(handle, lane, deadline);
	int error;

	if (result == OK) {
		result = say_hello(handle, lane, deadline);
	}
	error = errno;
	state->last_result = result;
	/* Relaxed: a hint for what a miss says. */
	atomic_store_explicit(&handle->absent, result != OK,
	    memory_order_relaxed);
	if (result == OK) {
		state->backoff_ms = 0;
		state->retry_at_ms = 0;
	} else {
		state->backoff_ms = state->backoff_ms == 0 ? BACKOFF_MIN_MS :
		    state->backoff_ms * 2;
		if (state->backoff_ms > BACKOFF_MAX_MS) {
			state->backoff_ms = BACKOFF_MAX_MS;
		}
		state->retry_at_ms = clock_boot_now().ms +
		    prng_small_jitter(&handle->jitter, state->backoff_ms);
	}
	errno = error;
	return result;
}

enum result
attach_ensure(struct weir *handle, struct lane *lane,
    struct deadline deadline)
{
	if (handle->channel.wire.fd >= 0) {
		return OK;
	}
	return try_attach(handle, lane, deadline);
}

void
attach_retry(struct weir *handle, struct lane *lane)
{
	uint32_t timeout_ms = handle->timeout_ms < RETRY_TIMEOUT_MS ?
	    handle->timeout_ms : RETRY_TIMEOUT_MS;

	if (handle->channel.wire.fd < 0 &&
	    clock_boot_now().ms >= handle->attach.retry_at_ms) {
		(void)try_attach(handle, lane, deadline_after(timeout_ms));
	}
}

const struct pool *
attach_pool(const struct weir *handle)
{
	/* Relaxed: only holders of the lock store it, and this is one. */
	return &atomic_load_explicit(&handle->current,
	    memory_order_relaxed)->pool;
}

int
attach_for_read(struct weir *handle, struct lane *lane)
{
	struct deadline deadline = deadline_after(handle->timeout_ms);
	int result = channel_lock(handle, deadline);

	if (result != OK) {
		return lane_fail(lane, result, "other threads attach: %s",
		    result_text((enum result)result));
	}
	/* Relaxed: as in publish(). */
	if (atomic_load_explicit(&handle->current,
	    memory_order_relaxed) == NULL) {
		if (clock_boot_now().ms < handle->attach.retry_at_ms) {
			result = lane_fail(lane, handle->attach.last_result,
			    "not attached, as of the last try: %s",
			    result_text((enum result)
			    handle->attach.last_result));
		} else {
			result = try_attach(handle, lane, deadline);
		}
	}
	channel_unlock(handle);
	return result;
}

void
attach_look(struct weir *handle, struct lane *lane)
{
	uint64_t now_ms = lane->clock.boot.ms;
	/* Relaxed: it spaces looks out, and orders nothing. */
	uint64_t next = atomic_load_explicit(&handle->next_look_ms,
	    memory_order_relaxed);

	if (now_ms < next || !atomic_compare_exchange_strong_explicit(
	    &handle->next_look_ms, &next, now_ms + LOOK_EVERY_MS,
	    memory_order_relaxed, memory_order_relaxed) ||
	    !channel_try_lock(handle)) {
		return;
	}
	if (handle->channel.wire.fd >= 0 && channel_receive(handle) != OK) {
		channel_drop(handle);
	}
	attach_retry(handle, lane);
	channel_leave_own(handle);
}

void
attach_close(struct weir *handle)
{
	/* Relaxed: no other thread uses the handle. */
	struct attachment *a = atomic_load_explicit(&handle->current,
	    memory_order_relaxed);
	struct attachment *next;

	holds_free(&handle->attach.holds);
	if (a != NULL) {
		destroy(a);
	}
	for (a = handle->attach.retired; a != NULL; a = next) {
		next = a->next_retired;
		destroy(a);
	}
}
