/* SPDX-License-Identifier: ISC */

#include "connect.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "connect_path.h"
#include "protocol.h"
#include "result.h"

/* A longer answer is taken for damage; a value is at most 1 MiB of one. */
#define ANSWER_BYTES_MAX	(64u << 20)

#define MS_PER_S		1000

__attribute__((format(printf, 3, 4)))
static enum connect_outcome
fault(struct connect *link, enum connect_outcome outcome, const char *format,
    ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(link->text, sizeof(link->text), format,
	    args);		/* a cut text is still a text */
	va_end(args);
	return outcome;
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);	/* cannot fail */
	return (uint64_t)now.tv_sec * MS_PER_S +
	    (uint64_t)now.tv_nsec / 1000000;
}

static void
hang_up(struct connect *link)
{
	if (link->fd >= 0) {
		(void)close(link->fd);	/* nothing is buffered in it */
		link->fd = -1;
	}
}

void
connect_init(struct connect *link)
{
	memset(link, 0, sizeof(*link));
	link->timeout_ms = CONNECT_TIMEOUT_MS;
	link->fd = -1;
}

void
connect_fini(struct connect *link)
{
	hang_up(link);
}

static bool
was_stopped(const struct connect *link)
{
	/* Relaxed: the flag stands alone and orders nothing. */
	return link->stop != NULL &&
	    atomic_load_explicit(link->stop, memory_order_relaxed);
}

/* Wait until fd is ready for events, or the deadline is over. */
static enum connect_outcome
wait_for(struct connect *link, short events, uint64_t deadline_ms)
{
	struct pollfd poll_fd = { .fd = link->fd, .events = events };

	for (;;) {
		uint64_t now = now_ms();
		uint64_t left = now < deadline_ms ? deadline_ms - now : 0;
		int ready;

		if (was_stopped(link)) {
			return fault(link, CONNECT_STOPPED, "interrupted");
		}
		if (left == 0) {
			return fault(link, CONNECT_TIMEOUT, "no answer within "
			    "%llu ms", (unsigned long long)link->timeout_ms);
		}
		ready = poll(&poll_fd, 1, left > INT32_MAX ? INT32_MAX :
		    (int)left);
		if (ready > 0) {
			return CONNECT_FINE;
		}
		if (ready < 0 && errno != EINTR) {
			return fault(link, CONNECT_UNREACHABLE,
			    "cannot wait: %s", strerror(errno));
		}
	}
}

static enum connect_outcome
send_all(struct connect *link, const void *bytes, size_t length,
    uint64_t deadline_ms)
{
	const char *from = bytes;

	while (length > 0) {
		ssize_t sent = send(link->fd, from, length,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		enum connect_outcome outcome;

		if (sent >= 0) {
			from += sent;
			length -= (size_t)sent;
		} else if (errno == EAGAIN || errno == EINTR) {
			outcome = wait_for(link, POLLOUT, deadline_ms);
			if (outcome != CONNECT_FINE) {
				return outcome;
			}
		} else {
			return fault(link, CONNECT_UNREACHABLE,
			    "the daemon hung up: %s", strerror(errno));
		}
	}
	return CONNECT_FINE;
}

static enum connect_outcome
receive_all(struct connect *link, void *bytes, size_t length,
    uint64_t deadline_ms)
{
	char *to = bytes;

	while (length > 0) {
		ssize_t got = recv(link->fd, to, length, MSG_DONTWAIT);
		enum connect_outcome outcome;

		if (got > 0) {
			to += got;
			length -= (size_t)got;
		} else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
			outcome = wait_for(link, POLLIN, deadline_ms);
			if (outcome != CONNECT_FINE) {
				return outcome;
			}
		} else {
			return fault(link, CONNECT_UNREACHABLE,
			    "the daemon hung up%s%s", got < 0 ? ": " : "",
			    got < 0 ? strerror(errno) : "");
		}
	}
	return CONNECT_FINE;
}

static enum connect_outcome
dial(struct connect *link)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval limit = {
		.tv_sec = (time_t)(link->timeout_ms / MS_PER_S),
		.tv_usec = (suseconds_t)(link->timeout_ms % MS_PER_S * 1000),
	};
	int error;

	if (!connect_path(address.sun_path, sizeof(address.sun_path),
	    link->directory)) {
		return fault(link, CONNECT_UNREACHABLE, "the path of the "
		    "socket is above %zu bytes", sizeof(address.sun_path) - 1);
	}
	link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* It bounds connect() too, which waits when the queue is full. */
	if (link->fd < 0 || setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO,
	    &limit, sizeof(limit)) != 0) {
		return fault(link, CONNECT_UNREACHABLE, "cannot make a "
		    "socket: %s", strerror(errno));
	}
	if (connect(link->fd, (const struct sockaddr *)&address,
	    sizeof(address)) == 0) {
		return CONNECT_FINE;
	}
	error = errno;
	if (error == EINTR && was_stopped(link)) {
		return fault(link, CONNECT_STOPPED, "interrupted");
	}
	return fault(link, error == EACCES || error == EPERM ?
	    CONNECT_NO_RIGHTS : error == EAGAIN ? CONNECT_TIMEOUT :
	    CONNECT_UNREACHABLE, "%s: %s%s", address.sun_path,
	    strerror(error), error == ENOENT || error == ECONNREFUSED ?
	    "; is weird running?" : "");
}

/* A daemon that went away since the last call is dialled anew. */
static enum connect_outcome
have_connection(struct connect *link)
{
	struct pollfd poll_fd = { .fd = link->fd, .events = POLLIN };

	/* Nothing is due between calls: what there is to read is the end. */
	if (link->fd >= 0 && poll(&poll_fd, 1, 0) != 0) {
		hang_up(link);
	}
	return link->fd >= 0 ? CONNECT_FINE : dial(link);
}

static enum connect_outcome
send_request(struct connect *link, const char *verb, json_t *args,
    uint64_t deadline_ms)
{
	json_t *request = json_pack("{s:s, s:o}", "verb", verb, "args",
	    args != NULL ? args : json_object());
	char *body = request == NULL ? NULL : json_dumps(request,
	    JSON_COMPACT);
	struct frame frame = { .type = FRAME_ADMIN, .id = ++link->last_id };
	uint8_t header[FRAME_HEADER_BYTES];
	enum connect_outcome outcome;

	json_decref(request);
	if (body == NULL) {
		return fault(link, CONNECT_NO_MEMORY, "out of memory");
	}
	frame.length = strlen(body);
	if (frame.length > FRAME_ADMIN_MAX) {
		free(body);
		link->status = TOO_LARGE;
		return fault(link, CONNECT_REFUSED, "the request is above "
		    "%u bytes", FRAME_ADMIN_MAX);
	}
	frame_encode(header, &frame);
	outcome = send_all(link, header, sizeof(header), deadline_ms);
	if (outcome == CONNECT_FINE) {
		outcome = send_all(link, body, frame.length, deadline_ms);
	}
	free(body);
	return outcome;
}

/* The bodies of all frames of the answer, one after the other. */
static enum connect_outcome
receive_body(struct connect *link, char **body, size_t *length,
    uint64_t deadline_ms)
{
	struct frame frame = { .flags = FRAME_MORE };
	uint8_t header[FRAME_HEADER_BYTES];
	enum connect_outcome outcome;

	while (frame.flags & FRAME_MORE) {
		char *more;

		outcome = receive_all(link, header, sizeof(header),
		    deadline_ms);
		if (outcome != CONNECT_FINE) {
			return outcome;
		}
		if (!frame_decode(header, &frame) ||
		    frame.type != FRAME_ADMIN || frame.id != link->last_id ||
		    !(frame.flags & FRAME_ANSWER) ||
		    frame.length > ANSWER_BYTES_MAX - *length) {
			return fault(link, CONNECT_NONSENSE, "what came is "
			    "no answer to this request");
		}
		more = realloc(*body, *length + frame.length + 1);
		if (more == NULL) {
			return fault(link, CONNECT_NO_MEMORY,
			    "out of memory");
		}
		*body = more;
		outcome = receive_all(link, more + *length, frame.length,
		    deadline_ms);
		if (outcome != CONNECT_FINE) {
			return outcome;
		}
		*length += frame.length;
	}
	link->status = frame.status;
	return CONNECT_FINE;
}

/* The answer, or what it says instead of one. */
static enum connect_outcome
read_answer(struct connect *link, const char *body, size_t length,
    json_t **answer)
{
	json_t *object = json_loadb(body, length, JSON_ALLOW_NUL, NULL);
	const json_t *error = json_object_get(object, "error");
	const char *text = json_string_value(json_object_get(error, "text"));

	if (link->status == OK && error == NULL && json_is_object(object)) {
		*answer = object;
		return CONNECT_FINE;
	}
	if (link->status == OK && error == NULL) {
		json_decref(object);
		return fault(link, CONNECT_NONSENSE, "the answer is no JSON "
		    "object");
	}
	if (text == NULL && object == NULL && length > 0) {
		/* A text for people, in the place of an object. */
		(void)fault(link, CONNECT_REFUSED, "%.*s", (int)(length <
		    CONNECT_TEXT_BYTES ? length : CONNECT_TEXT_BYTES), body);
	} else {
		(void)fault(link, CONNECT_REFUSED, "%s", text != NULL ? text :
		    result_text((enum result)link->status));
	}
	json_decref(object);
	return CONNECT_REFUSED;
}

enum connect_outcome
connect_call(struct connect *link, const char *verb, json_t *args,
    json_t **answer)
{
	uint64_t deadline_ms = now_ms() + link->timeout_ms;
	enum connect_outcome outcome = have_connection(link);
	char *body = NULL;
	size_t length = 0;

	*answer = NULL;
	if (outcome != CONNECT_FINE) {
		json_decref(args);
		hang_up(link);
		return outcome;
	}
	outcome = send_request(link, verb, args, deadline_ms);
	if (outcome == CONNECT_FINE) {
		outcome = receive_body(link, &body, &length, deadline_ms);
	}
	if (outcome != CONNECT_FINE) {
		/* A late answer must not be taken for that of the next. */
		hang_up(link);
	} else {
		outcome = read_answer(link, body, length, answer);
	}
	free(body);
	return outcome;
}
