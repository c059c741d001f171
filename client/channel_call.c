/* SPDX-License-Identifier: ISC */

/*
 * Sending: a blocking call, and a started one.
 */
#include "channel.h"

#include "attach.h"
#include "handle.h"
#include "lane.h"
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
end_given(struct weir *handle, const struct request *request)
{
	struct wire_hold given = what_ends(request);

	if (channel_type_ends(request->type)) {
		holds_ended(&handle->attach.holds, &given);
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
			end_given(handle, request);
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
	end_given(handle, request);
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

/* Under the lock, connected. */
static enum result
start_connected(struct weir *handle, const struct request *request,
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

int
channel_start(struct weir *handle, struct lane *lane,
    const struct request *request, weir_done_fn done, void *arg)
{
	return channel_start_taken(handle, lane, request, NULL, NULL, done,
	    arg);
}

int
channel_start_taken(struct weir *handle, struct lane *lane,
    const struct request *request,
    bool (*take)(void *taker, const struct answer *answer), void *taker,
    weir_done_fn done, void *arg)
{
	struct deadline deadline = deadline_after(handle->timeout_ms);
	struct pending *pending;
	enum result result;

	if (handle->disabled) {
		return lane_fail(lane, NO_SERVER, "WEIR_DISABLE is set");
	}
	result = done == NULL ? INVALID : request_check(request, NULL);
	if (result != OK) {
		return lane_fail(lane, result, "%s", result_text(result));
	}
	pending = calloc(1, sizeof(*pending));
	if (pending == NULL) {
		return lane_fail(lane, NO_MEMORY, "for a request");
	}
	pending->type = request->type;
	pending->take = take;
	pending->taker = taker;
	pending->done = done;
	pending->arg = arg;
	result = channel_lock(handle, deadline);
	if (result == OK) {
		if (wire_queued_bytes(&handle->channel.wire) >=
		    WIRE_QUEUE_FULL_BYTES) {
			result = BUSY;
		} else {
			result = attach_ensure(handle, lane, deadline);
		}
		if (result == OK) {
			result = start_connected(handle, request, pending);
		}
		channel_unlock(handle);
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
