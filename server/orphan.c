/* SPDX-License-Identifier: ISC */

/*
 * Adopting, watching, letting go.
 */
#include "orphan.h"

#include <errno.h>
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
	int		pidfd;		/* -1: it has its time */
	const char	*ended;		/* why it is to go; NULL: not yet */
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
unwatch(struct orphan *orphan)
{
	if (orphan->pidfd >= 0) {
		event_io_stop(orphan->worker->loop, &orphan->io);
		(void)close(orphan->pidfd);
		orphan->pidfd = -1;
	}
}

static void
forget(struct orphan *orphan)
{
	unwatch(orphan);
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

/*
 * Or at the next look, if the table is locked.  True: its holder is no more,
 * and the caller sweeps.
 */
static bool
let_go(struct orphan *orphan, const char *why)
{
	struct worker *worker = orphan->worker;
	/* Relaxed: for people; it stays until the row is another's. */
	uint32_t pid = atomic_load_explicit(&orphan->row->pid,
	    memory_order_relaxed);

	switch (client_table_let_go(worker->control, orphan->row,
	    orphan->holder, worker->heritage->process)) {
	case OK:
		log_line(LOG_LEVEL_INFO, "orphan_ended", "pid=%u why=\"%s\"",
		    pid, why);
		forget(orphan);
		return true;
	case BUSY:
		/* Its descriptor stays readable: once is enough. */
		unwatch(orphan);
		orphan->ended = why;
		return false;
	default:
		forget(orphan);
		return false;
	}
}

static void
process_ended(void *arg, unsigned events)
{
	struct orphan *orphan = arg;
	struct worker *worker = orphan->worker;

	(void)events;
	if (let_go(orphan, "its process ended")) {
		orphans_sweep_held(worker, clock_boot_now());
	}
}

/* By pidfd, or why there is nobody to be watched. */
static const char *
watch_process(struct orphan *orphan)
{
	/* Relaxed: written before the row was published, ours by now. */
	pid_t pid = (pid_t)atomic_load_explicit(&orphan->row->pid,
	    memory_order_relaxed);
	uint64_t started = atomic_load_explicit(&orphan->row->started,
	    memory_order_relaxed);

	if (pid <= 0) {
		return NULL;
	}
	orphan->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (orphan->pidfd < 0) {
		return errno == ESRCH ? "its process is gone" : NULL;
	}
	/* Who has the pid now may have been started later. */
	if (started != 0 && client_table_start_time(pid) != started) {
		(void)close(orphan->pidfd);
		orphan->pidfd = -1;
		return "its pid is another process's";
	}
	event_io_start(orphan->worker->loop, &orphan->io, orphan->pidfd,
	    EVENT_READ, process_ended, orphan);
	return NULL;
}

/* True: it is gone already. */
static bool
watch(struct worker *worker, struct control_client *row)
{
	struct orphan *orphan = calloc(1, sizeof(*orphan));
	const char *gone;

	if (orphan == NULL) {
		/* Nobody would look at its time: it goes now. */
		return client_table_let_go(worker->control, row,
		    holder_of_row(worker->control, row),
		    worker->heritage->process) == OK;
	}
	orphan->worker = worker;
	orphan->row = row;
	orphan->holder = holder_of_row(worker->control, row);
	orphan->pidfd = -1;
	LIST_INSERT_HEAD(&worker->orphans, orphan, link);
	gone = watch_process(orphan);
	return gone != NULL && let_go(orphan, gone);
}

static bool
look_at(struct orphan *orphan, struct boot_ms now)
{
	if (!is_ours(orphan)) {
		forget(orphan);
		return false;
	}
	if (orphan->ended != NULL) {
		return let_go(orphan, orphan->ended);
	}
	/* Relaxed: our own word. */
	return now.ms >= atomic_load_explicit(&orphan->row->orphan_until_ms,
	    memory_order_relaxed) && let_go(orphan, "it did not come back");
}

void
orphans_look(struct worker *worker, struct boot_ms now)
{
	struct control_client *row;
	struct orphan *orphan, *next;
	uint32_t at = 0;
	bool gone = false;

	while (client_table_adopt(worker->control, worker->heritage->process,
	    worker->heritage->incarnation, now.ms + HOLDER_ORPHAN_MS, &at,
	    &row) == OK) {
		if (row != NULL && watch(worker, row)) {
			gone = true;
		}
	}
	for (orphan = LIST_FIRST(&worker->orphans); orphan != NULL;
	    orphan = next) {
		next = LIST_NEXT(orphan, link);
		gone = look_at(orphan, now) || gone;
	}
	/* Once for all of them. */
	if (gone) {
		orphans_sweep_held(worker, now);
	}
}

void
orphans_forget(struct worker *worker)
{
	while (!LIST_EMPTY(&worker->orphans)) {
		forget(LIST_FIRST(&worker->orphans));
	}
}
