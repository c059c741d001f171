/* SPDX-License-Identifier: ISC */

/*
 * The admin socket: frames of type ADMIN to admin.h, answers cut into frames.
 * A verify runs in a process of its own meanwhile.  Workers.
 */
#ifndef ADMIN_SESSION_H
#define ADMIN_SESSION_H

#include "connection.h"

extern const struct connection_kind admin_session_kind;

#endif
