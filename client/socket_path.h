/* SPDX-License-Identifier: ISC */

/*
 * Where the daemon's socket is when nobody says so.  Pure but for stat(2).
 */
#ifndef SOCKET_PATH_H
#define SOCKET_PATH_H

#define SOCKET_PATH_BYTES	108	/* of struct sockaddr_un */

/*
 * root: /run/weir/weird.sock.  Others: the first that is there of
 * $XDG_RUNTIME_DIR/weir, weir-UID in the temporary folder (the user's own,
 * not writable by others), and /run/weir.  Returns path.
 */
const char *socket_path_default(char path[SOCKET_PATH_BYTES]);

#endif
