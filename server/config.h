/* SPDX-License-Identifier: ISC */

/*
 * The daemon's configuration as the rest of it sees it: read once by the
 * supervisor, inherited by its children, read-only there.  config.def is the
 * table of options.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout.h"
#include "origin.h"

#define CONFIG_PATH_BYTES	256
#define CONFIG_NAME_BYTES	64
#define CONFIG_POOLS_MAX	16
#define CONFIG_IDS_MAX		32

/* Who may use a pool: everybody if no list was given (any is set). */
struct config_access {
	bool		any;
	uint32_t	user_count;
	uint32_t	group_count;
	uid_t		users[CONFIG_IDS_MAX];
	gid_t		groups[CONFIG_IDS_MAX];
};

struct config_pool {
	char		name[POOL_NAME_BYTES];
	uint64_t	memory_bytes;
	uint64_t	extent_bytes;		/* 0: default */
	struct config_access access;
};

struct config_origin {
	char		name[ORIGIN_NAME_BYTES];
	struct origin_config config;
};

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

struct config {
	char		file[CONFIG_PATH_BYTES];	/* "" built-in */
	char		socket_dir[CONFIG_PATH_BYTES];
	mode_t		socket_mode;		/* of weird.sock */
	gid_t		socket_group;		/* (gid_t)-1: as it is */
	gid_t		admin_group;		/* full; (gid_t)-1: owner */
	gid_t		admin_read_group;	/* read-only; (gid_t)-1 none */
	char		admin_listen[CONFIG_NAME_BYTES]; /* off or host:port */
	char		user[CONFIG_NAME_BYTES];	/* to drop to if root */
	uint32_t	workers;
	uint32_t	max_clients;
	uint32_t	ring_bytes;
	uint32_t	drain_timeout_ms;
	enum log_level	log_level;
	uint32_t	pool_count;
	struct config_pool pools[CONFIG_POOLS_MAX];
	uint32_t	origin_count;	/* the built-in one is "default" */
	struct config_origin origins[ORIGINS_MAX];
};

/*
 * An entry of the effective configuration for people: name, value with its
 * unit, and where it came from ("built-in", "file:line", "-s", ...).
 */
typedef void (*config_print_fn)(void *arg, const char *name,
    const char *value, const char *source);

#endif
