/* SPDX-License-Identifier: ISC */

/*
 * Parse, do, answer.
 */
#include "request.h"

#include "lease_end.h"
#include "request_parse.h"
#include "ring_session.h"
#include "session.h"
#include "worker.h"

static void
answer_u64(struct connection *conn, const struct frame *frame,
    uint64_t number)
{
	uint8_t body[8];

	wire_put_u64(body, number);
	connection_answer(conn, frame, OK, 0, body, sizeof(body));
}

static void
answer_result(struct connection *conn, const struct frame *frame,
    enum result result)
{
	if (result == OK) {
		connection_answer(conn, frame, OK, 0, NULL, 0);
		return;
	}
	connection_answer_text(conn, frame, result, result_text(result));
	if (result == BUSY) {
		/* A tenth of a second went by: the watchdog may know. */
		worker_beat(conn->worker);
	}
}

static void
answer_senseless(struct connection *conn, const struct frame *frame)
{
	connection_answer_text(conn, frame, INVALID,
	    "the request makes no sense");
}

void
request_answer_version(struct connection *conn, const struct frame *frame,
    enum result result, uint64_t version)
{
	if (result == OK) {
		answer_u64(conn, frame, version);
	} else {
		answer_result(conn, frame, result);
	}
}

static void
serve_set(struct connection *conn, const struct frame *frame,
    const uint8_t *body, struct boot_ms now)
{
	const struct pool *pool = conn->session->pool;
	struct request_set set;
	struct entry_spec spec;
	struct key key;
	uint64_t version = 0;
	enum result result = request_parse_set(body, (size_t)frame->length,
	    &set);

	if (result == OK) {
		result = key_init(&key, pool, set.key, set.head.key_length);
	}
	if (result == OK) {
		spec = request_set_spec(pool, &set.head, set.tags, now);
		spec.key = &key;
		spec.value = set.value;
		result = write_set(pool, &spec, now, &version);
	}
	request_answer_version(conn, frame, result, version);
}

static void
serve_delete(struct connection *conn, const struct frame *frame,
    const uint8_t *body, struct boot_ms now)
{
	const struct pool *pool = conn->session->pool;
	struct request_delete delete;
	struct key key;
	enum result result;

	if (!request_parse_delete(body, (size_t)frame->length, &delete)) {
		answer_senseless(conn, frame);
		return;
	}
	result = key_init(&key, pool, delete.key, delete.key_length);
	if (result == OK) {
		result = write_delete(pool, &key, delete.version, now);
	}
	answer_result(conn, frame, result);
}

static void
serve_touch(struct connection *conn, const struct frame *frame,
    const uint8_t *body, struct boot_ms now)
{
	const struct pool *pool = conn->session->pool;
	struct request_touch touch;
	struct key key;
	enum result result;

	if (!request_parse_touch(body, (size_t)frame->length, &touch)) {
		answer_senseless(conn, frame);
		return;
	}
	result = key_init(&key, pool, touch.key, touch.key_length);
	if (result == OK) {
		result = write_touch(pool, &key,
		    request_expiry_ms(now, touch.soft_ttl_ms),
		    request_expiry_ms(now, touch.ttl_ms), 0, now);
	}
	answer_result(conn, frame, result);
}

static void
serve_counter(struct connection *conn, const struct frame *frame,
    const uint8_t *body, struct boot_ms now)
{
	const struct pool *pool = conn->session->pool;
	struct request_counter counter;
	struct entry_spec spec = { .when = SET_ALWAYS };
	struct key key;
	int64_t number = 0;
	enum result result;

	if (!request_parse_counter(body, (size_t)frame->length, &counter)) {
		answer_senseless(conn, frame);
		return;
	}
	result = key_init(&key, pool, counter.key, counter.key_length);
	if (result == OK) {
		spec.key = &key;
		spec.soft_ms = UINT64_MAX;
		spec.hard_ms = request_expiry_ms(now, counter.ttl_ms);
		spec.epoch = epoch_now(pool);
		result = write_counter_add(pool, &key, counter.delta,
		    counter.initial, counter.create ? &spec : NULL, now,
		    &number);
	}
	if (result == OK) {
		answer_u64(conn, frame, (uint64_t)number);
	} else {
		answer_result(conn, frame, result);
	}
}

static void
serve_purge(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	const struct pool *pool = conn->session->pool;
	struct request_purge purge;
	uint64_t number = 0;
	enum result result;

	if (!request_parse_purge(body, (size_t)frame->length, &purge)) {
		answer_senseless(conn, frame);
		return;
	}
	result = purge.what == PURGE_TAG ?
	    epoch_purge_tag(pool, purge.tag_hash, purge.how, &number) :
	    epoch_purge_all(pool, purge.how, &number);
	request_answer_version(conn, frame, result, number);
}

static void
serve_flush(struct connection *conn, const struct frame *frame)
{
	struct ring_session *ring = conn->session->ring;
	uint8_t body[16] = { 0 };

	if (ring != NULL) {
		wire_put_u64(body, ring->stored);
		wire_put_u64(body + 8, ring->refused);
		ring->stored = 0;
		ring->refused = 0;
	}
	connection_answer(conn, frame, OK, 0, body, sizeof(body));
}

void
request_serve(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	struct boot_ms now = clock_boot_now();

	switch (frame->type) {
	case FRAME_PING:
		connection_answer(conn, frame, OK, 0, NULL, 0);
		break;
	case FRAME_SET:
		serve_set(conn, frame, body, now);
		break;
	case FRAME_DELETE:
		serve_delete(conn, frame, body, now);
		break;
	case FRAME_TOUCH:
		serve_touch(conn, frame, body, now);
		break;
	case FRAME_COUNTER:
		serve_counter(conn, frame, body, now);
		break;
	case FRAME_PURGE:
		serve_purge(conn, frame, body);
		break;
	case FRAME_FLUSH:
		serve_flush(conn, frame);
		break;
	case FRAME_LEASE:
	case FRAME_PERMIT:
		lease_session_ask(conn, frame, body);
		worker_look(conn->worker);
		break;
	case FRAME_ABANDON:
		lease_session_abandon(conn, frame, body);
		worker_look(conn->worker);
		break;
	case FRAME_FILL:
		lease_end_fill(conn, frame, body);
		worker_look(conn->worker);
		break;
	case FRAME_FAIL:
	case FRAME_UNCACHEABLE:
	case FRAME_RELEASE:
		lease_end_serve(conn, frame, body);
		worker_look(conn->worker);
		break;
	default:
		connection_answer_text(conn, frame, INVALID,
		    "no request of this protocol");
		break;
	}
}
