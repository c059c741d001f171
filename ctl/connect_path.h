/* SPDX-License-Identifier: ISC */

/*
 * Where the daemon's admin socket is: one rule, which the daemon and the
 * client library follow too.  Any thread may call.
 */
#ifndef CONNECT_PATH_H
#define CONNECT_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Put the path of admin.sock into path.  directory NULL: /run/weir for root;
 * for others the first that has a socket of XDG_RUNTIME_DIR/weir, weir-UID in
 * TMPDIR or /tmp (if it is the user's own), and /run/weir.  False if it does
 * not fit.
 */
bool	connect_path(char *path, size_t room, const char *directory);

#endif
