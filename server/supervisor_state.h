/* SPDX-License-Identifier: ISC */

/*
 * What the files of the supervisor share.  No other process sees it.
 *
 *	STARTING --ready--> READY --TERM--> DRAINING --TERM or limit--> QUICK
 *	    '-----TERM---------------------'
 *
 * In DRAINING the workers end by themselves, then the keeper; in QUICK what
 * is left is killed at the limit.
 */
#ifndef SUPERVISOR_STATE_H
#define SUPERVISOR_STATE_H

#include "address.h"
#include "backoff.h"
#include "child.h"
#include "clock.h"
#include "config_load.h"
#include "heritage.h"
#include "notify.h"
#include "options.h"
#include "privilege.h"
#include "segment.h"

#define SUPERVISOR_PATH_BYTES	(CONFIG_PATH_BYTES + 16)

enum supervisor_phase {
	SUPERVISOR_STARTING,
	SUPERVISOR_READY,
	SUPERVISOR_DRAINING,
	SUPERVISOR_QUICK,
};

struct supervised {
	pid_t		pid;		/* 0: none */
	struct backoff	backoff;
	uint64_t	restart_ms;	/* boot clock; 0: not to be */
	uint64_t	started_ms;
	uint64_t	seen_heartbeat_ms; /* at the last look */
	uint32_t	still_looks;	/* looks that saw the same */
};

struct supervisor {
	struct heritage	heritage;
	struct config_draft *draft;	/* in effect; sources of it */
	const struct options *options;
	struct notify	notify;
	struct privilege_identity identity;
	struct segment	control_segment;
	struct address	http_address;
	int		lock_fd;
	bool		client_bound;	/* the file at the path is ours */
	bool		admin_bound;
	char		client_path[SUPERVISOR_PATH_BYTES];
	char		admin_path[SUPERVISOR_PATH_BYTES];
	enum supervisor_phase phase;
	bool		failed;		/* the exit status will say so */
	uint64_t	next_look_ms;
	uint64_t	limit_ms;	/* of the phase, from DRAINING on */
	uint32_t	deaths_before_ready;
	struct supervised children[WORKERS_MAX + 1];
};

/* Number of rows of children in use: the workers and the keeper. */
static inline uint32_t
supervisor_child_count(const struct supervisor *sup)
{
	return sup->heritage.config.workers + 1;
}

/*
 * supervisor_start.c: directory, lock, sockets, memory, rights.  False if
 * something is missing; the log says what.
 */
bool	supervisor_prepare(struct supervisor *sup);

/* What a socket's file may be, by the configuration. */
mode_t	supervisor_admin_mode(const struct config *config);

/* supervisor_children.c */
void	supervisor_spawn(struct supervisor *sup, uint32_t index);
void	supervisor_reap(struct supervisor *sup);
void	supervisor_restart_due(struct supervisor *sup, struct boot_ms now);

/* SIGUSR2 to each: a process died, or the settings changed. */
void	supervisor_tell_workers(const struct supervisor *sup);

/* The watchdog's look, to be made once a second. */
void	supervisor_look(struct supervisor *sup);

/* supervisor_reload.c: SIGHUP. */
void	supervisor_reload(struct supervisor *sup);

/*
 * supervisor_origin.c: the running daemon has room for these origins.  False:
 * it has not; the log says which and why.
 */
bool	supervisor_origins_fit(const struct supervisor *sup,
    const struct config *wanted);

/*
 * Give each origin its options of merged.  False: some could not be had and
 * stay, in merged too; the log says which.
 */
bool	supervisor_origins_apply(struct supervisor *sup,
    struct config *merged);

/* Write the state to the log: SIGUSR1. */
void	supervisor_log_state(const struct supervisor *sup);

/* supervisor_stop.c: the first SIGTERM or SIGINT, and the second. */
void	supervisor_begin_drain(struct supervisor *sup, struct boot_ms now);
void	supervisor_begin_quick(struct supervisor *sup, struct boot_ms now);

/* Go on with a stop; true when no child is left. */
bool	supervisor_stop_step(struct supervisor *sup, struct boot_ms now);

/* Take the sockets' files away and close what is open. */
void	supervisor_clean_up(struct supervisor *sup);

#endif
