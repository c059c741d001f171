/* SPDX-License-Identifier: ISC */

/*
 * The system calls of the socket: EINTR, short counts, descriptors that come
 * with the bytes.  A dead peer is CLOSED, never a signal.
 */
#include "wire.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define US_PER_S	1000000
#define NS_PER_US	1000
/* More than one comes from a peer that is not ours; all but one are closed. */
#define PASSED_FDS_MAX	4

static uint64_t
monotonic_ns(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);	/* cannot fail */
	return (uint64_t)ts.tv_sec * CLOCK_NS_PER_S + (uint64_t)ts.tv_nsec;
}

struct deadline
deadline_after(uint32_t timeout_ms)
{
	return (struct deadline){
		monotonic_ns() + (uint64_t)timeout_ms * CLOCK_NS_PER_MS
	};
}

uint64_t
deadline_left_ns(struct deadline deadline)
{
	uint64_t now_ns = monotonic_ns();

	return deadline.ns > now_ns ? deadline.ns - now_ns : 0;
}

bool
deadline_is_over(struct deadline deadline)
{
	return deadline_left_ns(deadline) == 0;
}

void
wire_init(struct wire *wire)
{
	memset(wire, 0, sizeof(*wire));
	wire->fd = -1;
	wire->passed_fd = -1;
}

static enum result
result_of_connect(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
	case ECONNRESET:
		return NO_SERVER;
	case EACCES:
	case EPERM:
		return DENIED;
	case EAGAIN:
		/* The daemon's queue of connections stayed full. */
		return TIMEOUT;
	default:
		return SYSTEM;
	}
}

/* connect() waits while the daemon's queue is full, as long as this says. */
static void
limit_connect(int fd, struct deadline deadline)
{
	uint64_t now = monotonic_ns();
	uint64_t left_us = now < deadline.ns ?
	    (deadline.ns - now) / NS_PER_US : 0;
	struct timeval limit;

	/* 0 would mean for ever. */
	left_us = left_us == 0 ? 1 : left_us;
	limit.tv_sec = (time_t)(left_us / US_PER_S);
	limit.tv_usec = (suseconds_t)(left_us % US_PER_S);
	/* It can fail for a bad descriptor alone. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

enum result
wire_connect(struct wire *wire, const char *path, struct deadline deadline)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	enum result result;
	int fd, error, flags;

	if (strlen(path) >= sizeof(address.sun_path)) {
		return INVALID;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return SYSTEM;
	}
	do {
		limit_connect(fd, deadline);
		error = connect(fd, (const struct sockaddr *)&address,
		    sizeof(address)) == 0 ? 0 : errno;
	} while (error == EINTR && !deadline_is_over(deadline));
	if (error != 0) {
		result = error == EINTR ? TIMEOUT : result_of_connect(error);
		goto close_fd;
	}
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		error = errno;
		result = SYSTEM;
		goto close_fd;
	}
	wire->fd = fd;
	return OK;

close_fd:
	(void)close(fd);
	errno = error;
	return result;
}

static void
close_passed(struct wire *wire)
{
	if (wire->passed_fd >= 0) {
		(void)close(wire->passed_fd);
		wire->passed_fd = -1;
	}
}

void
wire_close(struct wire *wire)
{
	close_passed(wire);
	if (wire->fd >= 0) {
		(void)close(wire->fd);
	}
	free(wire->queue);
	wire_init(wire);
}

static bool
would_block(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK;
}

static void
move_on(struct iovec *parts, int count, size_t sent)
{
	for (int i = 0; i < count && sent > 0; i++) {
		size_t step = sent < parts[i].iov_len ? sent :
		    parts[i].iov_len;

		parts[i].iov_base = (uint8_t *)parts[i].iov_base + step;
		parts[i].iov_len -= step;
		sent -= step;
	}
}

enum result
wire_send(struct wire *wire, struct iovec *parts, int count)
{
	for (;;) {
		struct msghdr message = { 0 };
		ssize_t sent;

		while (count > 0 && parts->iov_len == 0) {
			parts++;
			count--;
		}
		if (count == 0) {
			return OK;
		}
		message.msg_iov = parts;
		message.msg_iovlen = (size_t)count;
		sent = sendmsg(wire->fd, &message,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent >= 0) {
			move_on(parts, count, (size_t)sent);
		} else if (would_block(errno)) {
			return BUSY;
		} else if (errno != EINTR) {
			return CLOSED;
		}
	}
}

enum result
wire_flush(struct wire *wire)
{
	struct iovec part = {
		.iov_base = wire->queue + wire->queue_at,
		.iov_len = wire_queued_bytes(wire),
	};
	enum result result;

	if (part.iov_len == 0) {
		return OK;
	}
	result = wire_send(wire, &part, 1);
	wire->queue_at = wire->queue_end - part.iov_len;
	if (part.iov_len == 0) {
		wire->queue_at = 0;
		wire->queue_end = 0;
	}
	return result;
}

static bool
make_room(struct wire *wire, size_t need)
{
	size_t queued = wire_queued_bytes(wire);
	size_t bytes;
	uint8_t *queue;

	if (wire->queue_at > 0) {
		memmove(wire->queue, wire->queue + wire->queue_at, queued);
		wire->queue_at = 0;
		wire->queue_end = queued;
	}
	if (need <= wire->queue_bytes - queued) {
		return true;
	}
	bytes = queued + need;
	bytes += bytes / 2;	/* not again at once */
	queue = bytes > queued ? realloc(wire->queue, bytes) : NULL;
	if (queue == NULL) {
		return false;
	}
	wire->queue = queue;
	wire->queue_bytes = bytes;
	return true;
}

enum result
wire_queue(struct wire *wire, const struct iovec *parts, int count)
{
	size_t sum = 0;

	for (int i = 0; i < count; i++) {
		sum += parts[i].iov_len;
	}
	if (!make_room(wire, sum)) {
		return NO_MEMORY;
	}
	for (int i = 0; i < count; i++) {
		if (parts[i].iov_len > 0) {
			memcpy(wire->queue + wire->queue_end,
			    parts[i].iov_base, parts[i].iov_len);
			wire->queue_end += parts[i].iov_len;
		}
	}
	return OK;
}

static void
take_descriptors(struct wire *wire, struct msghdr *message)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(message); c != NULL;
	    c = CMSG_NXTHDR(message, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET ||
		    c->cmsg_type != SCM_RIGHTS) {
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd),
			    sizeof(fd));
			close_passed(wire);
			wire->passed_fd = fd;
		}
	}
}

/* One recvmsg(): more of what lies in wire->in. */
static enum result
read_more(struct wire *wire)
{
	union {
		struct cmsghdr	align;
		uint8_t		room[CMSG_SPACE(PASSED_FDS_MAX * sizeof(int))];
	} control;
	struct iovec part = {
		.iov_base = wire->in,
		.iov_len = sizeof(wire->in),
	};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t received;

	do {
		received = recvmsg(wire->fd, &message,
		    MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (received < 0 && errno == EINTR);
	if (received < 0) {
		return would_block(errno) ? BUSY : CLOSED;
	}
	take_descriptors(wire, &message);
	wire->in_at = 0;
	wire->in_end = (size_t)received;
	return received == 0 ? CLOSED : OK;
}

/* Where the next byte goes; NULL: what is not kept. */
static uint8_t *
next_place(struct wire *wire, uint64_t *bytes)
{
	uint64_t at = wire->got_bytes, left;

	if (at < FRAME_HEADER_BYTES) {
		*bytes = FRAME_HEADER_BYTES - at;
		return wire->header + at;
	}
	at -= FRAME_HEADER_BYTES;
	left = wire->frame.length - at;
	if (at < WIRE_BODY_KEPT) {
		*bytes = left < WIRE_BODY_KEPT - at ? left :
		    WIRE_BODY_KEPT - at;
		return wire->body + at;
	}
	*bytes = left;
	return NULL;
}

/* Of wire->in to the frame's next place. */
static void
move_bytes(struct wire *wire)
{
	uint64_t bytes;
	uint8_t *to = next_place(wire, &bytes);

	if (bytes > wire->in_end - wire->in_at) {
		bytes = wire->in_end - wire->in_at;
	}
	if (to != NULL) {
		memcpy(to, wire->in + wire->in_at, (size_t)bytes);
	}
	wire->in_at += (size_t)bytes;
	wire->got_bytes += bytes;
}

static bool
is_whole(const struct wire *wire)
{
	return wire->got_bytes >= FRAME_HEADER_BYTES &&
	    wire->got_bytes - FRAME_HEADER_BYTES == wire->frame.length;
}

enum result
wire_receive_read(struct wire *wire)
{
	if (is_whole(wire)) {
		/*
		 * The last one was handed out: begin the next.  What is read
		 * at once ends with a descriptor's bytes, so it belongs to
		 * the last frame of them.
		 */
		if (wire->in_at == wire->in_end) {
			close_passed(wire);
		}
		wire->got_bytes = 0;
	}
	while (wire->in_at < wire->in_end) {
		move_bytes(wire);
		if (wire->got_bytes == FRAME_HEADER_BYTES &&
		    (!frame_decode(wire->header, &wire->frame) ||
		    wire->frame.length > FRAME_BODY_MAX)) {
			return CORRUPT;
		}
		if (is_whole(wire)) {
			return OK;
		}
	}
	return BUSY;
}

enum result
wire_receive(struct wire *wire)
{
	enum result result;

	while ((result = wire_receive_read(wire)) == BUSY) {
		result = read_more(wire);
		if (result != OK) {
			return result;
		}
		wire->in_short = wire->in_end < sizeof(wire->in);
	}
	return result;
}

enum result
wire_wait(const struct wire *wire, bool writable, struct deadline deadline)
{
	struct pollfd watched = {
		.fd = wire->fd,
		.events = (short)(POLLIN | (writable ? POLLOUT : 0)),
	};

	for (;;) {
		uint64_t left_ns = deadline_left_ns(deadline);
		struct timespec left = {
			.tv_sec = (time_t)(left_ns / CLOCK_NS_PER_S),
			.tv_nsec = (long)(left_ns % CLOCK_NS_PER_S),
		};
		int ready;

		if (left_ns == 0) {
			return TIMEOUT;
		}
		ready = ppoll(&watched, 1, &left, NULL);
		if (ready > 0) {
			return OK;
		}
		if (ready < 0 && errno != EINTR) {
			return SYSTEM;
		}
	}
}
