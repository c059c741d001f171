/* SPDX-License-Identifier: ISC */

/*
 * A worker, and processes that may be its clients.
 */
#include "worker_fixture.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_table.h"
#include "control_create.h"
#include "daemon_fixture.h"
#include "holder.h"
#include "orphan.h"
#include "waiters.h"
#include "worker_doors.h"

static struct segment control_segment;

static void
make_control(struct heritage *heritage)
{
	static const uint8_t boot_id[16] = { 1 };
	struct config *config = &heritage->config;

	config->origin_count = 1;
	memcpy(config->origins[0].name, "default", 8);
	origin_config_init(&config->origins[0].config);
	origin_config_derive(&config->origins[0].config);
	config->pools[0].access.any = true;
	/* That of the daemon fixture is in no memory that is shared. */
	free(heritage->control);
	cr_assert_eq(control_create(&control_segment, &heritage->control,
	    config, boot_id, fixture_at(0), clock_wall_now()), OK);
}

struct worker *
worker_fixture_create(void)
{
	struct heritage *heritage = fixture_create();
	struct worker *worker = calloc(1, sizeof(*worker));

	cr_assert_not_null(worker);
	make_control(heritage);
	for (uint32_t i = 0; i < heritage->config.workers; i++) {
		heritage->wake_fds[i] = eventfd(0, EFD_NONBLOCK |
		    EFD_CLOEXEC);
		cr_assert_geq(heritage->wake_fds[i], 0);
	}
	worker->heritage = heritage;
	worker->control = heritage->control;
	worker->process = &heritage->control->processes[0];
	worker->access[0].any = true;
	worker->loop = event_loop_create();
	cr_assert_not_null(worker->loop);
	LIST_INIT(&worker->connections);
	LIST_INIT(&worker->http_clients);
	LIST_INIT(&worker->orphans);
	cr_assert(worker_doors_open(worker));
	cr_assert(waiters_create(worker));
	return worker;
}

void
worker_fixture_destroy(struct worker *worker)
{
	struct heritage *heritage = worker->heritage;

	while (!LIST_EMPTY(&worker->connections)) {
		connection_destroy(LIST_FIRST(&worker->connections));
	}
	orphans_forget(worker);
	waiters_destroy(worker);
	event_timer_stop(worker->loop, &worker->resume);
	event_loop_destroy(worker->loop);
	for (uint32_t i = 0; i < heritage->config.workers; i++) {
		(void)close(heritage->wake_fds[i]);
	}
	free(worker);
	heritage->control = NULL;
	segment_destroy(&control_segment);
	fixture_destroy(heritage);
}

void
worker_fixture_kill_worker(struct worker *worker, uint32_t process)
{
	/* Release: as the supervisor does it. */
	atomic_fetch_add_explicit(
	    &worker->control->processes[process].incarnation, 1,
	    memory_order_release);
}

struct watcher {
	struct worker	*worker;
	worker_fixture_fn *is_so;
	void		*arg;
	uint64_t	end_ms;
	bool		seen;
};

static void
look(void *arg)
{
	struct watcher *watcher = arg;

	watcher->seen = watcher->is_so(watcher->arg);
	if (watcher->seen || clock_boot_now().ms >= watcher->end_ms) {
		event_loop_stop(watcher->worker->loop);
	}
}

bool
worker_fixture_run(struct worker *worker, worker_fixture_fn *is_so, void *arg)
{
	struct watcher watcher = {
		.worker = worker,
		.is_so = is_so,
		.arg = arg,
		.end_ms = clock_boot_now().ms + WORKER_FIXTURE_DEADLINE_MS,
	};
	struct event_timer timer = { .fn = NULL };

	event_timer_start(worker->loop, &timer, 0, 1, look, &watcher);
	event_loop_run(worker->loop);
	event_timer_stop(worker->loop, &timer);
	return watcher.seen;
}

pid_t
worker_fixture_start_client(void)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;) {
			(void)pause();
		}
	}
	return pid;
}

void
worker_fixture_kill_client(pid_t pid)
{
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

uint64_t
worker_fixture_seat(struct worker *worker, uint32_t process, pid_t pid,
    struct control_client **row)
{
	const struct peer peer = { .pid = pid, .uid = 8, .gid = 9 };

	cr_assert_eq(client_table_claim(worker->control, process,
	    worker->control->processes[process].incarnation, &peer, 0,
	    fixture_at(0), row), OK);
	return holder_of_row(worker->control, *row);
}
