/* SPDX-License-Identifier: ISC */

/*
 * The permit goes back first, so that the next call starts while the value is
 * stored.
 */
#include "lease_end.h"

#include "ask.h"
#include "origin_log.h"
#include "request.h"
#include "request_parse.h"
#include "worker.h"

/* OK, too, if there is none. */
static enum result
give_permit_back(struct connection *conn, const struct wire_permit *permit,
    enum breaker_outcome outcome)
{
	struct worker *worker = conn->worker;
	struct boot_ms now = clock_boot_now();
	struct origin *origin;
	unsigned events = 0;
	enum result result;

	if (permit->number == 0) {
		return OK;
	}
	if (permit->origin >= worker->origin_count) {
		return INVALID;
	}
	origin = &worker->origins[permit->origin];
	result = origin_release(origin, permit->number & ~WIRE_PERMIT_UPLOAD,
	    (permit->number & WIRE_PERMIT_UPLOAD) != 0, permit->token,
	    conn->session->leases.holder, outcome, jitter_random(), now,
	    &events);
	origin_log_events(origin, events, now);
	return result;
}

/*
 * What is over is forgotten, what could not be ended now is kept, and a lease
 * whose end made no sense goes to another at once.
 */
static void
settle(struct connection *conn, const struct wire_end *end,
    enum result permit, enum result flight)
{
	struct led *led = lease_session_find(conn, end->token, &end->permit);

	if (led == NULL) {
		return;
	}
	if (permit != BUSY && led->permit.origin == end->permit.origin &&
	    led->permit.number == end->permit.number &&
	    led->permit.token == end->permit.token) {
		led->permit.number = 0;
	}
	if (end->token == 0) {
		/* Of the permit alone: a lease with it goes on. */
		if (!led->has_lease && led->permit.number == 0) {
			lease_session_forget(conn, led);
		}
	} else if (flight == OK || flight == CHANGED) {
		lease_session_forget(conn, led);
	} else if (flight != BUSY) {
		lease_session_give_back(conn, led);
	}
}

static enum result
end_flight(struct connection *conn, const struct key *key,
    const struct wire_end *end, const struct flight_ending *ending)
{
	return lease_end(conn->session->pool, &conn->worker->lease_door, key,
	    end->token, conn->session->leases.holder, ending,
	    jitter_random(), clock_boot_now());
}

static struct flight_ending
ending_of(uint8_t type, const struct wire_end *end)
{
	struct flight_ending ending = {
		.outcome = FLIGHT_FAILED,
		.code = end->code,
		.back_off_ms = end->note_ms,
	};

	if (type == FRAME_UNCACHEABLE) {
		ending.outcome = FLIGHT_UNCACHEABLE;
		ending.back_off_ms = 0;
		ending.mark_ms = end->note_ms;
	}
	return ending;
}

void
lease_end_serve(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	struct wire_end end;
	struct flight_ending ending;
	struct key key;
	enum result result = OK, permit;

	if (frame->length < WIRE_END_BYTES || !wire_end_decode(body, &end) ||
	    (frame->type == FRAME_RELEASE &&
	    (frame->length != WIRE_END_BYTES || end.permit.number == 0))) {
		connection_answer_text(conn, frame, INVALID,
		    "the request makes no sense");
		return;
	}
	if (frame->type == FRAME_RELEASE) {
		end.token = 0;
	} else {
		result = key_init(&key, conn->session->pool,
		    body + WIRE_END_BYTES, (size_t)(frame->length -
		    WIRE_END_BYTES));
	}
	permit = give_permit_back(conn, &end.permit,
	    (enum breaker_outcome)end.outcome);
	if (result == OK && end.token == 0) {
		result = permit;
	} else if (result == OK) {
		ending = ending_of(frame->type, &end);
		result = end_flight(conn, &key, &end, &ending);
	}
	settle(conn, &end, permit, result);
	if (result == OK) {
		connection_answer(conn, frame, OK, 0, NULL, 0);
	} else {
		connection_answer_text(conn, frame, result,
		    result_text(result));
	}
}

bool
lease_end_fill_head(struct connection *conn,
    const uint8_t bytes[WIRE_END_BYTES], struct fill_head *head)
{
	if (!wire_end_decode(bytes, &head->end) || head->end.token == 0) {
		return false;
	}
	head->fill.token = head->end.token;
	head->fill.holder = conn->session->leases.holder;
	head->fill.door = &conn->worker->lease_door;
	(void)give_permit_back(conn, &head->end.permit, BREAKER_SUCCESS);
	return true;
}

void
lease_end_filled(struct connection *conn, const struct frame *frame,
    const struct fill_head *head, const struct key *key, enum result result,
    uint64_t version)
{
	struct flight_ending ending = { .outcome = FLIGHT_LOOK_AGAIN };
	enum result flight = key != NULL ? result : INVALID;

	if (result == TOO_LARGE || result == FULL) {
		/* One by one it would be computed for each: let them all. */
		ending.outcome = FLIGHT_UNCACHEABLE;
		ending.mark_ms = LEASE_UNSTORABLE_MS;
	}
	if (result != OK && result != LEASE_LOST && result != CHANGED &&
	    key != NULL) {
		flight = end_flight(conn, key, &head->end, &ending);
	}
	settle(conn, &head->end, OK, flight);
	request_answer_version(conn, frame, result, version);
}

void
lease_end_fill(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	const struct pool *pool = conn->session->pool;
	struct boot_ms now = clock_boot_now();
	struct fill_head head;
	struct request_set set;
	struct entry_spec spec;
	struct key key;
	uint64_t version = 0;
	enum result result;

	if (frame->length < WIRE_END_BYTES ||
	    !lease_end_fill_head(conn, body, &head)) {
		connection_answer_text(conn, frame, INVALID,
		    "the request makes no sense");
		return;
	}
	result = request_parse_set(body + WIRE_END_BYTES,
	    (size_t)(frame->length - WIRE_END_BYTES), &set);
	if (result == OK) {
		result = key_init(&key, pool, set.key, set.head.key_length);
	}
	if (result != OK) {
		/* Whose flight it is cannot be told: it ends in its time. */
		lease_end_filled(conn, frame, &head, NULL, result, 0);
		return;
	}
	spec = request_set_spec(pool, &set.head, set.tags, now);
	spec.key = &key;
	spec.value = set.value;
	spec.cost_ms = (uint16_t)(head.end.cost_ms < UINT16_MAX ?
	    head.end.cost_ms : UINT16_MAX);
	spec.fill = &head.fill;
	result = write_set(pool, &spec, now, &version);
	lease_end_filled(conn, frame, &head, &key, result, version);
}
