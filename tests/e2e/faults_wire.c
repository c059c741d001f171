/* SPDX-License-Identifier: ISC */

/*
 * Clients that send what makes no sense, too much of it, or nothing: they
 * alone suffer.  While each does its worst another client is served, no
 * worker dies, and the daemon's own memory stays bounded.
 */
#include "raw.h"

#include "prng.h"
#include "ring.h"
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
/* Heap that a worker keeps although it is free, and its slack. */
#define KEPT_KIB	(16u << 10)

struct stage {
	struct plain_test test;
	struct scene	scene;
	struct prng	prng;
	struct bystander other;
	pid_t		worker[2];
	uint64_t	private_kib;
};

typedef bool (*misdeed_fn)(struct stage *stage);

static void
refresh_workers(struct stage *stage)
{
	stage->worker[0] = scene_child(&stage->scene, "worker 0");
	stage->worker[1] = scene_child(&stage->scene, "worker 1");
}

static bool
fill(struct stage *stage, uint8_t *out, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		out[i] = (uint8_t)prng_next(&stage->prng);
	}
	return length > 0;
}

/* ---- bytes ---- */

static bool
send_garbage(struct stage *stage)
{
	static uint8_t bytes[GARBAGE_MAX];
	uint64_t rounds = plain_amount(&stage->test, 60, 2000);

	for (uint64_t i = 0; i < rounds; i++) {
		size_t length = FRAME_HEADER_BYTES +
		    prng_below(&stage->prng, GARBAGE_MAX - FRAME_HEADER_BYTES);
		int fd = i % 2 == 0 ? raw_connect(&stage->scene) :
		    raw_hello(&stage->scene, NULL);
		bool dropped;

		(void)fill(stage, bytes, length);
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
send_parts(struct stage *stage)
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
send_huge_lengths(struct stage *stage)
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
			/* A SET up to the largest pool (1T) is taken and
			 * answered, it needs no memory. */
			bool is_skipped = type == FRAME_SET &&
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
send_wrong_versions(struct stage *stage)
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

/* ---- rings ---- */

struct ringer {
	int		fd;
	int		ring_fd;
	size_t		bytes;
	struct ring_shared *ring;
};

static bool
ringer_begin(struct stage *stage, struct ringer *ringer)
{
	ringer->ring_fd = -1;
	ringer->fd = raw_hello(&stage->scene, NULL);
	ringer->ring = ringer->fd < 0 ? NULL : raw_ring(ringer->fd,
	    &ringer->ring_fd, &ringer->bytes);
	return ringer->ring != NULL;
}

static void
ringer_end(struct ringer *ringer)
{
	if (ringer->ring != NULL) {
		(void)munmap(ringer->ring, ringer->bytes);
	}
	(void)close(ringer->ring_fd);
	(void)close(ringer->fd);
}

/* Words that break the rules: it is dropped by its doorbell. */
static bool
corrupt_rings(struct stage *stage)
{
	static const uint64_t tails[] = {
		1, 12, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 33,
	};
	const unsigned rounds = (unsigned)plain_amount(&stage->test, 40, 800);
	const unsigned fixed = sizeof(tails) / sizeof(tails[0]);

	for (unsigned i = 0; i < rounds; i++) {
		struct ringer ringer;
		uint64_t tail = i < fixed ? tails[i] : 8 + 8 * (uint64_t)
		    prng_below(&stage->prng, 4000);
		bool fine = ringer_begin(stage, &ringer);

		if (fine) {
			/* A length that no tail covers, then chance. */
			(void)fill(stage, ringer.ring->data, 64);
			memset(ringer.ring->data, 0xff, 4);
			/* Release, as an honest one. */
			atomic_store_explicit(&ringer.ring->tail, tail,
			    memory_order_release);
			fine = raw_send_frame(ringer.fd, FRAME_DOORBELL,
			    i % 2 == 0 ? 0 : tail, NULL, 0) &&
			    raw_hung_up(ringer.fd);
		}
		ringer_end(&ringer);
		if (!fine) {
			return false;
		}
	}
	return true;
}

/* The words change all the time while the worker looks at them. */
static bool
scribble_on_rings(struct stage *stage)
{
	uint64_t end_us = scene_now_us() +
	    plain_amount(&stage->test, 1, 20) * 1000000;

	while (scene_now_us() < end_us) {
		struct ringer ringer;
		uint64_t *words;

		if (!ringer_begin(stage, &ringer)) {
			return false;
		}
		words = (uint64_t *)(void *)ringer.ring;
		for (unsigned i = 0; i < 50 && raw_send_frame(ringer.fd,
		    FRAME_DOORBELL, 0, NULL, 0); i++) {
			for (unsigned n = 0; n < 2000; n++) {
				size_t at = prng_below(&stage->prng,
				    n % 4 == 0 ? 32 :
				    (uint32_t)(ringer.bytes / 8));

				__atomic_store_n(&words[at],
				    prng_next(&stage->prng) >>
				    (8 * prng_below(&stage->prng, 8)),
				    __ATOMIC_RELAXED);
			}
		}
		ringer_end(&ringer);
	}
	return true;
}

/* Its memory vanishes: zeroes are read, nobody gets a SIGBUS. */
static bool
punch_holes(struct stage *stage)
{
	for (unsigned i = 0; i < 20; i++) {
		struct ringer ringer;
		bool fine = ringer_begin(stage, &ringer);

		fine = fine && ftruncate(ringer.ring_fd, 0) < 0 &&
		    ftruncate(ringer.ring_fd, 1 << 30) < 0;
		if (fine) {
			(void)fallocate(ringer.ring_fd, FALLOC_FL_PUNCH_HOLE |
			    FALLOC_FL_KEEP_SIZE, 0, (off_t)ringer.bytes);
			/* Relaxed: nothing was written before it. */
			atomic_store_explicit(&ringer.ring->tail, 64,
			    memory_order_relaxed);
			(void)fallocate(ringer.ring_fd, FALLOC_FL_PUNCH_HOLE |
			    FALLOC_FL_KEEP_SIZE, i % 2 == 0 ? 4096 : 0,
			    (off_t)ringer.bytes);
			fine = raw_send_frame(ringer.fd, FRAME_DOORBELL, 0,
			    NULL, 0);
			/* All zero is an empty ring, a tail of 64 with a
			 * zero header is a record of no type. */
			(void)shutdown(ringer.fd, SHUT_WR);
			fine = fine && raw_hung_up(ringer.fd);
		}
		ringer_end(&ringer);
		if (!fine) {
			return false;
		}
	}
	return true;
}

/* As many hints and doorbells as go in. */
static bool
flood_rings(struct stage *stage)
{
	uint8_t hint[RING_HINT_BYTES] = { 1, 2, 3 };
	struct iovec part = { .iov_base = hint, .iov_len = sizeof(hint) };
	uint64_t end_us = scene_now_us() +
	    plain_amount(&stage->test, 1, 20) * 1000000;
	struct ringer ringer;
	struct ring_producer producer;
	bool fine = ringer_begin(stage, &ringer) && ring_producer_attach(
	    &producer, ringer.ring, ringer.bytes) == OK;

	while (fine && scene_now_us() < end_us) {
		bool doorbell = false;

		for (unsigned i = 0; i < 1000; i++) {
			(void)ring_push(&producer, RING_HINT, &part, 1,
			    &doorbell);
		}
		fine = raw_send_frame(ringer.fd, FRAME_DOORBELL, 0, NULL, 0);
	}
	ringer_end(&ringer);
	return fine;
}

/* ---- clients that do nothing ---- */

/* Requests without end, whose answers nobody reads. */
static bool
never_read(struct stage *stage)
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
connect_many(struct stage *stage)
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
	const struct stage *stage = argument;
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
stop_a_client(struct stage *stage)
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

/* ---- each with somebody beside it ---- */

static void
commit(struct stage *stage, const char *name, misdeed_fn misdeed)
{
	char check[96];
	bool fine;
	uint64_t now_kib;

	if (!plain_wants(&stage->test, name)) {
		return;
	}
	bystander_start(&stage->other, &stage->scene);
	(void)bystander_goes_on(&stage->other, 10);
	fine = misdeed(stage);
	plain_check(&stage->test, name, fine, "not answered as it should be");
	(void)snprintf(check, sizeof(check), "%s_others_are_served", name);
	bystander_check(&stage->test, &stage->other, check);
	(void)snprintf(check, sizeof(check), "%s_no_worker_died", name);
	plain_check(&stage->test, check,
	    scene_child(&stage->scene, "worker 0") == stage->worker[0] &&
	    scene_child(&stage->scene, "worker 1") == stage->worker[1],
	    "see its log");
	refresh_workers(stage);
	now_kib = scene_private_kib(&stage->scene);
	(void)snprintf(check, sizeof(check), "%s_memory_is_bounded", name);
	plain_check(&stage->test, check,
	    now_kib < stage->private_kib + KEPT_KIB, "%lu KiB, then %lu",
	    stage->private_kib, now_kib);
}

int
main(int argc, char **argv)
{
	static struct stage stage = {
		.scene = { .memory = "16M", .workers = 2 },
	};
	struct rlimit files = { .rlim_cur = 0 };

	plain_start(&stage.test, argc, argv);
	prng_init(&stage.prng, stage.test.seed);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (!scene_start(&stage.scene)) {
		plain_fail(&stage.test, "wire", "the daemon does not start");
		return plain_end(&stage.test);
	}
	refresh_workers(&stage);
	stage.private_kib = scene_private_kib(&stage.scene);
	commit(&stage, "garbage", send_garbage);
	commit(&stage, "partial_frames", send_parts);
	commit(&stage, "huge_lengths", send_huge_lengths);
	commit(&stage, "wrong_versions", send_wrong_versions);
	commit(&stage, "corrupt_rings", corrupt_rings);
	commit(&stage, "scribbled_rings", scribble_on_rings);
	commit(&stage, "punched_rings", punch_holes);
	commit(&stage, "ring_flood", flood_rings);
	commit(&stage, "answers_not_read", never_read);
	if (files.rlim_cur > MANY + 50) {
		commit(&stage, "many_connections", connect_many);
	} else {
		plain_skip(&stage.test, "many_connections",
		    "%lu descriptors allowed", (unsigned long)files.rlim_cur);
	}
	commit(&stage, "stopped_client", stop_a_client);
	plain_check(&stage.test, "rows_of_clients_are_free_again",
	    wait_until(clients_are_gone, &stage, SCENE_DEADLINE_MS),
	    "weir-ctl status counts more");
	scene_check_clean(&stage.test, &stage.scene,
	    "segment_is_sound_after_bad_input");
	plain_check(&stage.test, "daemon_ends_well_after_bad_input",
	    scene_end(&stage.scene), "see its log");
	return plain_end(&stage.test);
}
