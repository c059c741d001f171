/* SPDX-License-Identifier: ISC */

/*
 * Accepting.  Every worker is woken for a new connection and one gets it;
 * when descriptors run out, accepting rests until the next second, or the
 * loop would turn for nothing.
 */
#include "acceptor.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin_session.h"
#include "http_client.h"
#include "log.h"
#include "session.h"
#include "worker.h"

/* Others are served between so many new ones. */
#define ACCEPTS_PER_TURN	16
/* Connections beyond max_clients: admins, and those before their HELLO. */
#define CONNECTIONS_SPARE	128u

static void
rest(struct worker *worker, const char *why)
{
	log_line(LOG_LEVEL_WARNING, "accept-rests", "why=\"%s\"", why);
	acceptor_stop(worker);
}

/* The next connection, or -1. */
static int
accept_one(struct worker *worker, int listening)
{
	int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE ||
	    errno == ENOMEM || errno == ENOBUFS)) {
		rest(worker, "no descriptors or memory are left");
	}
	return fd;
}

static void
accept_frames(struct worker *worker, int listening,
    const struct connection_kind *kind)
{
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = accept_one(worker, listening);

		if (fd < 0) {
			return;
		}
		/* Relaxed: our own word. */
		if (atomic_load_explicit(&worker->process->connections,
		    memory_order_relaxed) >=
		    worker->heritage->config.max_clients + CONNECTIONS_SPARE) {
			(void)close(fd);
			continue;
		}
		(void)connection_create(worker, fd, kind, clock_boot_now());
	}
}

static void
client_comes(void *arg, unsigned events)
{
	struct worker *worker = arg;

	(void)events;
	accept_frames(worker, worker->heritage->client_socket, &session_kind);
}

static void
admin_comes(void *arg, unsigned events)
{
	struct worker *worker = arg;

	(void)events;
	accept_frames(worker, worker->heritage->admin_socket,
	    &admin_session_kind);
}

static void
http_comes(void *arg, unsigned events)
{
	struct worker *worker = arg;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = accept_one(worker, worker->heritage->http_socket);

		if (fd < 0) {
			return;
		}
		http_client_create(worker, fd, clock_boot_now());
	}
}

void
acceptor_start(struct worker *worker)
{
	const struct heritage *heritage = worker->heritage;

	event_io_start(worker->loop, &worker->client_io,
	    heritage->client_socket, EVENT_READ, client_comes, worker);
	event_io_start(worker->loop, &worker->admin_io,
	    heritage->admin_socket, EVENT_READ, admin_comes, worker);
	if (heritage->http_socket >= 0) {
		event_io_start(worker->loop, &worker->http_io,
		    heritage->http_socket, EVENT_READ, http_comes, worker);
	}
	worker->listening = true;
}

void
acceptor_stop(struct worker *worker)
{
	event_io_stop(worker->loop, &worker->client_io);
	event_io_stop(worker->loop, &worker->admin_io);
	event_io_stop(worker->loop, &worker->http_io);
	worker->listening = false;
}

void
acceptor_tick(struct worker *worker)
{
	if (!worker->listening && !worker->draining) {
		acceptor_start(worker);
	}
}
