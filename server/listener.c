/* SPDX-License-Identifier: ISC */

/*
 * Making the sockets.  The supervisor alone.
 */
#include "listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Bursts of a machine full of processes that start at once. */
#define BACKLOG	1024

static int
fail(int fd, char *error, const char *what, const char *where)
{
	(void)snprintf(error, LISTENER_ERROR_BYTES, "cannot %s %s: %s", what,
	    where, strerror(errno));
	if (fd >= 0) {
		close(fd);
	}
	return -1;
}

int
listener_bind_unix(const char *path, mode_t mode, gid_t group, char *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t mask;
	int bound;
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return fail(-1, error, "use the path", path);
	}
	memcpy(address.sun_path, path, strlen(path));
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode)) {
			errno = EEXIST;
			return fail(-1, error, "replace, as it is no socket,",
			    path);
		}
		if (unlink(path) < 0) {
			return fail(-1, error, "remove the old", path);
		}
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return fail(fd, error, "make the socket", path);
	}
	/* Nobody's until its group and mode are right. */
	mask = umask(0777);
	bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	(void)umask(mask);
	if (bound < 0) {
		return fail(fd, error, "bind", path);
	}
	if (group != (gid_t)-1 && chown(path, (uid_t)-1, group) < 0) {
		return fail(fd, error, "change the group of", path);
	}
	if (chmod(path, mode) < 0) {
		return fail(fd, error, "change the mode of", path);
	}
	return fd;
}

int
listener_bind_inet(const struct address *address, char *error)
{
	char text[ADDRESS_TEXT_BYTES];
	int one = 1;
	int fd = socket(address->storage.ss_family, SOCK_STREAM |
	    SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)address_format(address, text);
	if (fd < 0) {
		return fail(fd, error, "make the socket", text);
	}
	/* Best effort: without it a restart may find the port in use. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&address->storage,
	    address->bytes) < 0) {
		return fail(fd, error, "bind", text);
	}
	return fd;
}

int
listener_start(int fd)
{
	return listen(fd, BACKLOG);
}
