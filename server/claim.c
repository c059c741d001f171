/* SPDX-License-Identifier: ISC */

/*
 * A claim from its frame to its answer, at once or later.
 */
#include "claim.h"

#include <stdlib.h>

#include "claim_known.h"
#include "client_table.h"
#include "fault.h"
#include "holder.h"
#include "session.h"
#include "wake.h"
#include "worker.h"

static void
answer(struct connection *conn, const struct frame *frame,
    enum result result)
{
	if (result == OK) {
		connection_answer(conn, frame, OK, 0, NULL, 0);
	} else {
		connection_answer_text(conn, frame, result,
		    result_text(result));
	}
}

static enum result
take(struct connection *conn)
{
	struct session *session = conn->session;
	struct worker *worker = conn->worker;
	struct control_client *before = session->row;
	enum result result = holder_claim(worker->control,
	    worker->heritage->process, worker->heritage->incarnation,
	    &conn->peer, session->claim.holder, session->claim.secret,
	    &session->row);

	if (result != OK) {
		return result;
	}
	if (session->row != before) {
		if (session->leases.claimed) {
			/* It is another connection's that will come back. */
			client_table_leave(before);
		} else {
			client_table_release(before);
		}
	}
	session->leases.holder = session->claim.holder;
	session->leases.claimed = true;
	session->leases.claim_unread = true;
	if (session->claim.known == NULL || FAULT(claim_keeps_untold)) {
		return OK;
	}
	result = claim_known_keep(conn, session->claim.known);
	wake_send(&worker->wake);
	return result;
}

static void
forget_known(struct claim *claim)
{
	free(claim->known);
	claim->known = NULL;
}

static void
try_again(void *arg)
{
	struct connection *conn = arg;
	struct claim *claim = &conn->session->claim;
	enum result result = take(conn);

	if (result == BUSY && clock_boot_now().ms < claim->until_ms) {
		return;
	}
	event_timer_stop(conn->worker->loop, &claim->timer);
	forget_known(claim);
	conn->waiting = false;
	answer(conn, &claim->frame, result);
	/* It may be gone after that. */
	connection_turn(conn);
}

void
claim_serve(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	struct session *session = conn->session;
	struct claim *claim = &session->claim;
	enum result result;

	/* Whoever holds something of its own already has come too late. */
	result = frame->length < WIRE_CLAIM_BYTES || session->ring != NULL ||
	    !LIST_EMPTY(&session->leases.asks) ||
	    !LIST_EMPTY(&session->leases.led) ? INVALID : OK;
	if (result == OK && frame->length != WIRE_CLAIM_BYTES) {
		result = claim_known_parse(body + WIRE_CLAIM_BYTES, (size_t)
		    (frame->length - WIRE_CLAIM_BYTES), &claim->known);
	}
	if (result != OK) {
		answer(conn, frame, result);
		return;
	}
	claim->frame = *frame;
	claim->holder = wire_get_u64(body);
	claim->secret = wire_get_u64(body + 8);
	result = take(conn);
	if (result != BUSY) {
		forget_known(claim);
		answer(conn, frame, result);
		return;
	}
	claim->until_ms = clock_boot_now().ms + CLAIM_WAIT_MS;
	conn->waiting = true;
	event_timer_start(conn->worker->loop, &claim->timer, CLAIM_AGAIN_MS,
	    CLAIM_AGAIN_MS, try_again, conn);
}

void
claim_stop(struct connection *conn)
{
	event_timer_stop(conn->worker->loop, &conn->session->claim.timer);
	forget_known(&conn->session->claim);
}
