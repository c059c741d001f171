/* SPDX-License-Identifier: ISC */

/*
 * Frames by hand.
 */
#include "raw.h"

#include "ring.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define HELLO_BODY_BYTES	16

int
raw_connect(const struct scene *scene)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval limit = { .tv_sec = SCENE_DEADLINE_MS / 1000 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		return -1;
	}
	memcpy(address.sun_path, scene->socket, strlen(scene->socket));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
	    sizeof(limit)) < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO,
	    &limit, sizeof(limit)) < 0 || connect(fd,
	    (const struct sockaddr *)&address, sizeof(address)) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

bool
raw_send(int fd, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	while (length > 0) {
		ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);

		if (sent <= 0) {
			return false;
		}
		at += sent;
		length -= (size_t)sent;
	}
	return true;
}

bool
raw_send_frame(int fd, enum frame_type type, uint64_t tail, const void *body,
    size_t length)
{
	const struct frame frame = {
		.type = (uint8_t)type,
		.id = 7,
		.ring_tail = tail,
		.length = length,
	};
	uint8_t header[FRAME_HEADER_BYTES];

	frame_encode(header, &frame);
	return raw_send(fd, header, sizeof(header)) &&
	    raw_send(fd, body, length);
}

static void
take_fd(struct msghdr *message, int *fd)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);

	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS) {
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	}
}

static bool
receive(int fd, uint8_t *out, size_t length, int *passed)
{
	while (length > 0) {
		union {
			struct cmsghdr	align;
			uint8_t		bytes[CMSG_SPACE(sizeof(int))];
		} control;
		struct iovec iov = { .iov_base = out, .iov_len = length };
		struct msghdr message = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes),
		};
		ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);

		if (got <= 0) {
			return false;
		}
		take_fd(&message, passed);
		out += got;
		length -= (size_t)got;
	}
	return true;
}

bool
raw_receive(int fd, struct raw_answer *answer)
{
	uint8_t header[FRAME_HEADER_BYTES];
	uint8_t spare;

	answer->fd = -1;
	if (!receive(fd, header, sizeof(header), &answer->fd) ||
	    !frame_decode(header, &answer->frame)) {
		return false;
	}
	for (uint64_t i = 0; i < answer->frame.length; i++) {
		uint8_t *at = i < RAW_ANSWER_BYTES ? &answer->body[i] :
		    &spare;

		if (!receive(fd, at, 1, &answer->fd)) {
			return false;
		}
	}
	return true;
}

bool
raw_hung_up(int fd)
{
	uint8_t bytes[4096];
	ssize_t got;

	do {
		got = recv(fd, bytes, sizeof(bytes), 0);
	} while (got > 0);
	return got == 0 || errno == ECONNRESET;
}

int
raw_hello(const struct scene *scene, int *pool_fd)
{
	static const char pool[] = "default";
	uint8_t body[HELLO_BODY_BYTES + sizeof(pool) - 1] = { 0 };
	struct raw_answer answer = { .fd = -1 };
	int fd = raw_connect(scene);

	wire_put_u32(body, FRAME_VERSION);
	wire_put_u32(body + 4, (uint32_t)getpid());
	wire_put_u16(body + 8, sizeof(pool) - 1);
	memcpy(body + HELLO_BODY_BYTES, pool, sizeof(pool) - 1);
	if (fd < 0 || !raw_send_frame(fd, FRAME_HELLO, 0, body,
	    sizeof(body)) || !raw_receive(fd, &answer) ||
	    answer.frame.status != WEIR_OK) {
		if (fd >= 0) {
			(void)close(fd);
		}
		fd = -1;
	}
	if (pool_fd != NULL) {
		*pool_fd = answer.fd;
	} else if (answer.fd >= 0) {
		(void)close(answer.fd);
	}
	return fd;
}

struct ring_shared *
raw_ring(int fd, int *ring_fd, size_t *bytes)
{
	struct raw_answer answer;
	struct stat st;
	void *map;

	if (!raw_send_frame(fd, FRAME_RING, 0, NULL, 0) ||
	    !raw_receive(fd, &answer) || answer.frame.status != WEIR_OK ||
	    answer.fd < 0 || fstat(answer.fd, &st) < 0) {
		return NULL;
	}
	*bytes = (size_t)st.st_size;
	map = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	    answer.fd, 0);
	*ring_fd = answer.fd;
	return map == MAP_FAILED ? NULL : map;
}
