/* SPDX-License-Identifier: ISC */

/*
 * All that crosses the fork from the supervisor to its children; nothing
 * else does.  Every other descriptor is closed in the child.
 */
#ifndef HERITAGE_H
#define HERITAGE_H

#include "config.h"
#include "control.h"
#include "pool.h"

struct permit_file_head;

struct heritage {
	/* set by the supervisor before the first fork, then read-only */
	struct config	config;
	struct pool	pools[CONFIG_POOLS_MAX];
	struct control	*control;
	/* who has which permit, for a successor; NULL: it is not kept */
	struct permit_file_head *permits;
	/* listening sockets, shared by all workers, non-blocking */
	int		client_socket;		/* weird.sock */
	int		admin_socket;		/* admin.sock */
	int		http_socket;		/* admin port; -1: off */
	/* eventfds that wake a worker; of each, all processes of the daemon */
	int		wake_fds[WORKERS_MAX];
	/* set in each child after its fork */
	uint32_t	process;		/* in control->processes */
	uint64_t	incarnation;
};

/*
 * A worker's life, from after the privilege drop to its end.  Serves until
 * SIGTERM (drains for drain_timeout_ms) or a second one (ends at once).
 * Returns the exit status.  SIGTERM and SIGUSR2 ("a process died, or the
 * settings changed: look") are blocked when it begins, so that none is lost.
 */
int	worker_main(struct heritage *heritage);

/* The keeper's: stamps the heartbeat of each pool; ends at SIGTERM. */
int	keeper_main(struct heritage *heritage);

#endif
