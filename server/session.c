/* SPDX-License-Identifier: ISC */

/*
 * The life of a client's session: greeting, ring, requests, end.
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "client_table.h"
#include "holder.h"
#include "lease_end.h"
#include "log.h"
#include "origin_log.h"
#include "orphan.h"
#include "request.h"
#include "request_parse.h"
#include "ring_session.h"
#include "worker.h"

#define HELLO_ANSWER_BYTES	56

static const struct pool *
find_pool(const struct heritage *heritage, const struct request_hello *hello,
    uint32_t *index)
{
	for (uint32_t i = 0; i < heritage->config.pool_count; i++) {
		const char *name = heritage->config.pools[i].name;

		if (strlen(name) == hello->name_length &&
		    memcmp(name, hello->name, hello->name_length) == 0) {
			*index = i;
			return &heritage->pools[i];
		}
	}
	return NULL;
}

/* Refused: say why, and hang up. */
static void
refuse(struct connection *conn, const struct frame *frame,
    enum result status, const char *text)
{
	connection_answer_text(conn, frame, status, text);
	conn->closing = true;
}

static void
welcome(struct connection *conn, const struct frame *frame,
    const struct pool *pool, struct boot_ms now)
{
	uint8_t body[HELLO_ANSWER_BYTES];

	wire_put_u64(body, now.ms);
	wire_put_u64(body + 8, geometry_value_max_bytes(&pool->g));
	wire_put_u64(body + 16, conn->worker->heritage->config.ring_bytes);
	memcpy(body + 24, conn->worker->control->boot_id, 16);
	wire_put_u64(body + 40, conn->session->leases.holder);
	/* Relaxed: written by this worker when it claimed the row. */
	wire_put_u64(body + 48, atomic_load_explicit(
	    &conn->session->row->secret, memory_order_relaxed));
	/* Sealed against writing, so the descriptor itself may go. */
	connection_pass_fd(conn, pool->segment.fd, false);
	connection_answer(conn, frame, OK, 0, body, sizeof(body));
}

/* A row of the table, or an answer that says why not. */
static bool
claim_row(struct connection *conn, const struct frame *frame,
    const struct request_hello *hello, struct session *session,
    struct boot_ms now)
{
	struct worker *worker = conn->worker;
	uint32_t process = worker->heritage->process;
	uint64_t incarnation = worker->heritage->incarnation;
	bool again = false;
	enum result result = client_table_claim(worker->control, process,
	    incarnation, &conn->peer, session->pool_index, now,
	    &session->row);

	if (result == FULL) {
		/* Of those that a death cut off each has its row yet. */
		result = client_table_reseat(worker->control, process,
		    incarnation, &conn->peer, session->pool_index,
		    hello->holder, hello->secret, &session->row);
		again = true;
	}
	if (result == OK) {
		lease_session_begin(&session->leases, holder_of_row(
		    worker->control, session->row));
		session->leases.claimed = again;
		return true;
	}
	/* Relaxed: for people. */
	atomic_fetch_add_explicit(&worker->control->clients_refused, 1,
	    memory_order_relaxed);
	log_line(LOG_LEVEL_WARNING, "client-refused",
	    "pid=%d uid=%u why=\"too many clients\"", (int)conn->peer.pid,
	    conn->peer.uid);
	refuse(conn, frame, BUSY, result == FULL ? "too many clients" :
	    "the table of clients is locked");
	return false;
}

static void
greet(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	struct worker *worker = conn->worker;
	struct boot_ms now = clock_boot_now();
	struct request_hello hello;
	struct session *session;
	const struct pool *pool;
	uint32_t index;

	if (!request_parse_hello(body, (size_t)frame->length, &hello)) {
		connection_reject(conn, "HELLO makes no sense");
		return;
	}
	if (hello.protocol != FRAME_VERSION) {
		refuse(conn, frame, LAYOUT_MISMATCH,
		    "the daemon speaks version 1 of the protocol");
		return;
	}
	/* Relaxed: a client that just slips in is drained with the rest. */
	if (worker->draining || atomic_load_explicit(
	    &worker->control->draining, memory_order_relaxed) != 0) {
		refuse(conn, frame, BUSY, "the daemon is stopping");
		return;
	}
	pool = find_pool(worker->heritage, &hello, &index);
	if (pool == NULL) {
		refuse(conn, frame, MISS, "there is no pool of that name");
		return;
	}
	if (!peer_may_use_pool(&conn->peer, &worker->access[index])) {
		log_line(LOG_LEVEL_WARNING, "client-denied",
		    "pid=%d uid=%u pool=%s", (int)conn->peer.pid,
		    conn->peer.uid, worker->heritage->config.pools[index].name);
		refuse(conn, frame, DENIED,
		    "the pool's access list does not name this user");
		return;
	}
	session = calloc(1, sizeof(*session));
	if (session == NULL) {
		refuse(conn, frame, NO_MEMORY, "out of memory");
		return;
	}
	session->pool_index = index;
	session->pool = pool;
	if (!claim_row(conn, frame, &hello, session, now)) {
		free(session);
		return;
	}
	conn->session = session;
	welcome(conn, frame, pool, now);
}

static void
make_ring(struct connection *conn, const struct frame *frame)
{
	struct session *session = conn->session;
	uint32_t capacity = conn->worker->heritage->config.ring_bytes;
	struct ring_session *ring;
	uint8_t body[8];
	enum result result;
	int fd;

	if (session->ring != NULL || frame->length != 0) {
		connection_answer_text(conn, frame, INVALID,
		    "one ring to a connection");
		return;
	}
	ring = malloc(sizeof(*ring));
	result = ring == NULL ? NO_MEMORY : ring_session_create(ring,
	    session->pool, session->row, capacity, clock_boot_now(), &fd);
	if (result != OK) {
		free(ring);
		connection_answer_text(conn, frame, result,
		    "no memory for a ring");
		return;
	}
	ring->heartbeat_ms = &conn->worker->process->heartbeat_ms;
	session->ring = ring;
	/* Relaxed: for people. */
	atomic_store_explicit(&session->row->ring_bytes, capacity,
	    memory_order_relaxed);
	wire_put_u64(body, capacity);
	connection_pass_fd(conn, fd, true);
	connection_answer(conn, frame, OK, 0, body, sizeof(body));
}

/* Records before tail, or those there are.  False: the client is dropped. */
static bool
drain(struct connection *conn, uint64_t tail)
{
	struct worker *worker = conn->worker;
	struct ring_session *ring = conn->session->ring;
	struct boot_ms now = clock_boot_now();
	uint64_t before = ring->records;
	enum result result = ring_session_drain(ring, tail, now,
	    worker->record, worker->record_bytes);

	if (ring->records != before) {
		worker_count_records(worker, ring->records - before);
		worker->rings_busy_ms = now.ms;
	}
	if (result != OK) {
		connection_reject(conn, "the ring makes no sense");
		return false;
	}
	return true;
}

/* What was put into the ring before the request comes first. */
static bool
drain_before(struct connection *conn, const struct frame *frame)
{
	if (frame->ring_tail == 0) {
		return true;
	}
	if (conn->session->ring == NULL) {
		connection_reject(conn, "the tail of a ring there is not");
		return false;
	}
	return drain(conn, frame->ring_tail);
}

static void
count_request(struct session *session)
{
	/* Relaxed: one writer; for people. */
	atomic_store_explicit(&session->row->requests, atomic_load_explicit(
	    &session->row->requests, memory_order_relaxed) + 1,
	    memory_order_relaxed);
}

static void
session_frame(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	struct session *session = conn->session;

	if (session == NULL) {
		if (frame->type != FRAME_HELLO) {
			connection_reject(conn, "HELLO comes first");
			return;
		}
		greet(conn, frame, body);
		return;
	}
	count_request(session);
	/* Whoever goes on has read what its claim was answered. */
	session->leases.claim_unread = false;
	if (!drain_before(conn, frame)) {
		return;
	}
	switch (frame->type) {
	case FRAME_HELLO:
		connection_reject(conn, "HELLO was said already");
		break;
	case FRAME_RING:
		make_ring(conn, frame);
		break;
	case FRAME_CLAIM:
		claim_serve(conn, frame, body);
		break;
	case FRAME_DOORBELL:
		if (session->ring == NULL) {
			connection_reject(conn, "a doorbell without a ring");
		} else {
			(void)drain(conn, 0);
		}
		break;
	default:
		request_serve(conn, frame, body);
		break;
	}
}

static bool
session_stream_begin(struct connection *conn, const struct frame *frame)
{
	struct worker *worker = conn->worker;

	if (conn->session == NULL) {
		connection_reject(conn, "HELLO comes first");
		return false;
	}
	count_request(conn->session);
	conn->session->leases.claim_unread = false;
	worker_count_request(worker);
	if (!drain_before(conn, frame)) {
		return false;
	}
	conn->stream = malloc(sizeof(*conn->stream));
	if (conn->stream == NULL) {
		connection_answer_text(conn, frame, NO_MEMORY,
		    "out of memory");
		return false;
	}
	set_stream_begin(conn->stream, conn->session->pool, frame->length,
	    &worker->stream_budget_used, clock_boot_now());
	if (frame->type == FRAME_FILL) {
		set_stream_is_fill(conn->stream, conn);
	}
	return true;
}

static void
session_stream_end(struct connection *conn, const struct frame *frame)
{
	uint64_t version = 0;
	struct set_stream *stream = conn->stream;
	enum result result = set_stream_end(stream, clock_boot_now(),
	    &version);

	if (frame->type == FRAME_FILL && stream->fill_known) {
		lease_end_filled(conn, frame, &stream->fill_head,
		    stream->key.length != 0 ? &stream->key : NULL, result,
		    version);
		worker_look(conn->worker);
	} else {
		request_answer_version(conn, frame, result, version);
	}
}

/* The ring may sleep only when it is empty and asked for a doorbell. */
static bool
session_settle(struct connection *conn)
{
	struct session *session = conn->session;

	if (session == NULL || session->ring == NULL ||
	    ring_session_arm(session->ring)) {
		return true;
	}
	if (!drain(conn, 0)) {
		return true;
	}
	return ring_session_arm(session->ring);
}

void
session_poll_ring(struct connection *conn)
{
	if (conn->session != NULL && conn->session->ring != NULL &&
	    !conn->closing && !conn->broken && drain(conn, 0)) {
		(void)ring_session_arm(conn->session->ring);
	}
}

/* Permits that were released to nobody: an answer that was not taken. */
static void
sweep_origins(struct connection *conn)
{
	struct worker *worker = conn->worker;
	struct boot_ms now = clock_boot_now();

	for (uint32_t i = 0; i < worker->origin_count; i++) {
		unsigned events = 0;

		if ((conn->session->leases.origins_used >> (i & 63) & 1) != 0) {
			(void)origin_sweep(&worker->origins[i], now, &events);
			origin_log_events(&worker->origins[i], events, now);
		}
	}
}

static void
session_end(struct connection *conn)
{
	struct session *session = conn->session;

	if (session == NULL) {
		return;
	}
	claim_stop(conn);
	if (session->ring != NULL) {
		if (!session->ring->consumer.broken) {
			/* What is complete is still done; then no more. */
			(void)ring_session_drain(session->ring, 0,
			    clock_boot_now(), conn->worker->record,
			    conn->worker->record_bytes);
		}
		ring_session_destroy(session->ring);
		free(session->ring);
	}
	if (session->leases.claim_unread) {
		/* It may have hung up before it had its answer, and comes to
		 * claim once more; if it ended its orphan is let go. */
		client_table_leave(session->row);
	} else {
		client_table_release(session->row);
	}
	lease_session_end(conn);
	if (session->leases.claimed && !session->leases.claim_unread) {
		/* What the earlier connection held is in no list of ours. */
		orphans_sweep_held(conn->worker, clock_boot_now());
	} else {
		sweep_origins(conn);
	}
	free(session);
	conn->session = NULL;
	wake_send(&conn->worker->wake);
}

const struct connection_kind session_kind = {
	.body_max = FRAME_BODY_MAX,
	.frame = session_frame,
	.stream_begin = session_stream_begin,
	.stream_end = session_stream_end,
	.settle = session_settle,
	.end = session_end,
};
