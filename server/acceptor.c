/* SPDX-License-Identifier: ISC */

/*
 * Accepting.  Every worker is woken for a new connection and one gets it: as
 * a rule the one that is awake, which would serve all clients alone.  So one
 * that has more than another leaves the next clients to that one for a
 * moment, and takes whoever waits yet when the moment is over.  When
 * descriptors run out, accepting rests until the next second, or the loop
 * would turn for nothing.
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
/* So many more than another worker are no reason to leave them to it. */
#define AHEAD_MAX	4u
#define LEAVE_MS	1u
/* A worker that did not stamp its heartbeat for so long may hang. */
#define AWAKE_MS	2000u
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

/* Another worker serves clearly fewer, and would come when called. */
static bool
is_ahead(const struct worker *worker, struct boot_ms now)
{
	const struct control *control = worker->control;
	/* Relaxed, all of them: what is best to do, not what is right. */
	uint32_t ours = atomic_load_explicit(&worker->process->connections,
	    memory_order_relaxed);

	for (uint32_t i = 0; i < control->worker_count; i++) {
		const struct control_process *other = &control->processes[i];

		if (atomic_load_explicit(&other->connections,
		    memory_order_relaxed) + AHEAD_MAX < ours &&
		    atomic_load_explicit(&other->state,
		    memory_order_relaxed) == PROCESS_RUNNING &&
		    atomic_load_explicit(&other->heartbeat_ms,
		    memory_order_relaxed) + AWAKE_MS > now.ms) {
			return true;
		}
	}
	return false;
}

static void	moment_is_over(void *arg);

static void
leave_to_others(struct worker *worker)
{
	event_io_change(worker->loop, &worker->client_io, 0);
	event_timer_start(worker->loop, &worker->accept_later, LEAVE_MS, 0,
	    moment_is_over, worker);
}

static void
accept_frames(struct worker *worker, int listening,
    const struct connection_kind *kind, bool may_leave)
{
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd;

		if (may_leave && is_ahead(worker, clock_boot_now())) {
			leave_to_others(worker);
			return;
		}
		fd = accept_one(worker, listening);
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
	accept_frames(worker, worker->heritage->client_socket, &session_kind,
	    true);
}

static void
moment_is_over(void *arg)
{
	struct worker *worker = arg;

	event_io_change(worker->loop, &worker->client_io, EVENT_READ);
	accept_frames(worker, worker->heritage->client_socket, &session_kind,
	    false);
}

static void
admin_comes(void *arg, unsigned events)
{
	struct worker *worker = arg;

	(void)events;
	accept_frames(worker, worker->heritage->admin_socket,
	    &admin_session_kind, false);
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
	event_timer_stop(worker->loop, &worker->accept_later);
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
