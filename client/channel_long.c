/* SPDX-License-Identifier: ISC */

/*
 * Waiting for an answer that may take long, while other threads use the
 * channel.
 *
 *	waiter, holds the lock			who takes the answer, holds it
 *	l1 ANSWERED: done			a1 turn = ANSWERED
 *	l2 nobody polls: be the poller,		a2 it is the poller's: ring
 *	   unlock, poll socket and bell,	   the bell; else wake it at
 *	   lock, be it no more, receive; l1	   the unlock
 *	l3 somebody polls: unlock, sleep
 *	   until ANSWERED: done, without the	who passes the poll, holds it
 *	   lock; or until POLLS: lock, turn =	p1 turn of another = POLLS
 *	   WAITS; l1				p2 wake it at the unlock
 *	l4 done with the lock, and nobody
 *	   polls: p1
 *
 * A short call of another thread may take the poller's answer off the socket:
 * the bell ends its poll.  A poller that leaves wakes one other, who polls on
 * (l4): there is one who polls, or one who is to, as long as anybody waits.
 * The descriptor that is polled may be closed meanwhile: that is
 * channel_drop(), which rouses all.
 *
 * Who was woken by its answer needs no lock any more: two hundred that are
 * answered together do not queue for it, and one system call wakes all of
 * them.  Its turn is the last that is touched of it (eventcount.h).
 */
#include "channel.h"

#include "attach.h"
#include "clock.h"
#include "handle.h"
#include "lane.h"
#include "pending.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Each new connection of one call is another daemon's, or worker's. */
#define LONG_TRIES	16

/* One call: what it waits for, and whether it holds the lock. */
struct long_wait {
	struct weir	*handle;
	struct pending	pending;
	struct deadline	deadline;
	bool		locked;
};

/* Under the lock; read without it, partner: sleep_for_turn(). */
static void
set_turn(struct pending *pending, enum turn turn)
{
	atomic_store_explicit(&pending->turn, turn, memory_order_release);
}

/* Under the lock.  Relaxed: only holders of the lock change it. */
static uint32_t
turn_of(const struct pending *pending)
{
	return atomic_load_explicit(&pending->turn, memory_order_relaxed);
}

/* l4: somebody has to poll for those who are left. */
static void
pass_turn(struct channel *channel)
{
	struct pending *pending = channel->waiting.first;

	while (pending != NULL && turn_of(pending) == TURN_NONE) {
		pending = pending->next;
	}
	if (pending != NULL && channel->poller == NULL) {
		channel->due |= eventcount_bit(pending->id);
		set_turn(pending, TURN_POLLS);
	}
}

/* a1, a2.  It is in no queue any more. */
void
channel_rouse(struct channel *channel, struct pending *pending)
{
	static const uint64_t one = 1;
	bool polls = channel->poller == pending;
	bool passed;

	if (!polls && turn_of(pending) != TURN_WAITS) {
		channel->due |= eventcount_bit(pending->id);
	}
	/* It was to poll, and will not take the lock for that any more. */
	passed = turn_of(pending) == TURN_POLLS;
	set_turn(pending, TURN_ANSWERED);
	if (passed) {
		pass_turn(channel);
	}
	if (polls && write(channel->bell, &one, sizeof(one)) < 0) {
		/* Full: it rings already. */
		return;
	}
}

static bool
make_bell(struct channel *channel)
{
	if (channel->bell < 0) {
		channel->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	}
	return channel->bell >= 0;
}

/* l2. */
static void
poll_unlocked(struct long_wait *wait)
{
	struct channel *channel = &wait->handle->channel;
	bool queued = wire_queued_bytes(&channel->wire) > 0;
	struct pollfd watched[2] = {
		{ .fd = channel->wire.fd,
		    .events = (short)(POLLIN | (queued ? POLLOUT : 0)) },
		{ .fd = channel->bell, .events = POLLIN },
	};
	uint64_t left_ns = deadline_left_ns(wait->deadline);
	struct timespec left = {
		.tv_sec = (time_t)(left_ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(left_ns % CLOCK_NS_PER_S),
	};
	uint64_t rings;

	channel->poller = &wait->pending;
	channel_unlock(wait->handle);
	(void)ppoll(watched, 2, &left, NULL);
	(void)pthread_mutex_lock(&wait->handle->lock);
	channel->poller = NULL;
	if ((watched[1].revents & POLLIN) != 0 &&
	    read(channel->bell, &rings, sizeof(rings)) < 0) {
		/* Another has read it: then there is nothing to miss. */
		return;
	}
}

/* l3.  Comes back with the lock, or with the answer. */
static void
sleep_for_turn(struct long_wait *wait)
{
	struct eventcount *turns = &wait->handle->channel.turns;
	enum turn turn;

	set_turn(&wait->pending, TURN_SLEEPS);
	channel_unlock(wait->handle);
	for (;;) {
		uint32_t epoch = eventcount_epoch(turns);

		/* Acquire, partner: set_turn(); the answer comes with it. */
		turn = atomic_load_explicit(&wait->pending.turn,
		    memory_order_acquire);
		if (turn != TURN_SLEEPS || deadline_is_over(wait->deadline)) {
			break;
		}
		eventcount_sleep(turns, epoch,
		    eventcount_bit(wait->pending.id), wait->deadline.ns);
	}
	wait->locked = turn != TURN_ANSWERED;
	if (wait->locked) {
		(void)pthread_mutex_lock(&wait->handle->lock);
		if (!wait->pending.answer->arrived) {
			set_turn(&wait->pending, TURN_WAITS);
		}
	}
}

/* Until the answer is there. */
static enum result
await(struct long_wait *wait)
{
	struct weir *handle = wait->handle;
	struct channel *channel = &handle->channel;

	while (wait->locked && !wait->pending.answer->arrived) {
		enum result result;

		if (deadline_is_over(wait->deadline)) {
			return TIMEOUT;
		}
		if (channel->finished.first != NULL) {
			/* Whoever started it may not see the socket ready. */
			channel_leave(handle);
			(void)pthread_mutex_lock(&handle->lock);
			continue;
		}
		if (channel->poller != NULL) {
			sleep_for_turn(wait);
			continue;
		}
		poll_unlocked(wait);
		if (wait->pending.answer->arrived || channel->wire.fd < 0) {
			continue;
		}
		result = wire_flush(&channel->wire);
		if (result == OK || result == BUSY) {
			result = channel_receive(handle);
		}
		if (result != OK) {
			channel_drop(handle);
		}
	}
	return OK;
}

/* Nobody waits for it: the daemon takes back what it gave. */
static void
give_up(struct weir *handle, uint64_t id)
{
	struct request request = {
		.type = FRAME_ABANDON,
		.number = { id },
	};
	struct channel *channel = &handle->channel;
	struct encoded encoded;
	enum result result;

	/* Until it says so, it may have given something. */
	handle->attach.holds.lost = true;
	request_encode(&request, NULL, &encoded);
	request_address(&request, ++channel->last_id, 0, &encoded);
	result = wire_queue(&channel->wire, encoded.part, 1);
	if (result == OK) {
		result = wire_flush(&channel->wire);
	}
	if (result != OK && result != BUSY) {
		channel_drop(handle);
	}
}

/* One try on one connection, under the lock.  CLOSED: on another, perhaps. */
static enum result
exchange_locked(struct long_wait *wait, const struct request *request)
{
	struct weir *handle = wait->handle;
	struct channel *channel = &handle->channel;
	enum result result = channel_send(handle, request,
	    attach_pool(handle), &wait->pending, wait->deadline);

	if (result != OK) {
		bool said = wait->pending.answer->arrived;

		/* Here, as pending lies on the stack. */
		channel_drop(handle);
		return said ? OK : result;
	}
	result = await(wait);
	if (!wait->locked) {
		return OK;
	}
	if (result != OK) {
		/* Not the channel's fault: others go on with it. */
		pending_remove(&channel->waiting, &wait->pending);
		give_up(handle, wait->pending.id);
	}
	pass_turn(channel);
	return result;
}

static enum result
exchange_long(struct long_wait *wait, const struct request *request)
{
	enum result result = make_bell(&wait->handle->channel) ? OK : SYSTEM;

	if (result != OK) {
		return result;
	}
	set_turn(&wait->pending, TURN_WAITS);
	result = exchange_locked(wait, request);
	if (result != OK) {
		return result;
	}
	return wait->pending.answer->status == CLOSED ? CLOSED : OK;
}

/* As often as the connection is lost. */
static enum result
call_until(struct long_wait *wait, struct lane *lane,
    const struct request *request)
{
	struct weir *handle = wait->handle;
	enum result result = CLOSED;

	for (int tries = 0; tries < LONG_TRIES && result == CLOSED; tries++) {
		struct deadline connecting =
		    deadline_after(handle->timeout_ms);

		if (!wait->locked) {
			result = channel_lock(handle, wait->deadline);
			wait->locked = result == OK;
		} else {
			result = OK;
		}
		if (result == OK) {
			result = attach_ensure(handle, lane, connecting);
		}
		if (result != OK) {
			break;
		}
		result = exchange_long(wait, request);
	}
	return result;
}

int
channel_call_long(struct weir *handle, struct lane *lane,
    const struct request *request, struct answer *answer,
    struct deadline deadline)
{
	struct long_wait wait = {
		.handle = handle,
		.deadline = deadline,
		.pending = {
			.type = request->type,
			.answer = answer,
		},
	};
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
	wait.locked = true;
	result = call_until(&wait, lane, request);
	if (wait.locked) {
		channel_leave(handle);
	}
	return result == OK ? OK : lane_fail(lane, result,
	    "waiting for the daemon: %s", result_text(result));
}
