/* SPDX-License-Identifier: ISC */

/*
 * The lock is the kernel's, so it is gone with its holder and never stale.
 * The number in the file is for people; the kernel names the holder.
 */
#include "pidlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum result
name_holder(int fd, pid_t *holder)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char text[16] = "";

	*holder = 0;
	if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
	    lock.l_pid > 0) {
		*holder = lock.l_pid;
	} else if (pread(fd, text, sizeof(text) - 1, 0) > 0) {
		/* The holder is in another pid namespace. */
		*holder = atoi(text);
	}
	close(fd);
	return BUSY;
}

enum result
pidlock_acquire(const char *path, int *fd, pid_t *holder)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char text[16];
	int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (*fd < 0) {
		return SYSTEM;
	}
	if (fcntl(*fd, F_SETLK, &lock) < 0) {
		int error = errno;

		if (error == EACCES || error == EAGAIN) {
			return name_holder(*fd, holder);
		}
		close(*fd);
		errno = error;
		return SYSTEM;
	}
	if (ftruncate(*fd, 0) < 0 ||
	    pwrite(*fd, text, (size_t)length, 0) != length) {
		int error = errno;

		close(*fd);
		errno = error;
		return SYSTEM;
	}
	return OK;
}
