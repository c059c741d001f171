/* SPDX-License-Identifier: ISC */

/*
 * The thread of the fake daemon: poll, one frame at a time, blocking reads.
 */
#include "fake_serve.h"

#include "clock.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define POOL_BYTES	(4u << 20)
#define BODY_MAX	(2u << 20)
#define CLIENTS_MAX	16
#define AGED_MS		1000000000u

static bool
read_all(int fd, void *to, size_t bytes)
{
	return bytes == 0 || recv(fd, to, bytes, MSG_WAITALL) ==
	    (ssize_t)bytes;
}

/* False: hang up. */
static bool
serve_faulty(struct fake_daemon *daemon, struct fake_client *client,
    const struct frame *frame, const uint8_t *body)
{
	static const char garbage[FRAME_HEADER_BYTES] = "this is no frame";
	struct frame other = *frame;
	char text[3000];

	if (frame->type == FRAME_HELLO || frame->type == FRAME_RING) {
		return fake_serve(daemon, client, frame, body);
	}
	switch (atomic_load(&daemon->fault)) {
	case FAKE_SILENT:
		return true;
	case FAKE_HANGS_UP:
		atomic_store(&daemon->fault, FAKE_HONEST);
		return false;
	case FAKE_GARBAGE_ONCE:
		atomic_store(&daemon->fault, FAKE_HONEST);
		/* fall through */
	case FAKE_GARBAGE:
		(void)send(client->fd, garbage, sizeof(garbage),
		    MSG_NOSIGNAL);
		return true;
	case FAKE_WRONG_ID:
		other.id += 1000;
		fake_answer(client, &other, OK, "", 0, -1);
		return true;
	case FAKE_LONG_TEXT:
		memset(text, 'x', sizeof(text));
		fake_answer(client, frame, BUSY, text, sizeof(text), -1);
		return true;
	default:
		return fake_serve(daemon, client, frame, body);
	}
}

static bool
take_frame(struct fake_daemon *daemon, struct fake_client *client)
{
	static uint8_t body[BODY_MAX];
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame frame;

	if (!read_all(client->fd, header, sizeof(header)) ||
	    !frame_decode(header, &frame) || frame.length > BODY_MAX ||
	    !read_all(client->fd, body, (size_t)frame.length)) {
		return false;
	}
	atomic_fetch_add(&daemon->requests, 1);
	fake_drain(daemon, client);
	return serve_faulty(daemon, client, &frame, body);
}

static void
drop_client(struct fake_daemon *daemon, unsigned i)
{
	struct fake_client *client = daemon->clients[i];

	if (client->has_ring) {
		fake_drain(daemon, client);
		munmap(client->map, ring_bytes(FAKE_RING_CAPACITY));
		close(client->ring_fd);
	}
	/* A held answer has a descriptor of it too. */
	(void)shutdown(client->fd, SHUT_RDWR);
	close(client->fd);
	free(client);
	daemon->clients[i] = NULL;
	atomic_fetch_add(&daemon->hangups, 1);
}

static void
take_client(struct fake_daemon *daemon)
{
	struct fake_client *client = calloc(1, sizeof(*client));

	client->fd = accept4(daemon->listener, NULL, NULL, SOCK_CLOEXEC);
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		if (daemon->clients[i] == NULL) {
			daemon->clients[i] = client;
			return;
		}
	}
	close(client->fd);
	free(client);
}

static void *
run(void *arg)
{
	struct fake_daemon *daemon = arg;

	for (;;) {
		struct pollfd watched[CLIENTS_MAX + 2] = {
			[0] = { .fd = daemon->stop[0], .events = POLLIN },
			[1] = { .fd = daemon->listener, .events = POLLIN },
		};

		for (unsigned i = 0; i < CLIENTS_MAX; i++) {
			watched[i + 2].fd = daemon->clients[i] == NULL ? -1 :
			    daemon->clients[i]->fd;
			watched[i + 2].events = POLLIN;
		}
		(void)poll(watched, CLIENTS_MAX + 2, -1);
		if (watched[0].revents != 0) {
			break;
		}
		for (unsigned i = 0; i < CLIENTS_MAX; i++) {
			if (watched[i + 2].revents != 0 &&
			    !take_frame(daemon, daemon->clients[i])) {
				drop_client(daemon, i);
			}
		}
		if (watched[1].revents != 0) {
			take_client(daemon);
		}
	}
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		if (daemon->clients[i] != NULL) {
			drop_client(daemon, i);
		}
	}
	return NULL;
}

void
fake_daemon_start(struct fake_daemon *daemon, const char *path,
    uint8_t boot_id)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct pool_params params = {
		.name = "default",
		.pool_bytes = POOL_BYTES,
		.worker_count = 1,
		.hash_key = { { boot_id, 2, 3 } },
		.boot_id = { boot_id },
		.now = clock_boot_now(),
	};

	memset(daemon, 0, sizeof(*daemon));
	fake_lease_init(daemon);
	if (path == NULL) {
		(void)snprintf(daemon->folder, sizeof(daemon->folder),
		    "/tmp/weir-unit-XXXXXX");
		cr_assert_not_null(mkdtemp(daemon->folder));
		(void)snprintf(daemon->path, sizeof(daemon->path), "%s/s",
		    daemon->folder);
	} else {
		(void)snprintf(daemon->path, sizeof(daemon->path), "%s",
		    path);
		(void)snprintf(daemon->folder, sizeof(daemon->folder),
		    "%.*s", (int)(strrchr(path, '/') - path), path);
		/* The earlier one has removed it. */
		(void)mkdir(daemon->folder, 0700);
	}
	cr_assert_eq(pool_create(&daemon->pool, &params), OK);
	pool_become_worker(&daemon->pool, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
	    daemon->path);
	daemon->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(daemon->listener,
	    (const struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(daemon->listener, CLIENTS_MAX), 0);
	cr_assert_eq(pipe2(daemon->stop, O_CLOEXEC), 0);
	cr_assert_eq(pthread_create(&daemon->thread, NULL, run, daemon), 0);
}

void
fake_daemon_stop(struct fake_daemon *daemon)
{
	close(daemon->stop[1]);
	cr_assert_eq(pthread_join(daemon->thread, NULL), 0);
	close(daemon->stop[0]);
	close(daemon->listener);
	pool_destroy(&daemon->pool);
	fake_lease_fini(daemon);
	(void)unlink(daemon->path);
	(void)rmdir(daemon->folder);
}

void
fake_daemon_age(struct fake_daemon *daemon)
{
	daemon->clock_offset_ms = AGED_MS;
	fake_daemon_beat(daemon, 0);
}

void
fake_daemon_beat(struct fake_daemon *daemon, uint64_t age_ms)
{
	atomic_store(&daemon->pool.header->heartbeat_ms,
	    fake_now_ms(daemon) - age_ms);
}

struct weir *
fake_daemon_open(struct fake_daemon *daemon, unsigned timeout_ms)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *handle;

	options.socket_path = daemon->path;
	options.timeout_ms = timeout_ms;
	cr_assert_eq(weir_open(&handle, &options), WEIR_OK);
	return handle;
}
