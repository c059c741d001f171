/* SPDX-License-Identifier: ISC */

/*
 * Frames out of a stream of bytes, however it is cut.
 */
#include "wire.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct wire wire;
static int peer;

static void
setup(void)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
	    0);
	wire_init(&wire);
	wire.fd = fds[0];
	peer = fds[1];
}

static void
teardown(void)
{
	wire_close(&wire);
	(void)close(peer);
}

TestSuite(wire, .init = setup, .fini = teardown);

/* One frame behind another in bytes; its length. */
static size_t
put_frame(uint8_t *bytes, uint64_t id, const void *body, size_t length)
{
	struct frame frame = {
		.type = FRAME_PING,
		.flags = FRAME_ANSWER,
		.id = id,
		.length = length,
	};

	frame_encode(bytes, &frame);
	memcpy(bytes + FRAME_HEADER_BYTES, body, length);
	return FRAME_HEADER_BYTES + length;
}

static void
send_bytes(const uint8_t *bytes, size_t length, int passed_fd)
{
	union {
		struct cmsghdr	align;
		uint8_t		room[CMSG_SPACE(sizeof(int))];
	} control = { .align = {
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	struct iovec part = { (void *)(uintptr_t)bytes, length };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (passed_fd >= 0) {
		memcpy(CMSG_DATA(&control.align), &passed_fd, sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	cr_assert_eq(sendmsg(peer, &message, 0), (ssize_t)length);
}

static void
expect(enum result result, uint64_t id, const char *body)
{
	cr_assert_eq(result, OK);
	cr_assert_eq(wire.frame.id, id);
	cr_assert_eq(wire.frame.length, strlen(body));
	cr_assert_eq(memcmp(wire.body, body, strlen(body)), 0);
}

Test(wire, frames_that_came_together_need_no_more_reads)
{
	uint8_t bytes[400];
	size_t length = put_frame(bytes, 1, "one", 3);

	length += put_frame(bytes + length, 2, "", 0);
	length += put_frame(bytes + length, 3, "three", 5);
	cr_assert_eq(wire_receive(&wire), BUSY);
	cr_assert_eq(wire_receive_read(&wire), BUSY);
	send_bytes(bytes, length, -1);
	cr_assert_eq(wire_receive_read(&wire), BUSY, "it does not read");
	expect(wire_receive(&wire), 1, "one");
	expect(wire_receive_read(&wire), 2, "");
	expect(wire_receive_read(&wire), 3, "three");
	cr_assert_eq(wire_receive_read(&wire), BUSY);
	cr_assert_eq(wire_receive(&wire), BUSY);
}

Test(wire, frames_may_be_cut_anywhere)
{
	uint8_t bytes[200];
	size_t first = put_frame(bytes, 7, "seven", 5);
	size_t length = first + put_frame(bytes + first, 8, "eight", 5);

	for (size_t cut = 1; cut < length; cut++) {
		enum result result;

		send_bytes(bytes, cut, -1);
		result = wire_receive(&wire);
		if (cut >= first) {
			expect(result, 7, "seven");
			cr_assert_eq(wire_receive(&wire), BUSY);
		} else {
			cr_assert_eq(result, BUSY);
		}
		send_bytes(bytes + cut, length - cut, -1);
		if (cut < first) {
			expect(wire_receive(&wire), 7, "seven");
		}
		expect(wire_receive(&wire), 8, "eight");
		cr_assert_eq(wire_receive(&wire), BUSY);
	}
}

Test(wire, a_descriptor_comes_with_the_last_frame_that_was_read)
{
	uint8_t bytes[300];
	size_t first = put_frame(bytes, 1, "plain", 5);
	size_t second = put_frame(bytes + first, 2, "passes", 6);
	size_t third = put_frame(bytes + first + second, 3, "after", 5);
	int passed = dup(peer);

	send_bytes(bytes, first, -1);
	send_bytes(bytes + first, second, passed);
	send_bytes(bytes + first + second, third, -1);
	(void)close(passed);
	expect(wire_receive(&wire), 1, "plain");
	expect(wire_receive(&wire), 2, "passes");
	cr_assert_geq(wire.passed_fd, 0);
	passed = wire.passed_fd;
	wire.passed_fd = -1;
	cr_assert_eq(close(passed), 0);
	expect(wire_receive(&wire), 3, "after");
	cr_assert_eq(wire.passed_fd, -1);
}

Test(wire, a_descriptor_that_nobody_takes_is_closed)
{
	uint8_t bytes[200];
	size_t first = put_frame(bytes, 1, "passes", 6);
	size_t second = put_frame(bytes + first, 2, "after", 5);
	int fd;

	send_bytes(bytes, first, peer);
	send_bytes(bytes + first, second, -1);
	expect(wire_receive(&wire), 1, "passes");
	fd = wire.passed_fd;
	cr_assert_geq(fd, 0);
	expect(wire_receive(&wire), 2, "after");
	cr_assert_eq(wire.passed_fd, -1);
	cr_assert_eq(close(fd), -1, "it was closed already");
}

Test(wire, what_is_too_long_to_keep_is_passed_over)
{
	static uint8_t bytes[3 * WIRE_READ_BYTES];
	static uint8_t body[2 * WIRE_READ_BYTES];
	size_t first, second;

	memset(body, 'x', sizeof(body));
	first = put_frame(bytes, 1, body, sizeof(body));
	second = put_frame(bytes + first, 2, "after", 5);
	send_bytes(bytes, first + second, -1);
	cr_assert_eq(wire_receive(&wire), OK);
	cr_assert_eq(wire.frame.length, sizeof(body));
	cr_assert_eq(memcmp(wire.body, body, WIRE_BODY_KEPT), 0);
	expect(wire_receive(&wire), 2, "after");
}

Test(wire, nonsense_after_a_frame_is_corrupt)
{
	uint8_t bytes[200];
	size_t length = put_frame(bytes, 1, "fine", 4);

	memset(bytes + length, 0x5a, FRAME_HEADER_BYTES);
	send_bytes(bytes, length + FRAME_HEADER_BYTES, -1);
	expect(wire_receive(&wire), 1, "fine");
	cr_assert_eq(wire_receive_read(&wire), CORRUPT);
}

Test(wire, a_hang_up_comes_after_what_was_said)
{
	uint8_t bytes[100];
	size_t length = put_frame(bytes, 1, "last words", 10);

	send_bytes(bytes, length, -1);
	cr_assert_eq(shutdown(peer, SHUT_WR), 0);
	expect(wire_receive(&wire), 1, "last words");
	cr_assert_eq(wire_receive(&wire), CLOSED);
}
