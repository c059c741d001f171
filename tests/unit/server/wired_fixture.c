/* SPDX-License-Identifier: ISC */

/*
 * Two workers, turned by hand.
 */
#include "wired_fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control_create.h"
#include "session.h"
#include "waiters.h"
#include "worker_doors.h"

#define POOL_BYTES	(8ull << 20)
#define CLIENTS		64u
#define TURNS_MAX	64u

static struct segment segment;
static struct heritage heritages[WIRED_WORKERS];
static struct worker workers[WIRED_WORKERS];
static bool dead[WIRED_WORKERS];

static void
bell_rang(void *arg, unsigned events)
{
	struct worker *worker = arg;
	uint64_t count;

	(void)events;
	cr_assert(read(worker->heritage->wake_fds[worker->heritage->process],
	    &count, sizeof(count)) > 0 || errno == EAGAIN);
	worker_look(worker);
}

static void
open_worker(uint32_t number)
{
	struct worker *worker = &workers[number];
	struct heritage *heritage = &heritages[number];

	if (number != 0) {
		*heritage = heritages[0];
	}
	heritage->process = number;
	pool_become_worker(&heritage->pools[0], number);
	memset(worker, 0, sizeof(*worker));
	worker->heritage = heritage;
	worker->control = heritage->control;
	worker->process = &heritage->control->processes[number];
	LIST_INIT(&worker->connections);
	LIST_INIT(&worker->http_clients);
	LIST_INIT(&worker->orphans);
	worker->access[0].any = true;
	worker->loop = event_loop_create();
	cr_assert_not_null(worker->loop);
	cr_assert(worker_doors_open(worker));
	cr_assert(waiters_create(worker));
	event_io_start(worker->loop, &worker->wake_io,
	    heritage->wake_fds[number], EVENT_READ, bell_rang, worker);
}

void
wired_create(const struct origin_config *config)
{
	static const uint8_t boot_id[16];
	struct heritage *heritage = &heritages[0];
	struct pool_params params = {
		.name = "default",
		.pool_bytes = POOL_BYTES,
		.worker_count = WIRED_WORKERS,
		.now = clock_boot_now(),
	};

	memset(heritage, 0, sizeof(*heritage));
	heritage->incarnation = 1;
	heritage->config.workers = WIRED_WORKERS;
	heritage->config.max_clients = CLIENTS;
	heritage->config.pool_count = 1;
	memcpy(heritage->config.pools[0].name, "default", 8);
	heritage->config.origin_count = 1;
	memcpy(heritage->config.origins[0].name, "db", 3);
	heritage->config.origins[0].config = *config;
	origin_config_derive(&heritage->config.origins[0].config);
	cr_assert_eq(control_create(&segment, &heritage->control,
	    &heritage->config, boot_id, clock_boot_now(),
	    (struct wall_ms){ .ms = 0 }), OK);
	cr_assert_eq(pool_create(&heritage->pools[0], &params), OK);
	for (uint32_t i = 0; i < WIRED_WORKERS; i++) {
		heritage->wake_fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		cr_assert_geq(heritage->wake_fds[i], 0);
	}
	for (uint32_t i = 0; i < WIRED_WORKERS; i++) {
		open_worker(i);
		dead[i] = false;
	}
}

static void
close_worker(struct worker *worker)
{
	while (!LIST_EMPTY(&worker->connections)) {
		connection_destroy(LIST_FIRST(&worker->connections));
	}
	event_timer_stop(worker->loop, &worker->resume);
	event_io_stop(worker->loop, &worker->wake_io);
	waiters_destroy(worker);
	event_loop_destroy(worker->loop);
}

void
wired_destroy(void)
{
	/* The dead last: what they had is others' by then. */
	for (uint32_t i = 0; i < WIRED_WORKERS; i++) {
		if (!dead[i]) {
			close_worker(&workers[i]);
		}
	}
	for (uint32_t i = 0; i < WIRED_WORKERS; i++) {
		if (dead[i]) {
			close_worker(&workers[i]);
		}
	}
	for (uint32_t i = 0; i < WIRED_WORKERS; i++) {
		(void)close(heritages[0].wake_fds[i]);
	}
	pool_destroy(&heritages[0].pools[0]);
	segment_destroy(&segment);
}

struct worker *
wired_worker(uint32_t number)
{
	return &workers[number];
}

void
wired_kill(uint32_t number)
{
	dead[number] = true;
	/* Release, as the supervisor does it: it is dead for all. */
	(void)atomic_fetch_add_explicit(
	    &heritages[0].control->processes[number].incarnation, 1,
	    memory_order_release);
}

static void
stop(void *arg)
{
	event_loop_stop(arg);
}

static void
turn_once(struct worker *worker)
{
	static struct event_timer timer;

	event_timer_start(worker->loop, &timer, 0, 0, stop, worker->loop);
	event_loop_run(worker->loop);
	event_timer_stop(worker->loop, &timer);
}

static bool
has_more(const struct worker *worker)
{
	const struct connection *conn;
	struct pollfd bell = {
		.fd = worker->heritage->wake_fds[worker->heritage->process],
		.events = POLLIN,
	};

	if (poll(&bell, 1, 0) > 0) {
		return true;
	}
	LIST_FOREACH(conn, &worker->connections, link) {
		struct pollfd in = { .fd = conn->fd, .events = POLLIN };

		if (conn->resume || poll(&in, 1, 0) > 0) {
			return true;
		}
	}
	return false;
}

void
wired_turn(void)
{
	bool more = true;

	for (unsigned i = 0; more && i < TURNS_MAX; i++) {
		more = false;
		for (uint32_t w = 0; w < WIRED_WORKERS; w++) {
			if (!dead[w]) {
				turn_once(&workers[w]);
			}
		}
		for (uint32_t w = 0; w < WIRED_WORKERS; w++) {
			more = more || (!dead[w] && has_more(&workers[w]));
		}
	}
}

static void
send_all(int fd, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	while (length > 0) {
		ssize_t sent = send(fd, at, length, MSG_NOSIGNAL |
		    MSG_DONTWAIT);

		if (sent > 0) {
			at += sent;
			length -= (size_t)sent;
		} else {
			cr_assert_eq(errno, EAGAIN);
			wired_turn();
		}
	}
}

void
wired_send(int fd, enum frame_type type, uint64_t id, const void *body,
    size_t length)
{
	const struct frame frame = {
		.type = (uint8_t)type,
		.id = id,
		.length = length,
	};
	uint8_t header[FRAME_HEADER_BYTES];

	frame_encode(header, &frame);
	send_all(fd, header, sizeof(header));
	send_all(fd, body, length);
}

static void
receive_all(int fd, void *bytes, size_t length)
{
	uint8_t *at = bytes;
	uint64_t until_ms = clock_boot_now().ms + WIRED_PATIENCE_MS;

	while (length > 0) {
		ssize_t got = recv(fd, at, length, MSG_DONTWAIT);

		if (got > 0) {
			at += got;
			length -= (size_t)got;
			continue;
		}
		cr_assert(got < 0 && errno == EAGAIN, "the worker hung up");
		cr_assert_lt(clock_boot_now().ms, until_ms, "no answer");
		wired_turn();
	}
}

void
wired_receive(int fd, struct wired_answer *answer)
{
	uint8_t header[FRAME_HEADER_BYTES];

	memset(answer, 0, sizeof(*answer));
	receive_all(fd, header, sizeof(header));
	cr_assert(frame_decode(header, &answer->frame));
	cr_assert_eq(answer->frame.flags, FRAME_ANSWER);
	cr_assert_leq(answer->frame.length, sizeof(answer->body));
	receive_all(fd, answer->body, (size_t)answer->frame.length);
	if (answer->frame.length == WIRE_LEASE_ANSWER_BYTES) {
		wire_lease_answer_decode(answer->body, &answer->lease);
	}
}

void
wired_expect(int fd, enum result status, struct wired_answer *answer)
{
	wired_receive(fd, answer);
	cr_assert_eq(answer->frame.status, (int32_t)status,
	    "%s of %d for %s: %.*s", result_name((enum result)
	    answer->frame.status), answer->frame.type, result_name(status),
	    (int)answer->frame.length, (const char *)answer->body);
}

void
wired_expect_silence(int fd)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };

	wired_turn();
	cr_assert_eq(poll(&in, 1, 0), 0, "an answer, or a hang-up");
}

int
wired_connect(uint32_t worker, uint64_t *holder)
{
	static const char pool[] = "default";
	uint8_t body[16 + sizeof(pool) - 1] = { 0 };
	struct wired_answer answer;
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	cr_assert_not_null(connection_create(&workers[worker], pair[0],
	    &session_kind, clock_boot_now()));
	wire_put_u32(body, FRAME_VERSION);
	wire_put_u32(body + 4, (uint32_t)getpid());
	wire_put_u16(body + 8, sizeof(pool) - 1);
	memcpy(body + 16, pool, sizeof(pool) - 1);
	wired_send(pair[1], FRAME_HELLO, 1, body, sizeof(body));
	wired_expect(pair[1], OK, &answer);
	if (holder != NULL) {
		*holder = wire_get_u64(answer.body + 40);
	}
	return pair[1];
}

void
wired_hang_up(int fd)
{
	(void)close(fd);
	wired_turn();
}

void
wired_ask(int fd, const struct wired_ask *ask)
{
	size_t name = ask->origin != NULL ? strlen(ask->origin) : 0;
	size_t key = ask->key != NULL ? strlen(ask->key) : 0;
	const struct wire_lease lease = {
		.flags = ask->flags,
		.thread = ask->thread,
		.lease_ms = ask->lease_ms != 0 ? ask->lease_ms : 60000,
		.wait_ms = ask->wait_ms != 0 ? ask->wait_ms : 4000,
		.partition = ask->partition,
		.name_length = (uint16_t)name,
		.key_length = (uint16_t)key,
	};
	uint8_t body[WIRE_LEASE_BYTES + 64];

	cr_assert_leq(name + key, 64);
	wire_lease_encode(body, &lease);
	if (name != 0) {
		memcpy(body + WIRE_LEASE_BYTES, ask->origin, name);
	}
	if (key != 0) {
		memcpy(body + WIRE_LEASE_BYTES + name, ask->key, key);
	}
	wired_send(fd, ask->key != NULL ? FRAME_LEASE : FRAME_PERMIT,
	    ask->id, body, WIRE_LEASE_BYTES + name + key);
}

void
wired_end(int fd, enum frame_type type, const char *key,
    const struct wired_answer *given, const struct wire_end *how)
{
	static const char value[] = "value";
	size_t length = key != NULL ? strlen(key) : 0;
	const struct wire_set set = {
		.key_length = (uint32_t)length,
		.value_length = sizeof(value),
	};
	struct wire_end end = *how;
	uint8_t body[WIRE_END_BYTES + WIRE_SET_BYTES + 64 + sizeof(value)];
	size_t at = WIRE_END_BYTES;

	cr_assert_leq(length, 64);
	end.permit = given->lease.permit;
	end.token = type == FRAME_RELEASE ? 0 : given->lease.token;
	wire_end_encode(body, &end);
	if (type == FRAME_FILL) {
		wire_set_encode(body + at, &set);
		at += WIRE_SET_BYTES;
	}
	if (length != 0) {
		memcpy(body + at, key, length);
		at += length;
	}
	if (type == FRAME_FILL) {
		memcpy(body + at, value, sizeof(value));
		at += sizeof(value);
	}
	wired_send(fd, type, 1000000 + type, body, at);
}
