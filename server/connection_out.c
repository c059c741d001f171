/* SPDX-License-Identifier: ISC */

/*
 * Answers to bytes.
 */
#include "connection_out.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

void
connection_answer(struct connection *conn, const struct frame *request,
    enum result status, uint16_t flags, const void *body, size_t length)
{
	struct frame frame = {
		.type = request->type,
		.flags = FRAME_ANSWER | flags,
		.status = (int32_t)status,
		.id = request->id,
		.length = length,
	};
	uint8_t header[FRAME_HEADER_BYTES];

	frame_encode(header, &frame);
	if (byte_queue_length(&conn->out) == 0) {
		conn->out_moved_ms = clock_boot_now().ms;
	}
	if (!byte_queue_append(&conn->out, header, sizeof(header)) ||
	    !byte_queue_append(&conn->out, body, length)) {
		conn->broken = true;
	}
}

void
connection_answer_text(struct connection *conn, const struct frame *request,
    enum result status, const char *text)
{
	connection_answer(conn, request, status, 0, text, strlen(text));
}

void
connection_pass_fd(struct connection *conn, int fd, bool close_it)
{
	conn->pass_fd = fd;
	conn->pass_at = byte_queue_length(&conn->out);
	conn->pass_close = close_it;
}

/* The bytes from the descriptor's place on, and the descriptor. */
static ssize_t
send_with_fd(const struct connection *conn)
{
	struct iovec iov = {
		.iov_base = byte_queue_front(&conn->out),
		.iov_len = byte_queue_length(&conn->out),
	};
	union {
		struct cmsghdr	align;
		uint8_t		bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *header;

	memset(&control, 0, sizeof(control));
	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &conn->pass_fd, sizeof(int));
	return sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t
send_some(struct connection *conn)
{
	size_t length = byte_queue_length(&conn->out);
	ssize_t sent;

	if (conn->pass_fd < 0 || conn->pass_at > 0) {
		if (conn->pass_fd >= 0) {
			length = conn->pass_at;
		}
		sent = send(conn->fd, byte_queue_front(&conn->out), length,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0 && conn->pass_fd >= 0) {
			conn->pass_at -= (size_t)sent;
		}
		return sent;
	}
	sent = send_with_fd(conn);
	if (sent > 0) {
		if (conn->pass_close) {
			(void)close(conn->pass_fd);
		}
		conn->pass_fd = -1;
	}
	return sent;
}

/*
 * It hung up, and what it sent before that may lie in the socket yet: a
 * client's is done all the same, and the end of it is read, not met here.
 */
static bool
go_on_unheard(struct connection *conn)
{
	if (conn->session == NULL || (errno != EPIPE && errno != ECONNRESET)) {
		return false;
	}
	if (conn->pass_fd >= 0 && conn->pass_close) {
		(void)close(conn->pass_fd);
	}
	conn->pass_fd = -1;
	byte_queue_clear(&conn->out);
	return true;
}

void
connection_out_flush(struct connection *conn)
{
	while (!conn->broken && byte_queue_length(&conn->out) > 0) {
		ssize_t sent = send_some(conn);

		if (sent > 0) {
			byte_queue_take(&conn->out, (size_t)sent);
			conn->out_moved_ms = clock_boot_now().ms;
		} else if (sent < 0 && errno == EAGAIN) {
			return;
		} else if (sent == 0 || (errno != EINTR &&
		    !go_on_unheard(conn))) {
			conn->broken = true;
		}
	}
}
