/* SPDX-License-Identifier: ISC */

/*
 * The default path of the socket.  A folder in the temporary folder is
 * believed only if it is the user's own: anybody can make one of that name.
 */
#include "socket_path.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_PATH	"/run/weir/weird.sock"

static bool
fits(int length)
{
	return length > 0 && length < SOCKET_PATH_BYTES;
}

static bool
is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static bool
is_own_folder(const char *path, uid_t uid)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid == uid && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

const char *
socket_path_default(char path[SOCKET_PATH_BYTES])
{
	uid_t uid = geteuid();
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	const char *tmp = secure_getenv("TMPDIR");
	char folder[SOCKET_PATH_BYTES];

	if (uid == 0) {
		(void)snprintf(path, SOCKET_PATH_BYTES, SYSTEM_PATH);
		return path;
	}
	if (runtime != NULL && runtime[0] == '/' &&
	    fits(snprintf(path, SOCKET_PATH_BYTES, "%s/weir/weird.sock",
	    runtime)) && is_socket(path)) {
		return path;
	}
	if (tmp == NULL || tmp[0] != '/') {
		tmp = "/tmp";
	}
	if (fits(snprintf(folder, sizeof(folder), "%s/weir-%u", tmp,
	    (unsigned)uid)) && is_own_folder(folder, uid) &&
	    fits(snprintf(path, SOCKET_PATH_BYTES, "%s/weir-%u/weird.sock",
	    tmp, (unsigned)uid)) && is_socket(path)) {
		return path;
	}
	(void)snprintf(path, SOCKET_PATH_BYTES, SYSTEM_PATH);
	return path;
}
