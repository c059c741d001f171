/* SPDX-License-Identifier: ISC */

/*
 * The admin port.  Everything is bounded: how many connections, how long a
 * request, how long a peer may take.
 */
#include "http_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "byte_queue.h"
#include "health.h"
#include "http_parse.h"
#include "metrics.h"
#include "worker.h"

#define HTTP_CLIENTS_MAX	64u
#define HTTP_TIME_MS		10000u

struct http_client {
	LIST_ENTRY(http_client) link;
	struct worker	*worker;
	struct event_io	io;
	int		fd;
	bool		answered;
	uint64_t	since_ms;
	struct byte_queue in;
	struct byte_queue out;
};

static void
destroy(struct http_client *client)
{
	event_io_stop(client->worker->loop, &client->io);
	(void)close(client->fd);
	byte_queue_clear(&client->in);
	byte_queue_clear(&client->out);
	LIST_REMOVE(client, link);
	client->worker->http_count--;
	free(client);
}

static void
put_answer(struct http_client *client, const char *status, const char *type,
    const char *body, size_t length, bool head)
{
	char fields[256];
	int n = snprintf(fields, sizeof(fields), "HTTP/1.1 %s\r\n"
	    "Content-Type: %s\r\nContent-Length: %zu\r\n"
	    "Cache-Control: no-store\r\nConnection: close\r\n\r\n", status,
	    type, length);

	client->answered = true;
	(void)byte_queue_append(&client->out, fields, (size_t)n);
	if (!head) {
		(void)byte_queue_append(&client->out, body, length);
	}
}

static void
put_text(struct http_client *client, const char *status, const char *text,
    bool head)
{
	put_answer(client, status, "text/plain; charset=utf-8", text,
	    strlen(text), head);
}

/* A document that a function writes. */
static void
put_document(struct http_client *client, const struct http_request *request)
{
	struct worker *worker = client->worker;
	const struct heritage *heritage = worker->heritage;
	const char *status = "200 OK";
	const char *type = "text/plain; charset=utf-8";
	char *body = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&body, &length);

	if (out == NULL) {
		put_text(client, "503 Service Unavailable", "no memory\n",
		    request->head);
		return;
	}
	if (strcmp(request->path, "/metrics") == 0) {
		type = METRICS_CONTENT_TYPE;
		metrics_write(out, heritage, worker->origins,
		    worker->origin_count, clock_boot_now());
	} else if (strcmp(request->path, "/healthz") == 0) {
		(void)fputs("ok\n", out);
	} else if (strcmp(request->path, "/readyz") == 0) {
		if (!health_write(out, heritage->control, worker->origins,
		    worker->origin_count, clock_boot_now())) {
			status = "503 Service Unavailable";
		}
	} else {
		status = "404 Not Found";
		(void)fputs("try /metrics, /healthz or /readyz\n", out);
	}
	/* A look may have put right what a death had left. */
	wake_send(&worker->wake);
	if (fclose(out) == 0) {
		put_answer(client, status, type, body, length, request->head);
	} else {
		put_text(client, "503 Service Unavailable", "no memory\n",
		    request->head);
	}
	free(body);
}

static void
look_at_request(struct http_client *client)
{
	struct http_request request;

	switch (http_parse_request((const char *)byte_queue_front(&client->in),
	    byte_queue_length(&client->in), &request)) {
	case HTTP_PARSE_MORE:
		break;
	case HTTP_PARSE_OK:
		put_document(client, &request);
		break;
	case HTTP_PARSE_METHOD:
		put_text(client, "405 Method Not Allowed\r\nAllow: GET, HEAD",
		    "GET or HEAD\n", false);
		break;
	case HTTP_PARSE_TOO_LONG:
		put_text(client, "431 Request Header Fields Too Large",
		    "too long\n", false);
		break;
	case HTTP_PARSE_BAD:
		put_text(client, "400 Bad Request", "no request of HTTP\n",
		    false);
		break;
	}
}

/* False: the connection is at its end. */
static bool
read_request(struct http_client *client)
{
	size_t room = HTTP_REQUEST_MAX - byte_queue_length(&client->in);
	uint8_t *at = byte_queue_reserve(&client->in, room);
	ssize_t length;

	if (at == NULL) {
		return false;
	}
	length = recv(client->fd, at, room, MSG_DONTWAIT);
	if (length > 0) {
		byte_queue_filled(&client->in, (size_t)length);
		look_at_request(client);
		return true;
	}
	return length < 0 && (errno == EAGAIN || errno == EINTR);
}

/* False: all is sent, or nothing more can be. */
static bool
send_answer(struct http_client *client)
{
	ssize_t sent = send(client->fd, byte_queue_front(&client->out),
	    byte_queue_length(&client->out), MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	byte_queue_take(&client->out, (size_t)sent);
	return byte_queue_length(&client->out) > 0;
}

static void
io_happened(void *arg, unsigned events)
{
	struct http_client *client = arg;

	(void)events;
	if (!client->answered && !read_request(client)) {
		destroy(client);
		return;
	}
	if (client->answered) {
		if (!send_answer(client)) {
			/* What came behind would make the close a reset. */
			(void)shutdown(client->fd, SHUT_WR);
			destroy(client);
			return;
		}
		event_io_change(client->worker->loop, &client->io,
		    EVENT_WRITE);
	}
}

void
http_client_create(struct worker *worker, int fd, struct boot_ms now)
{
	struct http_client *client;

	if (worker->http_count >= HTTP_CLIENTS_MAX) {
		(void)close(fd);
		return;
	}
	client = calloc(1, sizeof(*client));
	if (client == NULL) {
		(void)close(fd);
		return;
	}
	client->worker = worker;
	client->fd = fd;
	client->since_ms = now.ms;
	worker->http_count++;
	LIST_INSERT_HEAD(&worker->http_clients, client, link);
	event_io_start(worker->loop, &client->io, fd, EVENT_READ, io_happened,
	    client);
}

void
http_client_tick(struct worker *worker, struct boot_ms now)
{
	struct http_client *client, *next;

	for (client = LIST_FIRST(&worker->http_clients); client != NULL;
	    client = next) {
		next = LIST_NEXT(client, link);
		if (now.ms > client->since_ms + HTTP_TIME_MS) {
			destroy(client);
		}
	}
}

void
http_client_destroy_all(struct worker *worker)
{
	while (!LIST_EMPTY(&worker->http_clients)) {
		destroy(LIST_FIRST(&worker->http_clients));
	}
}
