/* SPDX-License-Identifier: ISC */

/*
 * What one worker process has: its loop, its connections, its copy of the
 * settings.  worker_main() is in heritage.h.  The parts of a worker share
 * this; nothing else sees it.
 */
#ifndef WORKER_H
#define WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "clock.h"
#include "connection.h"
#include "event_loop.h"
#include "heritage.h"
#include "lease.h"
#include "maintenance.h"
#include "wake.h"

struct http_client;
struct orphan;
struct waiters;

LIST_HEAD(connection_list, connection);
LIST_HEAD(http_client_list, http_client);
LIST_HEAD(orphan_list, orphan);

struct worker {
	/* set at start */
	struct heritage	*heritage;
	struct control	*control;
	struct control_process *process;
	struct event_loop *loop;
	/* what a record of a ring is copied to; of one ring at a time */
	void		*record;
	size_t		record_bytes;
	/* the origins, and the doors to what a library cannot know: the
	 * argument of both is the worker itself */
	struct origin	origins[ORIGINS_MAX];
	uint32_t	origin_count;
	struct lease_door lease_door;
	struct wake	wake;
	struct waiters	*waiters;
	/* copies of what a reload may change */
	uint64_t	settings_generation;
	struct config_access access[CONFIG_POOLS_MAX];
	gid_t		admin_group;
	gid_t		admin_read_group;
	uint32_t	drain_timeout_ms;
	/* watchers */
	struct event_io	client_io;
	struct event_io	admin_io;
	struct event_io	http_io;
	struct event_io	wake_io;
	struct event_signals signals;
	struct event_timer tick;	/* once a second */
	struct event_timer fast;	/* while rings or sweeps have work */
	struct event_timer resume;	/* connections that had their turn */
	struct event_timer accept_later;
	bool		fast_runs;
	bool		listening;
	/* state */
	bool		draining;
	uint64_t	drain_end_ms;
	uint64_t	rings_busy_ms;	/* a ring had records then */
	uint32_t	http_count;
	uint64_t	stream_budget_used;
	struct connection_list connections;
	struct http_client_list http_clients;
	struct orphan_list orphans;
	struct maintenance maintenance;
};

/* Stamp the heartbeat. */
void	worker_beat(struct worker *worker);

/* Give this connection another turn once the others had theirs. */
void	worker_resume(struct worker *worker, struct connection *conn);

/* Look at rings and sweeps ten times a second for a while. */
void	worker_go_fast(struct worker *worker);

/* Answer whoever can be answered, and ring whom that concerns. */
void	worker_look(struct worker *worker);

void	worker_count_connection(struct worker *worker, int by);
void	worker_count_request(struct worker *worker);
void	worker_count_records(struct worker *worker, uint64_t records);
void	worker_count_hangup(struct worker *worker);

#endif
