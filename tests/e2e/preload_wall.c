/* SPDX-License-Identifier: ISC */

/*
 * Loaded before the libc into a daemon and a client under test: the wall
 * clock they see is the machine's plus what the file named by
 * WEIR_TEST_WALL says now, 8 bytes of seconds.  The other clocks are left
 * alone.  A machine's own clock is not a test's to set.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t *shift;

static void __attribute__((constructor))
map_shift(void)
{
	const char *path = getenv("WEIR_TEST_WALL");
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shift),
	    PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0) {
		(void)close(fd);
	}
	if (map != MAP_FAILED) {
		shift = map;
	}
}

static bool
is_wall(clockid_t id)
{
	return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ||
	    id == CLOCK_TAI;
}

/* In the place of the libc's. */
#pragma GCC visibility push(default)

int
clock_gettime(clockid_t id, struct timespec *out)
{
	int result = (int)syscall(SYS_clock_gettime, id, out);

	if (result == 0 && shift != NULL && is_wall(id)) {
		/* Relaxed: a number by itself. */
		out->tv_sec += atomic_load_explicit(shift,
		    memory_order_relaxed);
	}
	return result;
}

int
gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *out)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (out != NULL) {
		*out = now.tv_sec;
	}
	return now.tv_sec;
}

#pragma GCC visibility pop
