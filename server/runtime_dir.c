/* SPDX-License-Identifier: ISC */

/*
 * Whoever may write to the directory could put sockets of his own there, so
 * its owner and rights are checked each time.  The supervisor alone.
 */
#include "runtime_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
runtime_dir_default(char *out, size_t room)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	int length;

	if (geteuid() == 0) {
		length = snprintf(out, room, "/run/weir");
	} else if (base != NULL && base[0] == '/') {
		length = snprintf(out, room, "%s/weir", base);
	} else {
		base = getenv("TMPDIR");
		length = snprintf(out, room, "%s/weir-%u",
		    base != NULL && base[0] == '/' ? base : "/tmp",
		    (unsigned)geteuid());
	}
	return length > 0 && (size_t)length < room;
}

bool
runtime_dir_prepare(const char *dir, char *error)
{
	struct stat st;

	if (mkdir(dir, geteuid() == 0 ? 0755 : 0700) < 0 &&
	    errno != EEXIST) {
		(void)snprintf(error, RUNTIME_DIR_ERROR_BYTES,
		    "cannot make the directory %s: %s", dir, strerror(errno));
		return false;
	}
	if (lstat(dir, &st) < 0) {
		(void)snprintf(error, RUNTIME_DIR_ERROR_BYTES, "%s: %s", dir,
		    strerror(errno));
		return false;
	}
	if (!S_ISDIR(st.st_mode)) {
		(void)snprintf(error, RUNTIME_DIR_ERROR_BYTES,
		    "%s is no directory", dir);
		return false;
	}
	if (st.st_uid != geteuid() && st.st_uid != 0) {
		(void)snprintf(error, RUNTIME_DIR_ERROR_BYTES,
		    "the directory %s belongs to user %u, not to %u", dir,
		    (unsigned)st.st_uid, (unsigned)geteuid());
		return false;
	}
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		(void)snprintf(error, RUNTIME_DIR_ERROR_BYTES,
		    "others may write to the directory %s: chmod go-w it",
		    dir);
		return false;
	}
	return true;
}
