/* SPDX-License-Identifier: ISC */

#include "claim.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client_table.h"
#include "daemon_fixture.h"
#include "holder.h"
#include "session.h"
#include "worker_fixture.h"

#define HELLO_ANSWER_BYTES	56

/* A client, which is the test itself, before worker 0. */
struct client {
	struct worker	*worker;
	int		fd;
	size_t		have;		/* of bytes */
	uint8_t		bytes[1024];
};

static void
connect_client(struct client *client, struct worker *worker)
{
	int fds[2];

	memset(client, 0, sizeof(*client));
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
	    0);
	client->worker = worker;
	client->fd = fds[0];
	cr_assert_not_null(connection_create(worker, fds[1], &session_kind,
	    clock_boot_now()));
}

static void
send_frame(struct client *client, uint8_t type, uint64_t id,
    const void *body, size_t length)
{
	const struct frame frame = {
		.type = type, .id = id, .length = length,
	};
	uint8_t header[FRAME_HEADER_BYTES];

	frame_encode(header, &frame);
	cr_assert_eq(write(client->fd, header, sizeof(header)),
	    (ssize_t)sizeof(header));
	cr_assert_eq(write(client->fd, body, length), (ssize_t)length);
}

/* Of a client that was that holder before, or none. */
static void
send_hello(struct client *client, uint64_t holder, uint64_t secret)
{
	uint8_t body[32 + 7] = { 0 };
	size_t at = holder != 0 ? 32 : 16;

	wire_put_u32(body, FRAME_VERSION);
	wire_put_u32(body + 4, (uint32_t)getpid());
	wire_put_u16(body + 8, 7);
	wire_put_u16(body + 10, holder != 0);
	wire_put_u64(body + 16, holder);
	wire_put_u64(body + 24, secret);
	memcpy(body + at, "default", 7);
	send_frame(client, FRAME_HELLO, 1, body, at + 7);
}

static void
send_claim(struct client *client, uint64_t holder, uint64_t secret)
{
	uint8_t body[WIRE_CLAIM_BYTES];

	wire_put_u64(body, holder);
	wire_put_u64(body + 8, secret);
	send_frame(client, FRAME_CLAIM, 2, body, sizeof(body));
}

static bool
frame_came(void *arg)
{
	struct client *client = arg;
	ssize_t n = recv(client->fd, client->bytes + client->have,
	    sizeof(client->bytes) - client->have, MSG_DONTWAIT);
	struct frame frame;

	client->have += n > 0 ? (size_t)n : 0;
	return client->have >= FRAME_HEADER_BYTES &&
	    frame_decode(client->bytes, &frame) &&
	    client->have >= FRAME_HEADER_BYTES + frame.length;
}

/* The next answer, and its body if that is asked for. */
static struct frame
take_frame(struct client *client, uint8_t *body)
{
	struct frame frame;
	size_t whole;

	cr_assert(worker_fixture_run(client->worker, frame_came, client));
	cr_assert(frame_decode(client->bytes, &frame));
	whole = FRAME_HEADER_BYTES + (size_t)frame.length;
	if (body != NULL) {
		memcpy(body, client->bytes + FRAME_HEADER_BYTES,
		    (size_t)frame.length);
	}
	client->have -= whole;
	memmove(client->bytes, client->bytes + whole, client->have);
	return frame;
}

/* The holder that the connection is given, which was that one before. */
static uint64_t
greet_as(struct client *client, uint64_t holder, uint64_t *secret)
{
	uint8_t body[FRAME_BODY_MAX];
	struct frame frame;

	send_hello(client, holder, *secret);
	frame = take_frame(client, body);
	cr_assert_eq(frame.status, OK);
	cr_assert_eq(frame.length, HELLO_ANSWER_BYTES);
	*secret = wire_get_u64(body + 48);
	return wire_get_u64(body + 40);
}

static uint64_t
greet(struct client *client, uint64_t *secret)
{
	*secret = 0;
	return greet_as(client, 0, secret);
}

/* What an earlier connection of the test over worker 1 has. */
static uint64_t
have_earlier(struct worker *worker, struct control_client **row)
{
	const struct peer peer = { .pid = getpid(), .uid = getuid() };

	cr_assert_eq(client_table_claim(worker->control, 1, 1, &peer, 0,
	    fixture_at(0), row), OK);
	return holder_of_row(worker->control, *row);
}

static bool
no_answer_came(void *arg)
{
	struct client *client = arg;

	cr_assert_not(frame_came(client));
	return LIST_FIRST(&client->worker->connections)->waiting;
}

static bool
nobody_is_connected(void *arg)
{
	const struct worker *worker = arg;

	return LIST_EMPTY(&worker->connections);
}

Test(claim, that_comes_before_the_death_is_known_waits_for_it)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *row;
	uint64_t old = have_earlier(worker, &row), new, secret;
	struct client client;

	connect_client(&client, worker);
	new = greet(&client, &secret);
	cr_assert_neq(new, old);
	send_claim(&client, old, row->secret);
	send_frame(&client, FRAME_PING, 3, NULL, 0);
	cr_assert(worker_fixture_run(worker, no_answer_came, &client));
	worker_fixture_kill_worker(worker, 1);
	cr_assert_eq(take_frame(&client, NULL).status, OK);
	cr_assert_eq(take_frame(&client, NULL).id, 3, "in their order");
	cr_assert(holder_is_dead(worker->control, new));
	cr_assert_not(holder_is_dead(worker->control, old));
	cr_assert_eq(client_table_count(worker->control), 1);
	(void)close(client.fd);
	cr_assert(worker_fixture_run(worker, nobody_is_connected, worker));
	cr_assert(holder_is_dead(worker->control, old));
	worker_fixture_destroy(worker);
}

Test(claim, of_what_another_connection_has_is_given_up)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *row;
	uint64_t old = have_earlier(worker, &row), new, secret;
	struct client client;

	connect_client(&client, worker);
	new = greet(&client, &secret);
	send_claim(&client, old, row->secret);
	cr_assert_eq(take_frame(&client, NULL).status, BUSY);
	cr_assert_not(holder_is_dead(worker->control, new));
	cr_assert_not(holder_is_dead(worker->control, old));
	/* It goes on as it was. */
	send_frame(&client, FRAME_PING, 3, NULL, 0);
	cr_assert_eq(take_frame(&client, NULL).status, OK);
	(void)close(client.fd);
	worker_fixture_destroy(worker);
}

Test(claim, whose_connection_ends_meanwhile_is_forgotten)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *row;
	uint64_t old = have_earlier(worker, &row), secret;
	struct client client;

	connect_client(&client, worker);
	(void)greet(&client, &secret);
	send_claim(&client, old, row->secret);
	cr_assert(worker_fixture_run(worker, no_answer_came, &client));
	connection_destroy(LIST_FIRST(&worker->connections));
	cr_assert_eq(client_table_count(worker->control), 1);
	worker_fixture_kill_worker(worker, 1);
	cr_assert_eq(client_table_count(worker->control), 0);
	cr_assert_not(holder_is_dead(worker->control, old));
	(void)close(client.fd);
	worker_fixture_destroy(worker);
}

Test(claim, of_nonsense_is_refused_at_once)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *row;
	uint64_t old = have_earlier(worker, &row), secret;
	struct client client;

	worker_fixture_kill_worker(worker, 1);
	connect_client(&client, worker);
	(void)greet(&client, &secret);
	send_claim(&client, old, row->secret + 1);
	cr_assert_eq(take_frame(&client, NULL).status, DENIED);
	send_claim(&client, 12345, row->secret);
	cr_assert_eq(take_frame(&client, NULL).status, MISS);
	send_frame(&client, FRAME_CLAIM, 4, "short", 5);
	cr_assert_eq(take_frame(&client, NULL).status, INVALID);
	send_claim(&client, old, row->secret);
	cr_assert_eq(take_frame(&client, NULL).status, OK);
	(void)close(client.fd);
	worker_fixture_destroy(worker);
}

Test(claim, in_a_full_table_is_of_the_row_that_hello_gave)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *rows[FIXTURE_CLIENTS];
	uint64_t old[FIXTURE_CLIENTS], given, secret;
	struct client client;

	for (int i = 0; i < FIXTURE_CLIENTS; i++) {
		old[i] = have_earlier(worker, &rows[i]);
	}
	worker_fixture_kill_worker(worker, 1);
	connect_client(&client, worker);
	secret = rows[1]->secret;
	given = greet_as(&client, old[1], &secret);
	cr_assert_eq(given, old[1], "its own, not the first of its process");
	cr_assert_eq(secret, rows[1]->secret);
	send_claim(&client, given, secret);
	cr_assert_eq(take_frame(&client, NULL).status, OK);
	/* One that was another connection's goes back to be claimed. */
	send_claim(&client, old[2], rows[2]->secret);
	cr_assert_eq(take_frame(&client, NULL).status, OK);
	for (int i = 0; i < FIXTURE_CLIENTS; i++) {
		cr_assert_not(holder_is_dead(worker->control, old[i]));
		cr_assert_eq(client_table_in_use(worker->control, rows[i]),
		    i == 2);
	}
	(void)close(client.fd);
	worker_fixture_destroy(worker);
}

Test(claim, of_the_row_that_hello_gave_ends_with_its_connection)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *rows[FIXTURE_CLIENTS];
	uint64_t old[FIXTURE_CLIENTS], secret;
	struct origin_request request = {
		.worker = limiter_worker(1, 1),
		.class = LIMITER_FOREGROUND,
	};
	struct origin_ticket ticket;
	struct origin_view view;
	struct client client;

	for (int i = 0; i < FIXTURE_CLIENTS; i++) {
		old[i] = have_earlier(worker, &rows[i]);
	}
	request.owner = old[0];
	cr_assert_eq(origin_acquire(&worker->origins[0], &request, 7,
	    clock_boot_now(), &ticket), ORIGIN_GRANTED);
	worker_fixture_kill_worker(worker, 1);
	connect_client(&client, worker);
	secret = rows[0]->secret;
	cr_assert_eq(greet_as(&client, old[0], &secret), old[0]);
	(void)close(client.fd);
	cr_assert(worker_fixture_run(worker, nobody_is_connected, worker));
	cr_assert_eq(origin_look(&worker->origins[0], clock_boot_now(),
	    &view), OK);
	cr_assert_eq(view.in_flight, 0, "nobody else knows of that call");
	worker_fixture_destroy(worker);
}

Test(claim, in_a_full_table_gives_no_row_of_another_handle)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *rows[FIXTURE_CLIENTS];
	uint64_t old[FIXTURE_CLIENTS];
	struct client clients[3];

	for (int i = 0; i < FIXTURE_CLIENTS; i++) {
		old[i] = have_earlier(worker, &rows[i]);
	}
	worker_fixture_kill_worker(worker, 1);
	for (int i = 0; i < 3; i++) {
		connect_client(&clients[i], worker);
	}
	/* Of the same process, but it does not say that it was any of them. */
	send_hello(&clients[0], 0, 0);
	cr_assert_eq(take_frame(&clients[0], NULL).status, BUSY);
	send_hello(&clients[1], old[0], rows[1]->secret);
	cr_assert_eq(take_frame(&clients[1], NULL).status, BUSY);
	cr_assert_eq(client_table_count(worker->control), 0);
	send_hello(&clients[2], old[1], rows[1]->secret);
	cr_assert_eq(take_frame(&clients[2], NULL).status, OK);
	for (int i = 0; i < 3; i++) {
		(void)close(clients[i].fd);
	}
	worker_fixture_destroy(worker);
}

Test(claim, that_nobody_read_the_answer_of_is_claimed_again)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *row;
	uint64_t old = have_earlier(worker, &row), secret;
	struct client client;

	worker_fixture_kill_worker(worker, 1);
	for (int i = 0; i < 2; i++) {
		/* Its client had no more patience, and hung up. */
		connect_client(&client, worker);
		(void)greet(&client, &secret);
		send_claim(&client, old, row->secret);
		cr_assert_eq(take_frame(&client, NULL).status, OK);
		(void)close(client.fd);
		cr_assert(worker_fixture_run(worker, nobody_is_connected,
		    worker));
		cr_assert_not(holder_is_dead(worker->control, old));
		cr_assert_eq(client_table_count(worker->control), 0);
	}
	worker_fixture_destroy(worker);
}
