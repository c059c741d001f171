/* SPDX-License-Identifier: ISC */

/*
 * Locking, receiving and dropping: what every user of the channel shares.
 * channel_call.c sends.
 */
#include "channel.h"

#include "handle.h"
#include "lane.h"
#include "late_end.h"
#include "pending.h"
#include "shm_fence.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void
channel_init(struct channel *channel)
{
	memset(channel, 0, sizeof(*channel));
	wire_init(&channel->wire);
	channel->bell = -1;
}

void
channel_forget(struct channel *channel)
{
	/* The queue and the lists may be half changed: let go of them. */
	if (channel->wire.fd >= 0) {
		(void)close(channel->wire.fd);
	}
	if (channel->wire.passed_fd >= 0) {
		(void)close(channel->wire.passed_fd);
	}
	if (channel->bell >= 0) {
		/* The parent's too: a child must not ring it. */
		(void)close(channel->bell);
	}
	channel_init(channel);
}

enum result
channel_lock(struct weir *handle, struct deadline deadline)
{
#if SHM_TSAN
	/* It knows no clocklock; no test of it lets the wait end by time. */
	(void)deadline;
	return pthread_mutex_lock(&handle->lock) == 0 ? OK : SYSTEM;
#else
	struct timespec until = {
		.tv_sec = (time_t)(deadline.ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(deadline.ns % CLOCK_NS_PER_S),
	};

	return pthread_mutex_clocklock(&handle->lock, CLOCK_MONOTONIC,
	    &until) == 0 ? OK : TIMEOUT;
#endif
}

bool
channel_try_lock(struct weir *handle)
{
	return pthread_mutex_trylock(&handle->lock) == 0;
}

static void
send_doorbell(struct weir *handle)
{
	static const struct request request = { .type = FRAME_DOORBELL };
	struct wire *wire = &handle->channel.wire;
	struct encoded encoded;
	uint64_t tail = ring_out_tail(handle);
	enum result result;

	/* What was rung for went with its connection, or there is a ring
	 * and something was pushed. */
	if (wire->fd < 0 || tail == 0) {
		return;
	}
	request_encode(&request, NULL, &encoded);
	request_address(&request, ++handle->channel.last_id, tail, &encoded);
	result = wire_queue(wire, encoded.part, 1);
	if (result == OK) {
		result = wire_flush(wire);
	}
	if (result != OK && result != BUSY) {
		channel_drop(handle);
	}
}

void
channel_unlock(struct weir *handle)
{
	struct channel *channel = &handle->channel;
	_Atomic bool *due = &channel->doorbell_due;

	for (;;) {
		uint32_t woken;

		/* Relaxed: what is rung for lies in the ring, by its lock. */
		if (atomic_exchange_explicit(due, false,
		    memory_order_relaxed)) {
			send_doorbell(handle);
		}
		late_end_send(handle);
		woken = channel->due;
		channel->due = 0;
		(void)pthread_mutex_unlock(&handle->lock);
		if (woken != 0) {
			eventcount_wake(&channel->turns, woken);
		}
		/* Partners: channel_doorbell(), late_end_leave().  One of
		 * the two sees the other: the wish, or the free lock. */
		shm_fence_seq_cst();
		if ((!atomic_load_explicit(due, memory_order_relaxed) &&
		    atomic_load_explicit(&channel->late,
		    memory_order_relaxed) == NULL) ||
		    !channel_try_lock(handle)) {
			return;
		}
	}
}

void
channel_doorbell(struct weir *handle)
{
	atomic_store_explicit(&handle->channel.doorbell_due, true,
	    memory_order_relaxed);
	/* Partner: channel_unlock(). */
	shm_fence_seq_cst();
	if (channel_try_lock(handle)) {
		channel_unlock(handle);
	}
}

static void
finish(struct weir *handle, struct pending *pending, int status,
    uint64_t number)
{
	pending->result = status;
	pending->number = number;
	pending_append(&handle->channel.finished, pending);
}

static void
rouse_if_long(struct channel *channel, struct pending *pending)
{
	/* Relaxed: only holders of the lock change it. */
	if (atomic_load_explicit(&pending->turn, memory_order_relaxed) !=
	    TURN_NONE) {
		channel_rouse(channel, pending);
	}
}

void
channel_drop(struct weir *handle)
{
	struct channel *channel = &handle->channel;
	struct pending *pending;

	wire_close(&channel->wire);
	ring_out_drop(handle);
	while ((pending = pending_take_first(&channel->waiting)) != NULL) {
		handle->attach.holds.lost |= pending->type == FRAME_LEASE ||
		    pending->type == FRAME_PERMIT;
		if (pending->answer == NULL) {
			finish(handle, pending, CLOSED, 0);
		} else if (!pending->answer->arrived) {
			pending->answer->status = CLOSED;
			pending->answer->arrived = true;
			rouse_if_long(channel, pending);
		}
	}
}

/* Is the number one that this version knows? */
static bool
status_is_known(int32_t status)
{
	switch (status) {
#define RESULT(name, value, text) case value:
#include "result.def"
#undef RESULT
		return true;
	default:
		return false;
	}
}

/* The number in the body of an OK answer; false: the body is too short. */
static bool
read_number(const struct wire *wire, enum frame_type type, uint64_t *number)
{
	*number = 0;
	if (wire->frame.status != OK || (type != FRAME_SET &&
	    type != FRAME_FILL && type != FRAME_COUNTER)) {
		return true;
	}
	if (wire->frame.length != sizeof(uint64_t)) {
		return false;
	}
	*number = wire_get_u64(wire->body);
	return true;
}

static void
give_answer(struct wire *wire, struct answer *answer)
{
	const struct frame *frame = &wire->frame;

	answer->status = frame->status;
	answer->length = frame->length < WIRE_BODY_KEPT ?
	    (uint32_t)frame->length : WIRE_BODY_KEPT;
	memcpy(answer->body, wire->body, answer->length);
	if (frame->type == FRAME_HELLO) {
		answer->fd = wire->passed_fd;
		wire->passed_fd = -1;
	}
	answer->arrived = true;
}

bool
channel_type_ends(enum frame_type type)
{
	return type == FRAME_FILL || type == FRAME_FAIL ||
	    type == FRAME_UNCACHEABLE || type == FRAME_RELEASE;
}

/* c2 and c4 of holds.h; a blocking call's end is its caller's to note. */
static void
note_answer(struct weir *handle, const struct pending *pending)
{
	const struct wire *wire = &handle->channel.wire;
	struct wire_lease_answer answer;

	if ((pending->type == FRAME_LEASE || pending->type == FRAME_PERMIT) &&
	    wire->frame.length == WIRE_LEASE_ANSWER_BYTES) {
		wire_lease_answer_decode(wire->body, &answer);
		holds_note(&handle->attach.holds, &answer,
		    clock_boot_now().ms);
	} else if (pending->answer == NULL &&
	    channel_type_ends(pending->type)) {
		holds_ended(&handle->attach.holds, &pending->ends);
	}
}

/* A whole frame came in. */
static enum result
dispatch(struct weir *handle)
{
	struct channel *channel = &handle->channel;
	struct wire *wire = &channel->wire;
	const struct frame *frame = &wire->frame;
	struct pending *pending;
	uint64_t number;

	if ((frame->flags & FRAME_ANSWER) == 0 ||
	    !status_is_known(frame->status)) {
		return CORRUPT;
	}
	if (frame->type == FRAME_RING) {
		int fd = wire->passed_fd;

		wire->passed_fd = -1;
		return ring_out_adopt(handle, frame->id, frame->status, fd,
		    wire->body, (size_t)frame->length);
	}
	pending = pending_find(&channel->waiting, frame->id);
	if (pending == NULL && (frame->type == FRAME_LEASE ||
	    frame->type == FRAME_PERMIT || frame->type == FRAME_ABANDON)) {
		/* Given up: the daemon was told to take it back. */
		return OK;
	}
	if (pending == NULL || pending->type != frame->type ||
	    !read_number(wire, pending->type, &number)) {
		return CORRUPT;
	}
	pending_remove(&channel->waiting, pending);
	note_answer(handle, pending);
	if (pending->answer != NULL) {
		give_answer(wire, pending->answer);
		rouse_if_long(channel, pending);
	} else {
		if (pending->take != NULL) {
			struct answer answer;

			give_answer(wire, &answer);
			if (!pending->take(pending->taker, &answer)) {
				finish(handle, pending, CORRUPT, 0);
				return OK;
			}
		}
		finish(handle, pending, frame->status, number);
	}
	return OK;
}

/*
 * Until there is no more, or *arrived, and then nothing is left that was read:
 * no poll would tell of it.
 */
static enum result
receive_until(struct weir *handle, const bool *arrived)
{
	struct wire *wire = &handle->channel.wire;
	enum result result = wire_receive(wire);

	while (result == OK) {
		result = dispatch(handle);
		if (result == OK) {
			/* A read that was short took all: the next poll
			 * tells of more. */
			result = *arrived || wire->in_short ?
			    wire_receive_read(wire) : wire_receive(wire);
		}
	}
	if (result != BUSY && *arrived) {
		/* What came after it made no sense. */
		channel_drop(handle);
		return OK;
	}
	return result == BUSY ? OK : result;
}

enum result
channel_receive(struct weir *handle)
{
	static const bool never = false;

	return receive_until(handle, &never);
}

enum result
channel_wait(struct weir *handle, const bool *arrived,
    struct deadline deadline)
{
	struct wire *wire = &handle->channel.wire;

	/* No look before the wait and none after the answer: each is a system
	 * call, and the daemon seldom answers while the request is sent. */
	while (!*arrived) {
		enum result result = wire_flush(wire);
		enum result waited;

		if (result != OK && result != BUSY) {
			return result;
		}
		waited = wire_wait(wire, result == BUSY, deadline);
		if (waited != OK && waited != TIMEOUT) {
			return waited;
		}
		result = receive_until(handle, arrived);
		if (result != OK) {
			return result;
		}
		if (waited == TIMEOUT && !*arrived) {
			return TIMEOUT;
		}
	}
	return OK;
}
