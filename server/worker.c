/* SPDX-License-Identifier: ISC */

/*
 * A worker from its fork to its end: set up, serve, drain.
 */
#include "worker.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "acceptor.h"
#include "http_client.h"
#include "log.h"
#include "orphan.h"
#include "permit_file.h"
#include "ring.h"
#include "session.h"
#include "settings.h"
#include "waiters.h"
#include "worker_doors.h"

#define TICK_MS		1000u
#define FAST_MS		100u
/* A ring that was used within that time is looked at ten times a second. */
#define RINGS_BUSY_MS	1500u
/* Memory that is freed stays ours up to so much: buffers come and go. */
#define KEEP_FREE_BYTES	(4 << 20)
#define MMAP_FROM_BYTES	(256 << 10)

void
worker_beat(struct worker *worker)
{
	/* Relaxed: watched by the supervisor, orders nothing. */
	atomic_store_explicit(&worker->process->heartbeat_ms,
	    clock_boot_now().ms, memory_order_relaxed);
}

/* Relaxed in all counts: one writer; for people. */
static void
raise_count(_Atomic uint64_t *count, uint64_t by)
{
	atomic_store_explicit(count, atomic_load_explicit(count,
	    memory_order_relaxed) + by, memory_order_relaxed);
}

void
worker_count_connection(struct worker *worker, int by)
{
	_Atomic uint32_t *count = &worker->process->connections;

	atomic_store_explicit(count, atomic_load_explicit(count,
	    memory_order_relaxed) + (uint32_t)by, memory_order_relaxed);
}

void
worker_count_request(struct worker *worker)
{
	raise_count(&worker->process->requests, 1);
}

void
worker_count_records(struct worker *worker, uint64_t records)
{
	raise_count(&worker->process->ring_records, records);
}

void
worker_count_hangup(struct worker *worker)
{
	raise_count(&worker->process->hangups, 1);
}

static void
resume_happened(void *arg)
{
	struct worker *worker = arg;
	struct connection *conn, *next;

	worker_beat(worker);
	for (conn = LIST_FIRST(&worker->connections); conn != NULL;
	    conn = next) {
		next = LIST_NEXT(conn, link);
		if (!conn->resume) {
			continue;
		}
		conn->resume = false;
		if (conn->gone) {
			connection_read_turn(conn);
		} else {
			connection_turn(conn);
		}
	}
}

void
worker_resume(struct worker *worker, struct connection *conn)
{
	conn->resume = true;
	event_timer_start(worker->loop, &worker->resume, 0, 0,
	    resume_happened, worker);
}

void
worker_look(struct worker *worker)
{
	struct wake_set set;

	/* Our own answers may tell us again: an end, or a new leader. */
	while (wake_take(worker->control, worker->heritage->process, &set)) {
		if (set.all) {
			orphans_look(worker, clock_boot_now());
			orphans_sweep_held(worker, clock_boot_now());
		}
		waiters_look(worker, &set);
	}
	wake_send(&worker->wake);
}

static void
bell_rang(void *arg, unsigned events)
{
	struct worker *worker = arg;
	uint64_t count;

	(void)events;
	/* r1 of wake.h; how often it rang says nothing. */
	if (read(worker->heritage->wake_fds[worker->heritage->process],
	    &count, sizeof(count)) < 0 && errno != EAGAIN) {
		log_line(LOG_LEVEL_ERROR, "bell_failed", "worker=%u "
		    "error=\"%s\"", worker->heritage->process,
		    strerror(errno));
	}
	worker_look(worker);
}

static bool
is_drained(const struct worker *worker)
{
	return LIST_EMPTY(&worker->connections) &&
	    LIST_EMPTY(&worker->http_clients);
}

static void	fast_happened(void *arg);

void
worker_go_fast(struct worker *worker)
{
	if (!worker->fast_runs) {
		worker->fast_runs = true;
		event_timer_start(worker->loop, &worker->fast, FAST_MS,
		    FAST_MS, fast_happened, worker);
	}
}

/* Rings and upkeep.  True: again soon. */
static bool
look_around(struct worker *worker, struct boot_ms now)
{
	struct connection *conn, *next;
	bool more;

	for (conn = LIST_FIRST(&worker->connections); conn != NULL;
	    conn = next) {
		next = LIST_NEXT(conn, link);
		if (conn->session != NULL && conn->session->ring != NULL) {
			session_poll_ring(conn);
			if (conn->closing || conn->broken) {
				connection_turn(conn);
			}
		}
	}
	more = maintenance_run(&worker->maintenance, worker->heritage, now);
	worker_beat(worker);
	return more || now.ms < worker->rings_busy_ms + RINGS_BUSY_MS;
}

static void
fast_happened(void *arg)
{
	struct worker *worker = arg;

	if (!look_around(worker, clock_boot_now())) {
		event_timer_stop(worker->loop, &worker->fast);
		worker->fast_runs = false;
	}
}

static void
tick_connections(struct worker *worker, struct boot_ms now)
{
	struct connection *conn, *next;

	for (conn = LIST_FIRST(&worker->connections); conn != NULL;
	    conn = next) {
		next = LIST_NEXT(conn, link);
		connection_tick(conn, now);
	}
	http_client_tick(worker, now);
}

static void
tick_happened(void *arg)
{
	struct worker *worker = arg;
	struct boot_ms now = clock_boot_now();

	worker_beat(worker);
	if ((uint32_t)getppid() != worker->control->supervisor_pid) {
		log_line(LOG_LEVEL_ERROR, "supervisor-gone", "worker=%u",
		    worker->heritage->process);
		permit_file_close(worker->heritage->permits);
		event_loop_stop(worker->loop);
		return;
	}
	log_tick();
	settings_follow(worker);
	acceptor_tick(worker);
	tick_connections(worker, now);
	orphans_look(worker, now);
	worker_doors_tick(worker, now);
	worker_look(worker);
	if (!worker->fast_runs && look_around(worker, now)) {
		worker_go_fast(worker);
	}
	if (worker->draining &&
	    (is_drained(worker) || now.ms >= worker->drain_end_ms)) {
		event_loop_stop(worker->loop);
	}
}

/* Answer what was sent until now, then end each connection. */
static void
start_draining(struct worker *worker)
{
	struct connection *conn, *next;

	worker->draining = true;
	worker->drain_end_ms = clock_boot_now().ms + worker->drain_timeout_ms;
	/* Relaxed: for the supervisor and people. */
	atomic_store_explicit(&worker->process->state, PROCESS_DRAINING,
	    memory_order_relaxed);
	acceptor_stop(worker);
	for (conn = LIST_FIRST(&worker->connections); conn != NULL;
	    conn = next) {
		next = LIST_NEXT(conn, link);
		connection_read_turn(conn);
	}
	if (is_drained(worker)) {
		event_loop_stop(worker->loop);
		return;
	}
	/* The second's tick is too coarse for an end. */
	event_timer_start(worker->loop, &worker->tick, FAST_MS, FAST_MS,
	    tick_happened, worker);
}

static void
signal_happened(void *arg, int signal_number)
{
	struct worker *worker = arg;

	switch (signal_number) {
	case SIGTERM:
		if (worker->draining) {
			event_loop_stop(worker->loop);
		} else {
			start_draining(worker);
		}
		break;
	case SIGUSR2:
		/*
		 * A process died, or there are new settings.  Deaths ring the
		 * bell, too (wake.h), and locks are repaired by their next
		 * holder; what is left is to see a setting early.
		 */
		settings_follow(worker);
		break;
	default:
		break;
	}
}

static int
take_signals(struct worker *worker)
{
	static const int ignored[] = { SIGINT, SIGHUP, SIGUSR1, SIGPIPE };
	struct sigaction action = { .sa_handler = SIG_IGN };
	sigset_t set;

	/* A terminal signals its whole group; the supervisor decides. */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		(void)sigaction(ignored[i], &action, NULL);
	}
	action.sa_handler = SIG_DFL;
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGUSR2, &action, NULL);
	(void)sigaction(SIGCHLD, &action, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGUSR2);
	return event_signals_start(worker->loop, &worker->signals, &set,
	    signal_happened, worker);
}

static void
raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		/* Best effort: what is missing is said when it runs out. */
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void
prepare_pools(struct heritage *heritage)
{
	for (uint32_t i = 0; i < heritage->config.pool_count; i++) {
		pool_become_worker(&heritage->pools[i], heritage->process);
		segment_populate(&heritage->pools[i].segment);
		segment_populate(&heritage->pools[i].private_segment);
	}
}

static bool
set_up(struct worker *worker, struct heritage *heritage)
{
	worker->heritage = heritage;
	worker->control = heritage->control;
	worker->process = &heritage->control->processes[heritage->process];
	worker->settings_generation = UINT64_MAX;
	LIST_INIT(&worker->connections);
	LIST_INIT(&worker->http_clients);
	LIST_INIT(&worker->orphans);
	raise_descriptor_limit();
	(void)mallopt(M_TRIM_THRESHOLD, KEEP_FREE_BYTES);
	(void)mallopt(M_MMAP_THRESHOLD, MMAP_FROM_BYTES);
	prepare_pools(heritage);
	worker->record_bytes = ring_body_max(heritage->config.ring_bytes);
	worker->record = malloc(worker->record_bytes);
	worker->loop = event_loop_create();
	if (worker->record == NULL || worker->loop == NULL ||
	    !worker_doors_open(worker) || !waiters_create(worker) ||
	    take_signals(worker) < 0) {
		log_line(LOG_LEVEL_ERROR, "worker-failed",
		    "worker=%u error=\"%s\"", heritage->process,
		    strerror(errno));
		return false;
	}
	settings_follow(worker);
	/* Relaxed: these counts begin with this life. */
	atomic_store_explicit(&worker->process->connections, 0,
	    memory_order_relaxed);
	orphans_look(worker, clock_boot_now());
	event_io_start(worker->loop, &worker->wake_io,
	    heritage->wake_fds[heritage->process], EVENT_READ, bell_rang,
	    worker);
	acceptor_start(worker);
	event_timer_start(worker->loop, &worker->tick, TICK_MS, TICK_MS,
	    tick_happened, worker);
	worker_beat(worker);
	/* Relaxed: for the supervisor and people. */
	atomic_store_explicit(&worker->process->started_ms,
	    clock_boot_now().ms, memory_order_relaxed);
	atomic_store_explicit(&worker->process->state, PROCESS_RUNNING,
	    memory_order_relaxed);
	return true;
}

static void
tear_down(struct worker *worker)
{
	while (!LIST_EMPTY(&worker->connections)) {
		connection_destroy(LIST_FIRST(&worker->connections));
	}
	http_client_destroy_all(worker);
	orphans_forget(worker);
	wake_send(&worker->wake);
	waiters_destroy(worker);
	if (worker->loop != NULL) {
		acceptor_stop(worker);
		event_timer_stop(worker->loop, &worker->tick);
		event_timer_stop(worker->loop, &worker->fast);
		event_timer_stop(worker->loop, &worker->resume);
		event_io_stop(worker->loop, &worker->wake_io);
		event_signals_stop(worker->loop, &worker->signals);
		event_loop_destroy(worker->loop);
	}
	free(worker->record);
}

int
worker_main(struct heritage *heritage)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int status = EXIT_FAILURE;

	if (worker == NULL) {
		return status;
	}
	if (set_up(worker, heritage)) {
		event_loop_run(worker->loop);
		status = EXIT_SUCCESS;
	}
	tear_down(worker);
	free(worker);
	log_flush();
	return status;
}
