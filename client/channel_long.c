/* SPDX-License-Identifier: ISC */

/*
 * Waiting for an answer that may take long, while other threads use the
 * channel.
 *
 *	waiter, holds the lock			who takes the answer
 *	l1 arrived: done			a1 arrived = true
 *	l2 nobody polls: be the poller,		a2 it is the poller's: ring
 *	   unlock, poll socket and bell,	   the bell; else signal its
 *	   lock, be it no more, receive; l1	   turn (under the lock)
 *	l3 somebody polls: sleep on turn; l1
 *	l4 done, and nobody polls: signal the turn of another waiter
 *
 * A short call of another thread may take the poller's answer off the socket:
 * the bell ends its poll.  A poller that leaves wakes one other, who polls on
 * (l4).  The descriptor that is polled may be closed meanwhile: that is
 * channel_drop(), which rouses all.
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

void
channel_rouse(struct channel *channel, const struct pending *pending)
{
	static const uint64_t one = 1;

	if (channel->poller != pending) {
		(void)pthread_cond_signal(pending->turn);
	} else if (write(channel->bell, &one, sizeof(one)) < 0) {
		/* Full: it rings already. */
		return;
	}
}

/* l4: somebody has to poll for those who are left. */
static void
pass_turn(struct channel *channel)
{
	const struct pending *pending = channel->waiting.first;

	while (pending != NULL && pending->turn == NULL) {
		pending = pending->next;
	}
	if (pending != NULL && channel->poller == NULL) {
		(void)pthread_cond_signal(pending->turn);
	}
}

/* On the clock of deadlines. */
static void
make_turn(pthread_cond_t *turn)
{
	pthread_condattr_t attr;

	/* These fail on systems without a monotonic clock alone. */
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(turn, &attr);
	(void)pthread_condattr_destroy(&attr);
}

static bool
make_bell(struct channel *channel)
{
	if (channel->bell < 0) {
		channel->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	}
	return channel->bell >= 0;
}

/* l2.  OK or SYSTEM. */
static enum result
poll_unlocked(struct weir *handle, const struct pending *pending,
    struct deadline deadline)
{
	struct channel *channel = &handle->channel;
	bool queued = wire_queued_bytes(&channel->wire) > 0;
	struct pollfd watched[2] = {
		{ .fd = channel->wire.fd,
		    .events = (short)(POLLIN | (queued ? POLLOUT : 0)) },
		{ .fd = channel->bell, .events = POLLIN },
	};
	struct timespec now;
	uint64_t now_ns, left_ns;
	struct timespec left;
	uint64_t rings;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * CLOCK_NS_PER_S +
	    (uint64_t)now.tv_nsec;
	left_ns = deadline.ns > now_ns ? deadline.ns - now_ns : 0;
	left.tv_sec = (time_t)(left_ns / CLOCK_NS_PER_S);
	left.tv_nsec = (long)(left_ns % CLOCK_NS_PER_S);
	channel->poller = pending;
	channel_unlock(handle);
	(void)ppoll(watched, 2, &left, NULL);
	(void)pthread_mutex_lock(&handle->lock);
	channel->poller = NULL;
	if ((watched[1].revents & POLLIN) != 0 &&
	    read(channel->bell, &rings, sizeof(rings)) < 0) {
		/* Another has read it: then there is nothing to miss. */
		return OK;
	}
	return OK;
}

static void
sleep_for_turn(struct weir *handle, const struct pending *pending,
    struct deadline deadline)
{
	struct timespec until = {
		.tv_sec = (time_t)(deadline.ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(deadline.ns % CLOCK_NS_PER_S),
	};

	(void)pthread_cond_timedwait(pending->turn, &handle->lock, &until);
}

/* Under the lock, until the answer is there. */
static enum result
await(struct weir *handle, const struct pending *pending,
    struct deadline deadline)
{
	struct channel *channel = &handle->channel;
	const bool *arrived = &pending->answer->arrived;

	while (!*arrived) {
		enum result result;

		if (deadline_is_over(deadline)) {
			return TIMEOUT;
		}
		if (channel->poller != NULL) {
			sleep_for_turn(handle, pending, deadline);
			continue;
		}
		(void)poll_unlocked(handle, pending, deadline);
		if (*arrived || channel->wire.fd < 0) {
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

/* One try on one connection.  CLOSED: on another one, perhaps. */
static enum result
exchange_long(struct weir *handle, const struct request *request,
    struct answer *answer, struct deadline deadline)
{
	struct channel *channel = &handle->channel;
	pthread_cond_t turn;
	struct pending pending = {
		.type = request->type,
		.answer = answer,
		.turn = &turn,
	};
	enum result result = make_bell(channel) ? OK : SYSTEM;

	if (result != OK) {
		return result;
	}
	make_turn(&turn);
	result = channel_send(handle, request, attach_pool(handle), &pending,
	    deadline);
	if (result != OK) {
		bool said = answer->arrived;

		/* Here, as pending lies on this stack. */
		channel_drop(handle);
		(void)pthread_cond_destroy(&turn);
		return said ? OK : result;
	}
	result = await(handle, &pending, deadline);
	if (result != OK) {
		/* Not the channel's fault: others go on with it. */
		pending_remove(&channel->waiting, &pending);
		give_up(handle, pending.id);
	}
	pass_turn(channel);
	(void)pthread_cond_destroy(&turn);
	if (result != OK) {
		return result;
	}
	return answer->status == CLOSED ? CLOSED : OK;
}

int
channel_call_long(struct weir *handle, struct lane *lane,
    const struct request *request, struct answer *answer,
    struct deadline deadline)
{
	struct deadline connecting = deadline_after(handle->timeout_ms);
	struct request again;
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
	for (int tries = 0; tries < LONG_TRIES; tries++) {
		result = attach_ensure(handle, lane, connecting);
		if (result != OK) {
			break;
		}
		result = exchange_long(handle, request, answer, deadline);
		if (result != CLOSED) {
			break;
		}
		connecting = deadline_after(handle->timeout_ms);
		/* What the lost one led is claimed: it is no deadlock. */
		again = *request;
		again.lease.thread = 0;
		request = &again;
	}
	channel_unlock(handle);
	channel_run_finished(handle);
	return result == OK ? OK : lane_fail(lane, result,
	    "waiting for the daemon: %s", result_text(result));
}
