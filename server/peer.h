/* SPDX-License-Identifier: ISC */

/*
 * Who is at the other end of a Unix socket, as the kernel says, and what that
 * user may do.  Workers.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "result.h"

/* More groups than that are not looked at. */
#define PEER_GROUPS_MAX	256

struct peer {
	pid_t		pid;		/* 0: of a foreign pid namespace */
	uid_t		uid;
	gid_t		gid;
	uint32_t	group_count;
	gid_t		groups[PEER_GROUPS_MAX];
};

enum peer_level {
	PEER_LEVEL_NONE,
	PEER_LEVEL_READ,
	PEER_LEVEL_FULL,
};

/* Credentials at the time of connect().  OK or SYSTEM. */
enum result peer_read(int fd, struct peer *peer);

/*
 * A descriptor that becomes readable when the connecting process exits; -1
 * where the kernel has no way to tell: then the hang-up alone counts.
 */
int	peer_open_pidfd(int fd, const struct peer *peer);

bool	peer_in_group(const struct peer *peer, gid_t group);

/* Exactly the list: it binds root too. */
bool	peer_may_use_pool(const struct peer *peer,
    const struct config_access *access);

/*
 * Full: root, own_uid (the daemon's) and the admin group.  A group of
 * (gid_t)-1 is none.
 */
enum peer_level peer_admin_level(const struct peer *peer, uid_t own_uid,
    gid_t admin_group, gid_t admin_read_group);

#endif
