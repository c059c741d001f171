/* SPDX-License-Identifier: ISC */

/*
 * Sending: a blocking call, and a started one, and done of the latter.
 */
#include "channel.h"

#include "attach.h"
#include "handle.h"
#include "lane.h"
#include "late_end.h"
#include "pending.h"

#include <stdlib.h>
#include <string.h>

/* The first connection may be one that its worker left long ago. */
#define CALL_TRIES	2

/* Send all parts, after the queue, and take answers meanwhile. */
static enum result
send_whole(struct weir *handle, struct iovec *parts, int count,
    struct deadline deadline)
{
	struct wire *wire = &handle->channel.wire;

	for (;;) {
		enum result result = wire_flush(wire);

		if (result == OK) {
			result = wire_send(wire, parts, count);
		}
		if (result != BUSY) {
			return result;
		}
		/* A peer that waits for us to read does not read. */
		result = channel_receive(handle);
		if (result == OK) {
			result = wire_wait(wire, true, deadline);
		}
		if (result != OK) {
			return result;
		}
	}
}

enum result
channel_send(struct weir *handle, const struct request *request,
    const struct pool *pool, struct pending *pending,
    struct deadline deadline)
{
	struct channel *channel = &handle->channel;
	struct answer *answer = pending->answer;
	struct encoded encoded;
	enum result result;

	answer->arrived = false;
	answer->length = 0;
	answer->fd = -1;
	pending->id = ++channel->last_id;
	request_encode(request, pool, &encoded);
	request_address(request, pending->id, ring_out_tail(handle),
	    &encoded);
	pending_append(&channel->waiting, pending);
	result = send_whole(handle, encoded.part, 3, deadline);
	if (result == CLOSED) {
		/* It may have said why before it hung up. */
		(void)channel_receive(handle);
	}
	return result;
}

enum result
channel_exchange(struct weir *handle, const struct request *request,
    const struct pool *pool, struct answer *answer, struct deadline deadline,
    bool *whole)
{
	struct pending pending = { .type = request->type, .answer = answer };
	enum result result = channel_send(handle, request, pool, &pending,
	    deadline);

	*whole = result == OK;
	if (result == OK) {
		result = channel_wait(handle, &answer->arrived, deadline);
	}
	if (result != OK) {
		bool said = answer->arrived;

		/* Here, as pending lies on this stack. */
		channel_drop(handle);
		if (said) {
			return OK;
		}
	}
	return result;
}

enum result
channel_ask_ring(struct weir *handle)
{
	static const struct request request = { .type = FRAME_RING };
	struct channel *channel = &handle->channel;
	struct encoded encoded;
	enum result result;

	request_encode(&request, NULL, &encoded);
	request_address(&request, ++channel->last_id, 0, &encoded);
	result = wire_queue(&channel->wire, encoded.part, 1);
	if (result != OK) {
		return result;
	}
	ring_out_asked(handle, channel->last_id);
	result = wire_flush(&channel->wire);
	return result == BUSY ? OK : result;
}

static struct wire_hold
what_ends(const struct request *request)
{
	return (struct wire_hold){ request->end.permit, request->end.token };
}

/* Answered or not: its caller does not repeat it. */
static void
end_given(struct weir *handle, const struct request *request, bool answered)
{
	struct wire_hold given = what_ends(request);

	if (!channel_type_ends(request->type)) {
		return;
	}
	if (answered) {
		holds_ended(&handle->attach.holds, &given);
	} else {
		holds_given_up(&handle->attach.holds, &given);
	}
}

/* Under the lock. */
static enum result
call_connected(struct weir *handle, struct lane *lane,
    const struct request *request, struct answer *answer,
    struct deadline deadline)
{
	enum result result = CLOSED;

	for (int tries = 0; tries < CALL_TRIES; tries++) {
		const struct pool *pool;
		bool whole;

		result = attach_ensure(handle, lane, deadline);
		if (result != OK) {
			end_given(handle, request, false);
			return result;
		}
		pool = attach_pool(handle);
		result = request_check(request, pool);
		if (result != OK) {
			return (enum result)lane_fail(lane, result, "%s",
			    result_text(result));
		}
		result = channel_exchange(handle, request, pool, answer,
		    deadline, &whole);
		/* An end done twice is done once: it has a token. */
		if (result != CLOSED || (whole &&
		    !channel_type_ends(request->type))) {
			break;
		}
	}
	end_given(handle, request, result == OK);
	if (result != OK) {
		return (enum result)lane_fail(lane, result,
		    "waiting for the daemon: %s", result_text(result));
	}
	return OK;
}

int
channel_call(struct weir *handle, struct lane *lane,
    const struct request *request, struct answer *answer)
{
	struct deadline deadline = deadline_after(handle->timeout_ms);
	enum result result;

	if (handle->disabled) {
		return lane_fail(lane, NO_SERVER, "WEIR_DISABLE is set");
	}
	result = request_check(request, NULL);
	if (result != OK) {
		return lane_fail(lane, result, "%s", result_text(result));
	}
	result = channel_lock(handle, deadline);
	if (result != OK) {
		late_end_leave(handle, request);
		return lane_fail(lane, result, "other threads use the "
		    "connection: %s", result_text(result));
	}
	result = call_connected(handle, lane, request, answer, deadline);
	channel_leave(handle);
	if (result != OK) {
		return result;
	}
	if (answer->status < 0) {
		return lane_fail(lane, answer->status, "%.*s",
		    (int)answer->length, (const char *)answer->body);
	}
	return answer->status;
}

enum result
channel_start_pending(struct weir *handle, const struct request *request,
    struct pending *pending)
{
	struct channel *channel = &handle->channel;
	const struct pool *pool = attach_pool(handle);
	struct encoded encoded;
	enum result result = request_check(request, pool);

	if (result != OK) {
		return result;
	}
	pending->id = ++channel->last_id;
	request_encode(request, pool, &encoded);
	request_address(request, pending->id, ring_out_tail(handle),
	    &encoded);
	result = wire_queue(&channel->wire, encoded.part, 3);
	if (result != OK) {
		return result;
	}
	pending_append(&channel->waiting, pending);
	if (channel_type_ends(request->type)) {
		pending->ends = what_ends(request);
		holds_ending(&handle->attach.holds, &pending->ends,
		    pending->id);
	}
	if (wire_flush(&channel->wire) == CLOSED) {
		/* It is finished now, and the next step says so. */
		channel_drop(handle);
	}
	return OK;
}

/* Under the lock.  What cannot be sent goes with the channel. */
static void
send_queued(struct weir *handle, struct deadline deadline)
{
	if (handle->channel.wire.fd >= 0 &&
	    send_whole(handle, NULL, 0, deadline) != OK) {
		channel_drop(handle);
	}
}

/* pending is the channel's, or freed. */
static int
start_pending(struct weir *handle, struct lane *lane,
    const struct request *request, struct pending *pending, bool wait_sent)
{
	struct deadline deadline = deadline_after(handle->timeout_ms);
	enum result result = channel_lock(handle, deadline);

	if (result == OK) {
		if (wire_queued_bytes(&handle->channel.wire) >=
		    WIRE_QUEUE_FULL_BYTES) {
			result = BUSY;
		} else {
			result = attach_ensure(handle, lane, deadline);
		}
		if (result == OK) {
			result = channel_start_pending(handle, request,
			    pending);
		}
		if (result == OK && wait_sent &&
		    wire_queued_bytes(&handle->channel.wire) > 0) {
			send_queued(handle, deadline);
			channel_leave(handle);
		} else {
			channel_unlock(handle);
		}
	}
	if (result != OK) {
		free(pending);
		if (result == BUSY || result == TOO_LARGE) {
			(void)lane_fail(lane, result, "%s",
			    result_text(result));
		}
	}
	return result;
}

/* NULL: *result says why. */
static struct pending *
make_pending(struct weir *handle, struct lane *lane,
    const struct request *request, weir_done_fn done, void *arg, int *result)
{
	struct pending *pending;

	if (handle->disabled) {
		*result = lane_fail(lane, NO_SERVER, "WEIR_DISABLE is set");
		return NULL;
	}
	*result = done == NULL ? INVALID : (int)request_check(request, NULL);
	if (*result != OK) {
		(void)lane_fail(lane, *result, "%s",
		    result_text((enum result)*result));
		return NULL;
	}
	pending = calloc(1, sizeof(*pending));
	if (pending == NULL) {
		*result = lane_fail(lane, NO_MEMORY, "for a request");
		return NULL;
	}
	pending->type = request->type;
	pending->done = done;
	pending->arg = arg;
	return pending;
}

int
channel_start(struct weir *handle, struct lane *lane,
    const struct request *request, weir_done_fn done, void *arg)
{
	return channel_start_taken(handle, lane, request, NULL, NULL, done,
	    arg);
}

int
channel_start_own(struct weir *handle, struct lane *lane,
    const struct request *request, bool wait_sent, weir_done_fn done,
    void *arg)
{
	int result;
	struct pending *pending = make_pending(handle, lane, request, done,
	    arg, &result);

	if (pending == NULL) {
		return result;
	}
	pending->own = true;
	return start_pending(handle, lane, request, pending, wait_sent);
}

int
channel_start_taken(struct weir *handle, struct lane *lane,
    const struct request *request,
    bool (*take)(void *taker, const struct answer *answer), void *taker,
    weir_done_fn done, void *arg)
{
	int result;
	struct pending *pending = make_pending(handle, lane, request, done,
	    arg, &result);

	if (pending == NULL) {
		return result;
	}
	pending->take = take;
	pending->taker = taker;
	return start_pending(handle, lane, request, pending, false);
}

/* Unlocked meanwhile; in no queue any more. */
static void
call_done(struct weir *handle, struct pending *pending)
{
	channel_unlock(handle);
	pending->done(pending->arg, pending->result, pending->number);
	(void)pthread_mutex_lock(&handle->lock);
	if (channel_type_ends(pending->type)) {
		/* Unless done() sent it again. */
		holds_not_ended(&handle->attach.holds, &pending->ends,
		    pending->id);
	}
	free(pending);
}

void
channel_leave(struct weir *handle)
{
	struct pending *pending;

	while ((pending = pending_take_first(&handle->channel.finished)) !=
	    NULL) {
		call_done(handle, pending);
	}
	channel_unlock(handle);
}

void
channel_leave_own(struct weir *handle)
{
	struct pending *pending;

	while (handle->channel.wire.fd >= 0 &&
	    (pending = pending_find_own(&handle->channel.finished)) != NULL) {
		pending_remove(&handle->channel.finished, pending);
		call_done(handle, pending);
	}
	channel_unlock(handle);
}
