/* SPDX-License-Identifier: ISC */

/*
 * What was granted to a connection, and giving it back: when nobody waits for
 * the answer any more, and at the connection's end.
 */
#include "lease_session.h"

#include <stdlib.h>

#include "ask.h"
#include "origin_log.h"
#include "waiters.h"
#include "worker.h"

void
lease_session_forget(struct connection *conn, struct led *led)
{
	if (led->has_lease) {
		conn->session->leases.leads--;
	}
	LIST_REMOVE(led, link);
	conn->session->leases.led_count--;
	free(led);
}

void
lease_session_drop_late(struct connection *conn, struct boot_ms now)
{
	struct lease_session *session = &conn->session->leases;
	struct led *led, *next;

	for (led = LIST_FIRST(&session->led); led != NULL; led = next) {
		next = LIST_NEXT(led, link);
		if (led->has_lease && now.ms >= led->lease.ticket.until_ms) {
			led->has_lease = false;
			session->leads--;
		}
		if (now.ms >= led->permit_until_ms) {
			led->permit.number = 0;
		}
		if (!led->has_lease && led->permit.number == 0) {
			lease_session_forget(conn, led);
		}
	}
}

void
lease_session_note(struct connection *conn, struct led *led,
    struct boot_ms now)
{
	struct lease_session *session = &conn->session->leases;

	if (session->led_count >= session->led_drop_at) {
		lease_session_drop_late(conn, now);
		/* Twice what is left: a look at each is paid by two notes. */
		session->led_drop_at = session->led_count < ASK_LEADS_MAX ?
		    2 * ASK_LEADS_MAX : 2 * session->led_count;
	}
	LIST_INSERT_HEAD(&session->led, led, link);
	session->led_count++;
}

struct led *
lease_session_find(struct connection *conn, uint64_t token,
    const struct wire_permit *permit)
{
	struct led *led;

	LIST_FOREACH(led, &conn->session->leases.led, link) {
		if (token != 0 ? led->has_lease &&
		    led->lease.ticket.token == token :
		    permit->number != 0 &&
		    led->permit.number == permit->number &&
		    led->permit.token == permit->token &&
		    led->permit.origin == permit->origin) {
			return led;
		}
	}
	return NULL;
}

void
lease_session_give_back(struct connection *conn, struct led *led)
{
	struct worker *worker = conn->worker;
	uint64_t holder = conn->session->leases.holder;
	struct boot_ms now = clock_boot_now();
	unsigned events = 0;

	if (led->permit.number != 0 &&
	    led->permit.origin < worker->origin_count) {
		struct origin *origin = &worker->origins[led->permit.origin];

		(void)origin_release(origin, led->permit.number &
		    ~WIRE_PERMIT_UPLOAD, (led->permit.number &
		    WIRE_PERMIT_UPLOAD) != 0, led->permit.token, holder,
		    BREAKER_NEUTRAL, jitter_random(), now, &events);
		origin_log_events(origin, events, now);
	}
	if (led->has_lease) {
		(void)lease_abandon(conn->session->pool, &worker->lease_door,
		    &led->lease, holder, now);
	}
	lease_session_forget(conn, led);
}

/* It is answered by nobody any more. */
static void
drop(struct ask *ask)
{
	struct boot_ms now = clock_boot_now();
	uint64_t holder = ask->conn->session->leases.holder;

	if (ask->state == ASK_FLIGHT || ask->state == ASK_PLACE) {
		waiters_remove(ask->conn->worker, ask);
	}
	if (ask->state == ASK_PLACE) {
		(void)origin_cancel(ask->origin, &ask->ticket,
		    holder, jitter_random(), now);
	}
	ask_stop_leading(ask, NULL);
	ask_free(ask);
}

void
lease_session_abandon(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	struct lease_session *session = &conn->session->leases;
	struct led *led, *next;
	struct ask *ask;
	uint64_t id;

	if (frame->length != 8) {
		connection_answer_text(conn, frame, INVALID,
		    result_text(INVALID));
		return;
	}
	id = wire_get_u64(body);
	LIST_FOREACH(ask, &session->asks, of_connection) {
		if (ask->frame.id == id) {
			drop(ask);
			break;
		}
	}
	for (led = LIST_FIRST(&session->led); led != NULL; led = next) {
		next = LIST_NEXT(led, link);
		if (led->id == id) {
			lease_session_give_back(conn, led);
		}
	}
	connection_answer(conn, frame, OK, 0, NULL, 0);
}

void
lease_session_end(struct connection *conn)
{
	struct lease_session *session = &conn->session->leases;

	while (!LIST_EMPTY(&session->asks)) {
		drop(LIST_FIRST(&session->asks));
	}
	while (!LIST_EMPTY(&session->led)) {
		lease_session_give_back(conn, LIST_FIRST(&session->led));
	}
}
