/* SPDX-License-Identifier: ISC */

/*
 * Loaded before the libc into a daemon under test: the worker that is about
 * to send a good answer of the type that the file named by WEIR_TEST_ANSWER
 * holds is killed instead, once.  What was asked is done, and nobody is told.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol.h"

static _Atomic uint32_t *wanted;

static void __attribute__((constructor))
map_wanted(void)
{
	const char *path = getenv("WEIR_TEST_ANSWER");
	int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*wanted),
	    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0) {
		(void)close(fd);
	}
	if (map != MAP_FAILED) {
		wanted = map;
	}
}

/* By hand: this is no part of the daemon, and has none of its code. */
static uint64_t
number_at(const uint8_t *bytes, size_t at, unsigned count)
{
	uint64_t number = 0;

	for (unsigned i = count; i > 0; i--) {
		number = number << 8 | bytes[at + i - 1];
	}
	return number;
}

/* One of the whole frames in these bytes is such an answer. */
static bool
has_answer(const uint8_t *bytes, size_t length, uint32_t type)
{
	size_t at = 0;

	while (length - at >= FRAME_HEADER_BYTES && number_at(bytes, at, 4) ==
	    FRAME_MAGIC) {
		uint64_t body = number_at(bytes, at + 32, 8);

		if (bytes[at + 5] == type && (number_at(bytes, at + 6, 2) &
		    FRAME_ANSWER) != 0 && (int32_t)number_at(bytes, at + 8,
		    4) >= 0) {
			return true;
		}
		if (body > length - at - FRAME_HEADER_BYTES) {
			return false;
		}
		at += FRAME_HEADER_BYTES + (size_t)body;
	}
	return false;
}

/* In the place of the libc's. */
#pragma GCC visibility push(default)

ssize_t
send(int fd, const void *bytes, size_t length, int flags)
{
	uint32_t type = wanted == NULL ? 0 : atomic_load_explicit(wanted,
	    memory_order_acquire);

	if (type != 0 && has_answer(bytes, length, type) &&
	    atomic_compare_exchange_strong_explicit(wanted, &type, 0,
	    memory_order_acq_rel, memory_order_acquire)) {
		(void)kill(getpid(), SIGKILL);
	}
	return (ssize_t)syscall(SYS_sendto, fd, bytes, length, flags, NULL,
	    0);
}

#pragma GCC visibility pop
