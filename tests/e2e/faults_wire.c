/* SPDX-License-Identifier: ISC */

/*
 * Clients that send what makes no sense, too much of it, or nothing: they
 * alone suffer.  While each does its worst another client is served, no
 * worker dies, and the daemon's own memory stays bounded.
 */
#include "misdeed.h"
#include "raw.h"
#include "wait_until.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY		1000u
#define GARBAGE_MAX	(200u << 10)

/* ---- bytes ---- */

static bool
send_garbage(struct misdeed_stage *stage)
{
	static uint8_t bytes[GARBAGE_MAX];
	uint64_t rounds = plain_amount(&stage->test, 60, 2000);

	for (uint64_t i = 0; i < rounds; i++) {
		size_t length = FRAME_HEADER_BYTES +
		    prng_below(&stage->prng, GARBAGE_MAX - FRAME_HEADER_BYTES);
		int fd = i % 2 == 0 ? raw_connect(&stage->scene) :
		    raw_hello(&stage->scene, NULL);
		bool dropped;

		misdeed_fill(stage, bytes, length);
		if (fd < 0) {
			return false;
		}
		/* It hangs up in the middle: that is no failure of ours. */
		(void)raw_send(fd, bytes, length);
		dropped = raw_hung_up(fd);
		(void)close(fd);
		if (!dropped) {
			return false;
		}
	}
	return true;
}

/* A good SET is cut at every place; nothing of it is stored. */
static bool
send_parts(struct misdeed_stage *stage)
{
	static const char key[] = "cut";
	struct wire_set set = { .key_length = 3, .value_length = 100 };
	uint8_t frame[FRAME_HEADER_BYTES + WIRE_SET_BYTES + 3 + 100] = { 0 };
	const struct frame head = {
		.type = FRAME_SET,
		.id = 1,
		.length = sizeof(frame) - FRAME_HEADER_BYTES,
	};
	struct weir *handle = scene_open(&stage->scene);
	int result = WEIR_MISS;
	bool fine = true;

	frame_encode(frame, &head);
	wire_set_encode(frame + FRAME_HEADER_BYTES, &set);
	memcpy(frame + FRAME_HEADER_BYTES + WIRE_SET_BYTES, key, 3);
	for (size_t cut = 0; cut < sizeof(frame) && fine; cut++) {
		int fd = raw_hello(&stage->scene, NULL);

		fine = fd >= 0 && raw_send(fd, frame, cut) &&
		    shutdown(fd, SHUT_WR) == 0 && raw_hung_up(fd);
		(void)close(fd);
		result = weir_get(handle, key, 3, NULL, 0, NULL, NULL);
		fine = fine && result == WEIR_MISS;
	}
	/* Byte by byte it is a good one. */
	if (fine) {
		struct raw_answer answer;
		int fd = raw_hello(&stage->scene, NULL);

		for (size_t i = 0; i < sizeof(frame); i++) {
			fine = fine && raw_send(fd, frame + i, 1);
		}
		fine = fine && raw_receive(fd, &answer) &&
		    answer.frame.status == WEIR_OK;
		(void)close(fd);
	}
	weir_close(handle);
	return fine;
}

static bool
send_huge_lengths(struct misdeed_stage *stage)
{
	static const uint64_t lengths[] = {
		UINT64_MAX, UINT64_MAX - FRAME_HEADER_BYTES + 1,
		UINT64_C(1) << 63, UINT64_C(1) << 48, UINT64_C(1) << 32,
	};
	uint8_t header[FRAME_HEADER_BYTES];

	for (unsigned type = 0; type < 34; type++) {
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]);
		    i++) {
			const struct frame frame = {
				.type = (uint8_t)type,
				.length = lengths[i],
			};
			int fd = raw_hello(&stage->scene, NULL);
			/* A SET or FILL up to the largest pool is taken and
			 * answered, it needs no memory. */
			bool is_skipped = (type == FRAME_SET ||
			    type == FRAME_FILL) &&
			    lengths[i] <= UINT64_C(1) << 40;
			bool fine;

			frame_encode(header, &frame);
			fine = fd >= 0 && raw_send(fd, header,
			    sizeof(header)) && (is_skipped || raw_hung_up(fd));
			(void)close(fd);
			if (!fine) {
				return false;
			}
		}
	}
	return true;
}

/* Each byte of a header wrong; what is not judged is the id. */
static bool
send_wrong_versions(struct misdeed_stage *stage)
{
	const struct frame frame = { .type = FRAME_PING, .id = 1 };
	struct raw_answer answer;
	uint8_t header[FRAME_HEADER_BYTES];
	uint8_t body[16] = { 9 };		/* of HELLO: protocol 9 */
	bool fine;
	int fd;

	for (size_t at = 0; at < 16; at++) {
		if (at == 5 || at == 7 || (at >= 8 && at < 12)) {
			/* Type and flags have tests of their own; of a
			 * request the status does not count. */
			continue;
		}
		frame_encode(header, &frame);
		header[at] ^= at == 6 ? FRAME_ANSWER : 0x5a;
		fd = raw_hello(&stage->scene, NULL);
		fine = fd >= 0 && raw_send(fd, header, sizeof(header)) &&
		    raw_hung_up(fd);
		(void)close(fd);
		if (!fine) {
			return false;
		}
	}
	fd = raw_connect(&stage->scene);
	fine = fd >= 0 && raw_send_frame(fd, FRAME_HELLO, 0, body,
	    sizeof(body)) && raw_receive(fd, &answer) &&
	    answer.frame.status == WEIR_LAYOUT_MISMATCH && raw_hung_up(fd);
	(void)close(fd);
	return fine;
}

/* ---- clients that do nothing ---- */

/* Requests without end, whose answers nobody reads. */
static bool
never_read(struct misdeed_stage *stage)
{
	const struct frame frame = { .type = FRAME_PING, .id = 1 };
	static uint8_t many[FRAME_HEADER_BYTES * 1000];
	uint64_t sent = 0;
	int fd = raw_hello(&stage->scene, NULL);

	for (size_t i = 0; i < sizeof(many); i += FRAME_HEADER_BYTES) {
		frame_encode(many + i, &frame);
	}
	/* It stops to read from us: then the pipe is full for good. */
	for (;;) {
		struct pollfd wait = { .fd = fd, .events = POLLOUT };
		ssize_t done;

		if (fd < 0 || sent > (64u << 20)) {
			return false;
		}
		if (poll(&wait, 1, 1000) == 0) {
			break;
		}
		done = send(fd, many, sizeof(many),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		sent += done > 0 ? (uint64_t)done : 0;
	}
	(void)bystander_goes_on(&stage->other, 100);
	(void)close(fd);
	return true;
}

static bool
connect_many(struct misdeed_stage *stage)
{
	static int fds[MANY];
	unsigned count = 0;
	bool went_on;

	for (unsigned i = 0; i < MANY; i++) {
		fds[i] = raw_hello(&stage->scene, NULL);
		count += fds[i] >= 0;
	}
	went_on = bystander_goes_on(&stage->other, 100);
	for (unsigned i = 0; i < MANY; i++) {
		if (fds[i] >= 0) {
			(void)close(fds[i]);
		}
	}
	return went_on && count == MANY;
}

static bool
clients_are_gone(void *argument)
{
	const struct misdeed_stage *stage = argument;
	static char text[8192];
	const char *at;

	if (!scene_ctl(&stage->scene, "status", text, sizeof(text))) {
		return false;
	}
	at = strstr(text, "\"clients\": ");
	/* The other one, who behaves. */
	return at != NULL && strtoul(at + 11, NULL, 10) <= 1;
}

static _Noreturn void
be_stopped(const struct scene *scene)
{
	struct weir *handle = scene_open(scene);
	uint64_t key = 4711;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		uint64_t value = key;

		(void)weir_set(handle, &key, sizeof(key), &value,
		    sizeof(value), NULL, NULL);
		(void)weir_set_async(handle, &key, sizeof(key), &value,
		    sizeof(value), NULL);
		(void)weir_get(handle, &key, sizeof(key), &value,
		    sizeof(value), NULL, NULL);
	}
}

/* Stopped at any moment of what it does, again and again. */
static bool
stop_a_client(struct misdeed_stage *stage)
{
	unsigned rounds = (unsigned)plain_amount(&stage->test, 20, 300);
	pid_t pid = fork();
	bool fine = true;

	if (pid == 0) {
		be_stopped(&stage->scene);
	}
	for (unsigned i = 0; i < rounds && fine; i++) {
		fine = bystander_goes_on(&stage->other, 5) &&
		    kill(pid, SIGSTOP) == 0 &&
		    wait_until_stopped(pid, SCENE_DEADLINE_MS) &&
		    bystander_goes_on(&stage->other, 20);
		(void)kill(pid, SIGCONT);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return fine;
}

int
main(int argc, char **argv)
{
	static struct misdeed_stage stage;
	struct rlimit files = { .rlim_cur = 0 };

	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (!misdeed_begin(&stage, argc, argv)) {
		return plain_end(&stage.test);
	}
	misdeed_commit(&stage, "garbage", send_garbage);
	misdeed_commit(&stage, "partial_frames", send_parts);
	misdeed_commit(&stage, "huge_lengths", send_huge_lengths);
	misdeed_commit(&stage, "wrong_versions", send_wrong_versions);
	misdeed_commit(&stage, "answers_not_read", never_read);
	if (files.rlim_cur > MANY + 50) {
		misdeed_commit(&stage, "many_connections", connect_many);
	} else {
		plain_skip(&stage.test, "many_connections",
		    "%lu descriptors allowed", (unsigned long)files.rlim_cur);
	}
	misdeed_commit(&stage, "stopped_client", stop_a_client);
	plain_check(&stage.test, "rows_of_clients_are_free_again",
	    wait_until(clients_are_gone, &stage, SCENE_DEADLINE_MS),
	    "weir-ctl status counts more");
	return misdeed_end(&stage);
}
