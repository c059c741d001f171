/* SPDX-License-Identifier: ISC */

/*
 * An ask from its frame to its flight; ask_permit.c and ask_answer.c go on.
 */
#include "lease_session.h"

#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "waiters.h"
#include "worker.h"

void
lease_session_begin(struct lease_session *session, uint64_t holder)
{
	memset(session, 0, sizeof(*session));
	session->holder = holder;
	LIST_INIT(&session->asks);
	LIST_INIT(&session->led);
}

bool
lease_session_may_hold(struct connection *conn, struct boot_ms now)
{
	struct lease_session *session = &conn->session->leases;

	if (session->leads >= ASK_LEADS_MAX) {
		lease_session_drop_late(conn, now);
	}
	return session->leads < ASK_LEADS_MAX;
}

void
ask_led(struct ask *ask)
{
	ask->leads = true;
	if (!lease_session_may_hold(ask->conn, clock_boot_now())) {
		ask_stop_leading(ask, NULL);
		ask_refuse_text(ask, BUSY, ASK_LEADS_TEXT);
		return;
	}
	ask_permit(ask);
}

void
ask_ended(struct ask *ask, const struct flight_ending *ending)
{
	switch (ending->outcome) {
	case FLIGHT_FAILED:
		ask_answer_refusal(ask, FAILED, 0, ending->code,
		    ending->retry_after_ms);
		break;
	case FLIGHT_UNCACHEABLE:
		ask->alone = true;
		ask_permit(ask);
		break;
	case FLIGHT_SHED:
		ask_answer_refusal(ask, SHED, (uint32_t)ending->code, 0,
		    ending->retry_after_ms);
		break;
	case FLIGHT_OPEN:
		ask_answer_refusal(ask, CIRCUIT_OPEN, 0, 0,
		    ending->retry_after_ms);
		break;
	default:
		ask_answer_refusal(ask, OK, 0, 0, 0);
		break;
	}
}

static void
join_flight(struct ask *ask, struct boot_ms now)
{
	ask->state = ASK_FLIGHT;
	if (!waiters_join(ask->conn->worker, ask)) {
		(void)lease_leave(ask->conn->session->pool,
		    &ask->conn->worker->lease_door, &ask->lease,
		    ask->conn->worker->heritage->process, 1, 0);
		ask_refuse_text(ask, NO_MEMORY, "out of memory");
		return;
	}
	ask_wait_until(ask, ask->deadline_ms, now);
}

static void
begin_flight(struct ask *ask, struct boot_ms now)
{
	struct connection *conn = ask->conn;
	struct lease_request request = {
		.caller = {
			.holder = ask_session(ask)->holder,
			.thread = ask->want.thread,
			.worker = conn->worker->heritage->process,
			.may_wait = (ask->want.flags & WIRE_NO_WAIT) == 0 &&
			    ask_session(ask)->waits < ASK_WAITS_MAX,
		},
		.lease_ms = ask->want.lease_ms,
		.seen_version = ask->want.seen_version,
	};
	enum flight_answer answer;

	if (lease_begin(conn->session->pool, &conn->worker->lease_door,
	    &ask->key, &request, now, &answer, &ask->lease) != OK) {
		ask_refuse_text(ask, BUSY, "the shard is locked");
		return;
	}
	switch (answer) {
	case FLIGHT_FOUND:
		ask_answer_refusal(ask, OK, 0, 0, 0);
		break;
	case FLIGHT_LEAD:
		ask_led(ask);
		break;
	case FLIGHT_WAIT:
		join_flight(ask, now);
		break;
	case FLIGHT_ALONE:
		ask->alone = true;
		ask_permit(ask);
		break;
	case FLIGHT_BACK_OFF:
		ask_answer_refusal(ask, BACKING_OFF, 0, 0,
		    ask_left_ms(ask->lease.ticket.until_ms, now));
		break;
	case FLIGHT_DEADLOCK:
		ask_refuse_text(ask, WOULD_DEADLOCK,
		    result_text(WOULD_DEADLOCK));
		break;
	default:
		ask_refuse_text(ask, BUSY, answer == FLIGHT_UNDER_WAY ?
		    "another computes it" : "as many wait as may");
		break;
	}
}

void
ask_again(struct ask *ask)
{
	struct boot_ms now = clock_boot_now();

	ask->state = ASK_NEW;
	ask->leads = false;
	if (ask->frame.type == FRAME_PERMIT) {
		ask_permit(ask);
	} else if (ask->origin != NULL &&
	    origin_mode_now(ask->origin, now) == ORIGIN_BYPASS) {
		ask->alone = true;
		ask_permit(ask);
	} else {
		begin_flight(ask, now);
	}
}

static struct origin *
find_origin(struct worker *worker, const uint8_t *name, size_t length)
{
	for (uint32_t i = 0; i < worker->origin_count; i++) {
		const char *known = origin_name(&worker->origins[i]);

		if (strlen(known) == length &&
		    memcmp(known, name, length) == 0) {
			return &worker->origins[i];
		}
	}
	return NULL;
}

/* What is wrong with it; OK: nothing, and the lease's time is cut. */
static enum result
check_frame(const struct frame *frame, const uint8_t *body,
    struct wire_lease *want)
{
	bool permit = frame->type == FRAME_PERMIT;

	if (frame->length < WIRE_LEASE_BYTES ||
	    !wire_lease_decode(body, want) || frame->length !=
	    WIRE_LEASE_BYTES + (uint64_t)want->name_length +
	    want->key_length || permit != (want->key_length == 0)) {
		return INVALID;
	}
	if (want->key_length > KEY_MAX_BYTES) {
		return KEY_INVALID;
	}
	if (permit && want->name_length == 0) {
		return INVALID;
	}
	if (want->lease_ms > WIRE_LEASE_MAX_MS) {
		want->lease_ms = WIRE_LEASE_MAX_MS;
	}
	return !permit && want->lease_ms == 0 ? INVALID : OK;
}

void
lease_session_ask(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	struct lease_session *session = &conn->session->leases;
	struct wire_lease want;
	enum result result = check_frame(frame, body, &want);
	const uint8_t *name = body + WIRE_LEASE_BYTES;
	struct origin *origin = NULL;
	struct ask *ask;

	if (result == OK && want.name_length != 0) {
		origin = find_origin(conn->worker, name, want.name_length);
		result = origin == NULL ? MISS : OK;
	}
	if (result != OK) {
		connection_answer_text(conn, frame, result, result == MISS ?
		    "there is no origin of that name" : result_text(result));
		return;
	}
	ask = calloc(1, sizeof(*ask) + want.key_length);
	if (ask == NULL) {
		connection_answer_text(conn, frame, NO_MEMORY,
		    "out of memory");
		return;
	}
	ask->conn = conn;
	ask->frame = *frame;
	ask->want = want;
	ask->origin = origin;
	ask->in_frame = true;
	ask->deadline_ms = clock_boot_now().ms +
	    ((want.flags & WIRE_NO_WAIT) != 0 ? 0 : want.wait_ms);
	if (want.key_length != 0) {
		memcpy(ask->key_bytes, name + want.name_length,
		    want.key_length);
		(void)key_init(&ask->key, conn->session->pool, ask->key_bytes,
		    want.key_length);
	}
	LIST_INSERT_HEAD(&session->asks, ask, of_connection);
	ask_again(ask);
}
