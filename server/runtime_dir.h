/* SPDX-License-Identifier: ISC */

/*
 * The directory of the sockets and the lock file.  The supervisor alone.
 */
#ifndef RUNTIME_DIR_H
#define RUNTIME_DIR_H

#include <stdbool.h>
#include <stddef.h>

/* Room for a text that says what is wrong. */
#define RUNTIME_DIR_ERROR_BYTES	320

/*
 * Where the sockets are if nobody says: /run/weir for root, else
 * $XDG_RUNTIME_DIR/weir, else weir-UID in the temporary directory.  False if
 * the path does not fit.
 */
bool	runtime_dir_default(char *out, size_t room);

/*
 * Make the directory if it is missing, and see that it is ours and nobody
 * else may write to it.  Its parent has to exist.  False with a text of
 * RUNTIME_DIR_ERROR_BYTES.
 */
bool	runtime_dir_prepare(const char *dir, char *error);

#endif
