/* SPDX-License-Identifier: ISC */

/*
 * Adopting, watching, letting go.
 */
#include "orphan.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client_table.h"
#include "holder.h"
#include "lease.h"
#include "log.h"
#include "origin_log.h"
#include "worker.h"

struct orphan {
	LIST_ENTRY(orphan) link;
	struct worker	*worker;
	struct control_client *row;
	uint64_t	holder;
	int		pidfd;		/* -1: not to be seen */
	struct event_io	io;
};

void
orphans_sweep_held(struct worker *worker, struct boot_ms now)
{
	for (uint32_t i = 0; i < worker->origin_count; i++) {
		unsigned events = 0;

		(void)origin_sweep(&worker->origins[i], now, &events);
		origin_log_events(&worker->origins[i], events, now);
	}
	for (uint32_t p = 0; p < worker->heritage->config.pool_count; p++) {
		const struct pool *pool = &worker->heritage->pools[p];

		for (uint32_t s = 0; s < pool->g.shard_count; s++) {
			(void)lease_sweep(pool, &worker->lease_door, s, 0,
			    now);
		}
	}
	wake_send(&worker->wake);
}

static void
forget(struct orphan *orphan)
{
	if (orphan->pidfd >= 0) {
		event_io_stop(orphan->worker->loop, &orphan->io);
		(void)close(orphan->pidfd);
	}
	LIST_REMOVE(orphan, link);
	free(orphan);
}

/* It is still the orphan that this worker adopted. */
static bool
is_ours(const struct orphan *orphan)
{
	const struct control_client *row = orphan->row;

	/* Relaxed: a claim that is not seen yet is seen at the next look. */
	return client_table_taken(row) && holder_of_row(
	    orphan->worker->control, row) == orphan->holder &&
	    atomic_load_explicit(&row->worker, memory_order_relaxed) ==
	    orphan->worker->heritage->process + 1 &&
	    atomic_load_explicit(&row->orphan_until_ms,
	    memory_order_relaxed) != 0;
}

static void
let_go(struct orphan *orphan, const char *why)
{
	struct worker *worker = orphan->worker;

	if (is_ours(orphan)) {
		log_line(LOG_LEVEL_INFO, "orphan_ended", "pid=%u why=\"%s\"",
		    atomic_load_explicit(&orphan->row->pid,
		    memory_order_relaxed), why);
		client_table_release(orphan->row);
		orphans_sweep_held(worker, clock_boot_now());
	}
	forget(orphan);
}

static void
process_ended(void *arg, unsigned events)
{
	(void)events;
	let_go(arg, "its process ended");
}

static void
watch(struct worker *worker, struct control_client *row)
{
	struct orphan *orphan = calloc(1, sizeof(*orphan));
	/* Relaxed: written before the row was published, ours by now. */
	pid_t pid = (pid_t)atomic_load_explicit(&row->pid,
	    memory_order_relaxed);
	uint64_t started = atomic_load_explicit(&row->started,
	    memory_order_relaxed);

	if (orphan == NULL) {
		/* Its time is looked at by nobody: it goes now. */
		client_table_release(row);
		return;
	}
	orphan->worker = worker;
	orphan->row = row;
	orphan->holder = holder_of_row(worker->control, row);
	orphan->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	LIST_INSERT_HEAD(&worker->orphans, orphan, link);
	/* The pid may be another's by now: who was first started later. */
	if (pid > 0 && (orphan->pidfd < 0 || (started != 0 &&
	    client_table_start_time(pid) != started))) {
		if (orphan->pidfd >= 0) {
			(void)close(orphan->pidfd);
			orphan->pidfd = -1;
		}
		let_go(orphan, "its process is gone");
		return;
	}
	if (orphan->pidfd >= 0) {
		event_io_start(worker->loop, &orphan->io, orphan->pidfd,
		    EVENT_READ, process_ended, orphan);
	}
}

void
orphans_look(struct worker *worker, struct boot_ms now)
{
	struct control_client *row;
	struct orphan *orphan, *next;
	uint32_t at = 0;

	while (client_table_adopt(worker->control, worker->heritage->process,
	    worker->heritage->incarnation, now.ms + HOLDER_ORPHAN_MS, &at,
	    &row) == OK) {
		if (row != NULL) {
			watch(worker, row);
		}
	}
	for (orphan = LIST_FIRST(&worker->orphans); orphan != NULL;
	    orphan = next) {
		next = LIST_NEXT(orphan, link);
		if (!is_ours(orphan)) {
			forget(orphan);
		} else if (now.ms >= atomic_load_explicit(
		    &orphan->row->orphan_until_ms, memory_order_relaxed)) {
			/* Relaxed: our own word. */
			let_go(orphan, "it did not come back");
		}
	}
}

void
orphans_forget(struct worker *worker)
{
	while (!LIST_EMPTY(&worker->orphans)) {
		forget(LIST_FIRST(&worker->orphans));
	}
}
