/* SPDX-License-Identifier: ISC */

/*
 * A stack, taken whole.
 */
#include "late_end.h"

#include "attach.h"
#include "handle.h"
#include "shm_fence.h"

#include <stdlib.h>
#include <string.h>

struct late_end {
	struct late_end	*next;
	struct weir	*handle;
	struct request	request;
	uint8_t		key[];
};

/* e1 to e3. */
static void
push(struct late_end *late)
{
	struct weir *handle = late->handle;
	_Atomic(struct late_end *) *top = &handle->channel.late;

	/* Relaxed: compared below. */
	late->next = atomic_load_explicit(top, memory_order_relaxed);
	/* Release, partner: late_end_send(). */
	while (!atomic_compare_exchange_weak_explicit(top, &late->next, late,
	    memory_order_release, memory_order_relaxed)) {
		continue;
	}
	/* Partner: channel_unlock(). */
	shm_fence_seq_cst();
	if (channel_try_lock(handle)) {
		channel_unlock(handle);
	}
}

void
late_end_leave(struct weir *handle, const struct request *request)
{
	struct late_end *late;

	if (!channel_type_ends(request->type)) {
		return;
	}
	late = malloc(sizeof(*late) + request->key_length);
	if (late == NULL) {
		return;
	}
	late->handle = handle;
	late->request = (struct request){
		.type = request->type == FRAME_FILL ? FRAME_UNCACHEABLE :
		    request->type,
		.key_length = request->key_length,
		.end = request->end,
	};
	if (request->key_length > 0) {
		memcpy(late->key, request->key, request->key_length);
		late->request.key = late->key;
	}
	push(late);
}

/* A claim that came before this keeps what is to end: it is sent again. */
static void
was_answered(void *arg, int result, uint64_t number)
{
	struct late_end *late = arg;

	(void)number;
	if (result == CLOSED) {
		push(late);
	} else {
		free(late);
	}
}

static bool
send_one(struct weir *handle, struct late_end *late)
{
	struct pending *pending = handle->channel.wire.fd < 0 ? NULL :
	    calloc(1, sizeof(*pending));

	if (pending == NULL) {
		return false;
	}
	pending->type = late->request.type;
	pending->done = was_answered;
	pending->arg = late;
	pending->own = true;
	if (channel_start_pending(handle, &late->request, pending) != OK) {
		free(pending);
		return false;
	}
	return true;
}

void
late_end_send(struct weir *handle)
{
	_Atomic(struct late_end *) *top = &handle->channel.late;
	struct late_end *late, *next;

	/* Relaxed: one that is not seen here is seen after the unlock. */
	if (atomic_load_explicit(top, memory_order_relaxed) == NULL) {
		return;
	}
	/* Acquire, partner: push(). */
	for (late = atomic_exchange_explicit(top, NULL,
	    memory_order_acquire); late != NULL; late = next) {
		const struct wire_hold given = {
			late->request.end.permit, late->request.end.token,
		};

		next = late->next;
		if (!send_one(handle, late)) {
			holds_given_up(&handle->attach.holds, &given);
			free(late);
		}
	}
}
