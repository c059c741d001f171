/* SPDX-License-Identifier: ISC */

/*
 * Bytes to frames.
 */
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection_out.h"
#include "log.h"
#include "worker.h"

#define READ_BYTES	(FRAME_BODY_MAX + FRAME_HEADER_BYTES)
/* Then the others have their turn. */
#define FRAMES_PER_TURN	256u

enum step {
	STEP_DONE,		/* a frame, or a part of one */
	STEP_STARVED,		/* more bytes are needed */
};

static void	io_happened(void *arg, unsigned events);

static void
pidfd_happened(void *arg, unsigned events)
{
	struct connection *conn = arg;

	(void)events;
	/* What it sent before its end is still done. */
	event_io_stop(conn->worker->loop, &conn->pidfd_io);
	conn->gone = true;
	connection_read_turn(conn);
}

struct connection *
connection_create(struct worker *worker, int fd,
    const struct connection_kind *kind, struct boot_ms now)
{
	struct connection *conn = calloc(1, sizeof(*conn));

	if (conn == NULL || peer_read(fd, &conn->peer) != OK) {
		free(conn);
		(void)close(fd);
		return NULL;
	}
	conn->worker = worker;
	conn->kind = kind;
	conn->fd = fd;
	conn->pass_fd = -1;
	conn->since_ms = now.ms;
	conn->in_moved_ms = now.ms;
	conn->out_moved_ms = now.ms;
	conn->pidfd = peer_open_pidfd(fd, &conn->peer);
	if (conn->pidfd >= 0) {
		event_io_start(worker->loop, &conn->pidfd_io, conn->pidfd,
		    EVENT_READ, pidfd_happened, conn);
	}
	event_io_start(worker->loop, &conn->io, fd, EVENT_READ, io_happened,
	    conn);
	LIST_INSERT_HEAD(&worker->connections, conn, link);
	worker_count_connection(worker, 1);
	return conn;
}

void
connection_destroy(struct connection *conn)
{
	struct worker *worker = conn->worker;

	if (conn->kind->end != NULL) {
		conn->kind->end(conn);
	}
	if (conn->stream != NULL) {
		set_stream_drop(conn->stream);
		free(conn->stream);
	}
	event_io_stop(worker->loop, &conn->io);
	event_io_stop(worker->loop, &conn->pidfd_io);
	(void)close(conn->fd);
	if (conn->pidfd >= 0) {
		(void)close(conn->pidfd);
	}
	if (conn->pass_fd >= 0 && conn->pass_close) {
		(void)close(conn->pass_fd);
	}
	byte_queue_clear(&conn->in);
	byte_queue_clear(&conn->out);
	LIST_REMOVE(conn, link);
	worker_count_connection(worker, -1);
	free(conn);
}

void
connection_reject(struct connection *conn, const char *why)
{
	if (conn->closing || conn->broken) {
		return;
	}
	worker_count_hangup(conn->worker);
	log_line(LOG_LEVEL_WARNING, "client-dropped",
	    "pid=%d uid=%u why=\"%s\"",
	    (int)conn->peer.pid, conn->peer.uid, why);
	connection_answer_text(conn, &conn->frame, INVALID, why);
	conn->closing = true;
}

/* A header: what becomes of its body? */
static void
begin_frame(struct connection *conn)
{
	const struct connection_kind *kind = conn->kind;
	struct frame *frame = &conn->frame;

	if (!frame_decode(byte_queue_front(&conn->in), frame)) {
		memset(frame, 0, sizeof(*frame));
		connection_reject(conn, "not a frame of this version");
		return;
	}
	byte_queue_take(&conn->in, FRAME_HEADER_BYTES);
	if ((frame->flags & (FRAME_ANSWER | FRAME_MORE)) != 0) {
		connection_reject(conn, "an answer in the place of a request");
		return;
	}
	conn->left = frame->length;
	if (frame->length <= kind->body_max) {
		conn->state = CONNECTION_BODY;
	} else if ((frame->type != FRAME_SET && frame->type != FRAME_FILL) ||
	    kind->stream_begin == NULL ||
	    frame->length > POOL_MAX_BYTES) {
		connection_reject(conn, "a body longer than allowed");
	} else {
		conn->state = kind->stream_begin(conn, frame) ?
		    CONNECTION_STREAM : CONNECTION_SKIP;
	}
}

static void
end_stream(struct connection *conn)
{
	conn->kind->stream_end(conn, &conn->frame);
	free(conn->stream);
	conn->stream = NULL;
}

static enum step
step_body_in_parts(struct connection *conn)
{
	size_t have = byte_queue_length(&conn->in);

	if (have == 0 && conn->left > 0) {
		return STEP_STARVED;
	}
	have = have < conn->left ? have : (size_t)conn->left;
	if (conn->state == CONNECTION_STREAM) {
		set_stream_feed(conn->stream, byte_queue_front(&conn->in),
		    have, clock_boot_now());
	}
	byte_queue_take(&conn->in, have);
	conn->left -= have;
	if (conn->left == 0) {
		if (conn->state == CONNECTION_STREAM) {
			end_stream(conn);
		}
		conn->state = CONNECTION_HEADER;
	}
	return STEP_DONE;
}

static enum step
step(struct connection *conn)
{
	size_t have = byte_queue_length(&conn->in);

	switch (conn->state) {
	case CONNECTION_HEADER:
		if (have < FRAME_HEADER_BYTES) {
			return STEP_STARVED;
		}
		begin_frame(conn);
		return STEP_DONE;
	case CONNECTION_BODY:
		if (have < conn->frame.length) {
			return STEP_STARVED;
		}
		conn->state = CONNECTION_HEADER;
		worker_count_request(conn->worker);
		conn->kind->frame(conn, &conn->frame,
		    byte_queue_front(&conn->in));
		byte_queue_take(&conn->in, (size_t)conn->frame.length);
		return STEP_DONE;
	default:
		return step_body_in_parts(conn);
	}
}

/* True if it stopped because answers wait to be taken. */
static bool
process(struct connection *conn)
{
	for (unsigned i = 0; !conn->closing && !conn->broken; i++) {
		if (connection_out_is_full(conn)) {
			return true;
		}
		if (conn->waiting) {
			return false;
		}
		if (i >= 2 * FRAMES_PER_TURN) {
			worker_resume(conn->worker, conn);
			return false;
		}
		if (step(conn) == STEP_STARVED) {
			return false;
		}
	}
	return false;
}

void
connection_turn(struct connection *conn)
{
	unsigned events = 0;

	/* Each round sends something, and what was read is bounded. */
	while (process(conn)) {
		connection_out_flush(conn);
		if (conn->broken || connection_out_is_full(conn)) {
			break;
		}
	}
	if (!conn->broken && !conn->closing && conn->kind->settle != NULL &&
	    !conn->kind->settle(conn)) {
		worker_resume(conn->worker, conn);
	}
	connection_out_flush(conn);
	if (!conn->waiting && !conn->resume && !connection_out_is_full(conn) &&
	    (conn->eof || (conn->worker->draining &&
	    conn->state == CONNECTION_HEADER &&
	    byte_queue_length(&conn->in) == 0))) {
		conn->closing = true;
	}
	if (conn->broken ||
	    (conn->closing && byte_queue_length(&conn->out) == 0)) {
		connection_destroy(conn);
		return;
	}
	if (conn->gone && !conn->eof && !conn->closing && !conn->waiting &&
	    !connection_out_is_full(conn)) {
		/*
		 * A child may hold the socket open: no event will come.  While
		 * nothing may be read, the end of that wait is the event.
		 */
		worker_resume(conn->worker, conn);
	}
	if (!conn->closing && !conn->waiting && !conn->eof &&
	    !connection_out_is_full(conn) && !conn->resume) {
		events |= EVENT_READ;
	}
	if (byte_queue_length(&conn->out) > 0) {
		events |= EVENT_WRITE;
	}
	event_io_change(conn->worker->loop, &conn->io, events);
}

static void
read_some(struct connection *conn)
{
	size_t have = byte_queue_length(&conn->in);
	size_t room = READ_BYTES;
	uint8_t *at;
	ssize_t length;

	if (conn->state == CONNECTION_BODY && conn->frame.length > have &&
	    conn->frame.length - have > room) {
		room = (size_t)conn->frame.length - have;
	} else if (have > 0 && have < READ_BYTES) {
		room = READ_BYTES - have;
	}
	at = byte_queue_reserve(&conn->in, room);
	if (at == NULL) {
		conn->broken = true;
		return;
	}
	length = recv(conn->fd, at, room, MSG_DONTWAIT);
	if (length > 0) {
		byte_queue_filled(&conn->in, (size_t)length);
		conn->in_moved_ms = clock_boot_now().ms;
		return;
	}
	byte_queue_take(&conn->in, 0);
	conn->eof = length == 0 || conn->gone ||
	    (errno != EAGAIN && errno != EINTR);
}

void
connection_read_turn(struct connection *conn)
{
	if (!conn->closing && !conn->waiting && !conn->eof &&
	    byte_queue_length(&conn->in) < (conn->state == CONNECTION_BODY ?
	    conn->frame.length : READ_BYTES)) {
		read_some(conn);
	}
	worker_beat(conn->worker);
	connection_turn(conn);
}

static void
io_happened(void *arg, unsigned events)
{
	struct connection *conn = arg;

	if ((events & EVENT_READ) != 0) {
		connection_read_turn(conn);
	} else {
		connection_turn(conn);
	}
}

bool
connection_is_busy(const struct connection *conn)
{
	return conn->state != CONNECTION_HEADER || conn->waiting ||
	    byte_queue_length(&conn->in) > 0 ||
	    byte_queue_length(&conn->out) > 0;
}

void
connection_tick(struct connection *conn, struct boot_ms now)
{
	bool within = conn->state != CONNECTION_HEADER ||
	    byte_queue_length(&conn->in) > 0;

	if (byte_queue_length(&conn->out) > 0 &&
	    now.ms > conn->out_moved_ms + CONNECTION_STALL_MS) {
		log_line(LOG_LEVEL_WARNING, "client-dropped",
		    "pid=%d uid=%u why=\"does not read its answers\"",
		    (int)conn->peer.pid, conn->peer.uid);
		worker_count_hangup(conn->worker);
		conn->broken = true;
	} else if (within && !conn->waiting && !connection_out_is_full(conn) &&
	    now.ms > conn->in_moved_ms + CONNECTION_STALL_MS) {
		log_line(LOG_LEVEL_WARNING, "client-dropped",
		    "pid=%d uid=%u why=\"stopped within a request\"",
		    (int)conn->peer.pid, conn->peer.uid);
		worker_count_hangup(conn->worker);
		conn->broken = true;
	} else if (conn->kind->stream_begin != NULL &&
	    conn->session == NULL && now.ms > conn->since_ms +
	    CONNECTION_GREET_MS) {
		conn->closing = true;
	}
	connection_turn(conn);
}
