/* SPDX-License-Identifier: ISC */

/*
 * The end of an ask: what goes out, and what is remembered of it.
 */
#include "ask.h"

#include <stdlib.h>

#include "worker.h"

void
ask_free(struct ask *ask)
{
	event_timer_stop(ask->conn->worker->loop, &ask->timer);
	LIST_REMOVE(ask, of_connection);
	free(ask);
}

static bool
was_granted(enum result status, const struct wire_lease_answer *answer)
{
	return status == LEAD || answer->permit.number != 0;
}

/* Remember what goes out with the answer.  False: no memory. */
static bool
note_grant(struct ask *ask, const struct wire_lease_answer *answer,
    struct boot_ms now)
{
	struct led *led = calloc(1, sizeof(*led));

	if (led == NULL) {
		return false;
	}
	led->id = ask->frame.id;
	led->has_lease = ask->leads;
	led->lease = ask->lease;
	led->permit = answer->permit;
	led->permit_until_ms = ask->ticket.deadline_ms;
	if (led->has_lease) {
		ask_session(ask)->leads++;
	}
	lease_session_note(ask->conn, led, now);
	return true;
}

static void
send_answer(struct ask *ask, enum result status,
    struct wire_lease_answer *answer)
{
	struct connection *conn = ask->conn;
	uint8_t body[WIRE_LEASE_ANSWER_BYTES];
	bool in_frame = ask->in_frame;

	if (ask->origin != NULL) {
		answer->mode = (uint32_t)origin_mode_now(ask->origin,
		    clock_boot_now());
	}
	wire_lease_answer_encode(body, answer);
	connection_answer(conn, &ask->frame, status, 0, body, sizeof(body));
	ask_free(ask);
	if (!in_frame) {
		worker_resume(conn->worker, conn);
	}
}

void
ask_refuse_text(struct ask *ask, enum result status, const char *text)
{
	struct connection *conn = ask->conn;
	bool in_frame = ask->in_frame;

	connection_answer_text(conn, &ask->frame, status, text);
	ask_free(ask);
	if (!in_frame) {
		worker_resume(conn->worker, conn);
	}
}

void
ask_stop_leading(struct ask *ask, const struct flight_ending *ending)
{
	struct connection *conn = ask->conn;
	const struct pool *pool = conn->session->pool;
	struct lease_session *session = ask_session(ask);
	struct boot_ms now = clock_boot_now();

	if (!ask->leads) {
		return;
	}
	ask->leads = false;
	if (ending == NULL) {
		(void)lease_abandon(pool, &conn->worker->lease_door,
		    &ask->lease, session->holder, now);
	} else {
		(void)lease_end(pool, &conn->worker->lease_door, &ask->key,
		    ask->lease.ticket.token, session->holder, ending,
		    jitter_random(), now);
	}
}

void
ask_answer_refusal(struct ask *ask, enum result status, uint32_t reason,
    int32_t code, uint64_t retry_after_ms)
{
	struct wire_lease_answer answer = {
		.reason = reason,
		.code = code,
		.retry_after_ms = retry_after_ms,
	};

	send_answer(ask, status, &answer);
}

static void
refuse_grant(struct ask *ask, enum result status, const char *text,
    struct boot_ms now)
{
	ask_stop_leading(ask, NULL);
	if (ask->origin != NULL) {
		(void)origin_cancel(ask->origin, &ask->ticket,
		    ask_session(ask)->holder, jitter_random(), now);
	}
	ask_refuse_text(ask, status, text);
}

/* The permit is there, or none is needed. */
void
ask_answer_granted(struct ask *ask, struct boot_ms now)
{
	enum result status = ask->leads ? LEAD : ask->alone ? ALONE : OK;
	struct wire_lease_answer answer = {
		.left_ms = ask_left_ms(ask->leads ?
		    ask->lease.ticket.until_ms : ask->ticket.deadline_ms,
		    now),
		.token = ask->leads ? ask->lease.ticket.token : 0,
	};

	if (ask->origin != NULL) {
		answer.permit.origin = ask->origin->index;
		answer.permit.number = ask->ticket.permit |
		    (ask->ticket.upload ? WIRE_PERMIT_UPLOAD : 0);
		answer.permit.token = ask->ticket.token;
	}
	if (ask->leads && !lease_session_may_hold(ask->conn, now)) {
		refuse_grant(ask, BUSY, ASK_LEADS_TEXT, now);
		return;
	}
	if (was_granted(status, &answer) && !note_grant(ask, &answer, now)) {
		refuse_grant(ask, NO_MEMORY, "out of memory", now);
		return;
	}
	send_answer(ask, status, &answer);
}
