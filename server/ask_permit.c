/* SPDX-License-Identifier: ISC */

/*
 * An ask and its origin: the permit, the place, the refusal.
 */
#include "ask.h"

#include "limiter.h"
#include "origin_log.h"
#include "waiters.h"
#include "worker.h"

/*
 * A refusal that every other caller would meet as well.  Who waited for less
 * time than the origin lets wait was impatient: others may not be.
 */
static bool
is_of_origin(const struct ask *ask)
{
	enum limiter_refusal refusal = ask->ticket.refusal;

	return refusal == LIMITER_QUEUE_FULL ||
	    refusal == LIMITER_PARTITION_QUEUE_FULL ||
	    (refusal == LIMITER_QUEUE_TIMEOUT &&
	    ask->ticket.deadline_ms < ask->deadline_ms);
}

static void
refused(struct ask *ask, enum origin_answer why)
{
	struct flight_ending ending = {
		.outcome = why == ORIGIN_OPEN ? FLIGHT_OPEN : FLIGHT_SHED,
		.code = (int32_t)ask->ticket.refusal,
		.retry_after_ms = (uint32_t)ask->ticket.retry_after_ms,
	};
	uint32_t reason = (uint32_t)ask->ticket.refusal;

	ask_stop_leading(ask, why == ORIGIN_OPEN ||
	    is_of_origin(ask) ? &ending : NULL);
	ask_answer_refusal(ask, why == ORIGIN_OPEN ? CIRCUIT_OPEN : SHED,
	    reason, 0, ask->ticket.retry_after_ms);
}

static void
timer_happened(void *arg)
{
	struct ask *ask = arg;
	struct worker *worker = ask->conn->worker;

	if (ask->state == ASK_PLACE) {
		ask_collect_place(ask);
	} else {
		waiters_remove(worker, ask);
		ask_answer_refusal(ask, TIMEOUT, 0, 0, 0);
	}
	wake_send(&worker->wake);
}

void
ask_wait_until(struct ask *ask, uint64_t until_ms, struct boot_ms now)
{
	uint64_t left_ms = ask_left_ms(until_ms, now);

	ask->in_frame = false;
	/* One more: the clock of the loop may be a little behind. */
	event_timer_start(ask->conn->worker->loop, &ask->timer, (uint32_t)
	    (left_ms < UINT32_MAX ? left_ms : UINT32_MAX - 1) + 1, 0,
	    timer_happened, ask);
}

static void
go_on_with(struct ask *ask, enum origin_answer answer, struct boot_ms now)
{
	origin_log_events(ask->origin, ask->ticket.events, now);
	switch (answer) {
	case ORIGIN_GRANTED:
		ask_answer_granted(ask, now);
		break;
	case ORIGIN_WAIT:
		ask->state = ASK_PLACE;
		waiters_queue(ask->conn->worker, ask);
		ask_wait_until(ask, ask->ticket.deadline_ms, now);
		break;
	case ORIGIN_SHED:
	case ORIGIN_OPEN:
		refused(ask, answer);
		break;
	default:
		ask_stop_leading(ask, NULL);
		ask_refuse_text(ask, BUSY, "the origin's record is locked");
		break;
	}
}

void
ask_permit(struct ask *ask)
{
	struct lease_session *session = ask_session(ask);
	struct worker *worker = ask->conn->worker;
	struct boot_ms now = clock_boot_now();
	bool no_wait = (ask->want.flags & WIRE_NO_WAIT) != 0;
	bool full = !no_wait && session->waits >= ASK_WAITS_MAX;
	enum origin_answer answer;
	struct origin_request request = {
		.owner = session->holder,
		.worker = limiter_worker(worker->heritage->process,
		    worker->heritage->incarnation),
		.client = session->holder,
		.partition = ask->want.partition,
		.host = ask->want.host,
		.class = (ask->want.flags & WIRE_BACKGROUND) != 0 ?
		    LIMITER_BACKGROUND : LIMITER_FOREGROUND,
		.upload = (ask->want.flags & WIRE_UPLOAD) != 0,
		.marked = ask->alone || (ask->want.flags & WIRE_MARKED) != 0,
		.wait_ms = no_wait || full ? 0 :
		    (uint32_t)ask_left_ms(ask->deadline_ms, now),
		.hits = ask->counted ? 0 : ask->want.hits,
		/* Permits, and calls of uncacheable keys, are no misses. */
		.counts_as_miss = ask->leads && !ask->counted,
	};

	if (ask->origin == NULL) {
		ask_answer_granted(ask, now);
		return;
	}
	session->origins_used |= 1ull << (ask->origin->index & 63);
	answer = origin_acquire(ask->origin, &request, jitter_random(), now,
	    &ask->ticket);
	ask->counted = ask->counted || answer != ORIGIN_LOCKED;
	if (full && answer == ORIGIN_SHED &&
	    ask->ticket.refusal == LIMITER_NO_WAIT) {
		origin_log_events(ask->origin, ask->ticket.events, now);
		ask_stop_leading(ask, NULL);
		ask_refuse_text(ask, BUSY,
		    "the connection waits as often as it may");
		return;
	}
	go_on_with(ask, answer, now);
}

/* The lease's time begins with the permit. */
static bool
restart_lease(struct ask *ask, struct boot_ms now)
{
	if (!ask->leads) {
		return true;
	}
	if (lease_restart(ask->conn->session->pool, &ask->key,
	    ask->lease.ticket.token, ask_session(ask)->holder,
	    ask->want.lease_ms, now) == LEASE_LOST) {
		ask->leads = false;
		return false;
	}
	ask->lease.ticket.until_ms = now.ms + ask->want.lease_ms;
	return true;
}

void
ask_collect_place(struct ask *ask)
{
	struct boot_ms now = clock_boot_now();
	struct origin_ticket ticket = ask->ticket;
	enum origin_answer answer = origin_collect(ask->origin, &ticket,
	    ask_session(ask)->holder, jitter_random(), now);

	if (answer == ORIGIN_WAIT || answer == ORIGIN_LOCKED) {
		/* It stays where it is, and is looked at again. */
		origin_log_events(ask->origin, ticket.events, now);
		ask_wait_until(ask, answer == ORIGIN_WAIT ?
		    ask->ticket.deadline_ms : now.ms + 10, now);
		return;
	}
	waiters_remove(ask->conn->worker, ask);
	ask->ticket = ticket;
	if (answer == ORIGIN_LOST) {
		ask_permit(ask);
		return;
	}
	if (answer == ORIGIN_GRANTED && !restart_lease(ask, now)) {
		(void)origin_cancel(ask->origin, &ask->ticket,
		    ask_session(ask)->holder, jitter_random(), now);
		ask_again(ask);
		return;
	}
	go_on_with(ask, answer, now);
}
