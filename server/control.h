/* SPDX-License-Identifier: ISC */

/*
 * The control segment: one per daemon, a memfd that the supervisor makes and
 * its children inherit; never given to a client.  Here: the table of
 * processes with their incarnations and heartbeats, the table of clients,
 * the settings that a reload may change, what each worker has to look at, and
 * the origins (origin.h), which lie behind the clients.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#include "config.h"
#include "lock.h"
#include "origin.h"

#define CONTROL_MAGIC		0x4c54434452494557ULL	/* "WEIRDCTL" */
#define CONTROL_CLIENTS_MAX	65536

enum process_state {
	PROCESS_NONE,
	PROCESS_STARTING,
	PROCESS_RUNNING,
	PROCESS_DRAINING,
	PROCESS_DEAD,		/* waits for its restart */
};

/*
 * One per worker, and one for the keeper (index worker_count).  The
 * supervisor writes pid, incarnation, restarts and exit; the process itself
 * the rest.
 */
struct control_process {
	_Atomic uint64_t incarnation;	/* raised at each death, before reap */
	_Atomic uint32_t pid;
	_Atomic uint32_t state;		/* enum process_state */
	_Atomic uint64_t heartbeat_ms;	/* boot clock, once a second */
	_Atomic uint64_t started_ms;	/* boot clock */
	_Atomic uint64_t restarts;
	_Atomic uint32_t last_status;	/* of waitpid(), of the last death */
	_Atomic uint32_t connections;
	_Atomic uint64_t requests;	/* frames served, all lives */
	_Atomic uint64_t ring_records;	/* all lives */
	_Atomic uint64_t hangups;	/* clients dropped for bad bytes */
	uint64_t	unused[7];
};
_Static_assert(sizeof(struct control_process) == 128, "two lines");

/*
 * One per client process that is connected, or was when its worker died;
 * claimed by its worker under clients_lock.  Leases, permits and places
 * belong to a holder: a row and its generation (holder.h).  A row whose
 * worker died is an orphan: until another worker adopts it its holder lives,
 * so that a worker's death frees nothing that its clients hold.
 */
struct control_client {
	_Atomic uint32_t worker;	/* index + 1; 0 is a free row */
	_Atomic uint32_t pid;
	_Atomic uint64_t incarnation;	/* of that worker; older: free */
	_Atomic uint32_t uid;
	_Atomic uint32_t gid;
	_Atomic uint32_t pool;
	_Atomic uint32_t ring_bytes;	/* 0 until one was asked for */
	_Atomic uint64_t since_ms;	/* boot clock */
	_Atomic uint64_t requests;
	_Atomic uint64_t ring_records;
	_Atomic uint64_t hits;		/* as the client says */
	_Atomic uint64_t misses;
	_Atomic uint64_t stale;
	_Atomic uint64_t generation;	/* of the row: its holder; from 1 */
	_Atomic uint64_t secret;	/* who knows it may claim the holder */
	_Atomic uint64_t started;	/* of the process: /proc stat, 22 */
	_Atomic uint64_t orphan_until_ms; /* adopted: boot clock; else 0 */
	uint64_t	unused[2];
};
_Static_assert(sizeof(struct control_client) == 128, "two lines");

/*
 * What a worker has to look at: set by others (release) before the state that
 * they changed is unlocked; taken by the worker (exchange, acquire) when its
 * eventfd rings, and once a second.  See wake.h.
 */
struct control_wake {
	_Atomic uint64_t origins;	/* a bit each */
	_Atomic uint64_t flights[CONFIG_POOLS_MAX]; /* bit: index modulo 64 */
	_Atomic uint64_t all;		/* a process died: look at everything */
	uint64_t	unused[6];
};
_Static_assert(sizeof(struct control_wake) == 192, "three lines");

struct control {
	/* set at creation */
	uint64_t	magic;
	uint64_t	bytes;
	uint8_t		boot_id[16];
	uint32_t	worker_count;
	uint32_t	client_capacity;	/* max_clients */
	uint64_t	started_boot_ms;
	int64_t		started_wall_ms;
	uint32_t	supervisor_pid;
	uint32_t	unused0;
	/*
	 * Settings a reload may change: supervisor, under settings_lock,
	 * then settings_generation (release); children copy under the lock
	 * when the generation has moved.
	 */
	_Atomic uint64_t settings_generation;
	struct shm_lock	settings_lock;
	uint32_t	log_level;
	uint32_t	drain_timeout_ms;
	struct config_access access[CONFIG_POOLS_MAX];
	gid_t		admin_group;
	gid_t		admin_read_group;
	/* any process of the daemon */
	_Atomic uint32_t draining;	/* supervisor sets; no new clients */
	_Atomic uint64_t clients_refused;
	_Atomic uint64_t reloads;
	_Atomic uint64_t reloads_failed;
	struct shm_lock	clients_lock;
	uint32_t	origin_count;
	uint32_t	unused1;
	uint64_t	origin_offsets[ORIGINS_MAX]; /* from the start */
	struct control_wake wakes[WORKERS_MAX];
	struct control_process processes[WORKERS_MAX + 1];
	struct control_client clients[];
};

#endif
