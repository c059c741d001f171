/* SPDX-License-Identifier: ISC */

/*
 * The listening sockets: bound by the supervisor, served by workers.
 *
 * Bound and listening are two steps: whoever connects in between is refused
 * at once, and does not wait for a daemon that is still filling its memory.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <sys/types.h>

#include "address.h"

/* Room for a text that says what is wrong. */
#define LISTENER_ERROR_BYTES	256

/*
 * A non-blocking stream socket at the path, with that mode and group
 * ((gid_t)-1: as it comes).  Whatever socket is at the path is removed: the
 * caller holds the directory's lock.  Answers the descriptor, or -1 with a
 * text of LISTENER_ERROR_BYTES.
 */
int	listener_bind_unix(const char *path, mode_t mode, gid_t group,
    char *error);

/* The same at an address; a port of 0 is one of the kernel's choice. */
int	listener_bind_inet(const struct address *address, char *error);

/* 0, or -1 with errno. */
int	listener_start(int fd);

#endif
