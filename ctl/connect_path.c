/* SPDX-License-Identifier: ISC */

#include "connect_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_DIRECTORY	"/run/weir"
#define SOCKET_NAME		"admin.sock"
#define DIRECTORY_BYTES		108	/* no socket's path is longer */

static bool
fits(int length, size_t room)
{
	return length >= 0 && (size_t)length < room;
}

/* NULL unless it is an absolute path. */
static const char *
folder_variable(const char *name)
{
	const char *value = secure_getenv(name);

	return value == NULL || value[0] != '/' ? NULL : value;
}

static bool
has_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* In a folder of all users anybody can make one of this name. */
static bool
is_own_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool
connect_path(char *path, size_t room, const char *directory)
{
	const char *runtime = folder_variable("XDG_RUNTIME_DIR");
	const char *temporary = folder_variable("TMPDIR");
	char own[DIRECTORY_BYTES];

	if (directory != NULL) {
		return fits(snprintf(path, room, "%s/%s", directory,
		    SOCKET_NAME), room);
	}
	if (geteuid() != 0 && runtime != NULL &&
	    fits(snprintf(path, room, "%s/weir/%s", runtime, SOCKET_NAME),
	    room) && has_socket(path)) {
		return true;
	}
	if (geteuid() != 0 && fits(snprintf(own, sizeof(own), "%s/weir-%u",
	    temporary != NULL ? temporary : "/tmp", (unsigned)geteuid()),
	    sizeof(own)) && is_own_folder(own) &&
	    fits(snprintf(path, room, "%s/%s", own, SOCKET_NAME), room) &&
	    has_socket(path)) {
		return true;
	}
	return fits(snprintf(path, room, "%s/%s", SYSTEM_DIRECTORY,
	    SOCKET_NAME), room);
}
