/* SPDX-License-Identifier: ISC */

/*
 * The memfd below a pool.  The seals, tried on Linux 6.18: a client that has
 * the descriptor is refused a writable map, mprotect, pwrite, ftruncate,
 * PUNCH_HOLE, MADV_REMOVE, reopening and splice.
 */
#include "segment.h"

#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Known to the kernel before Debian 12's headers name it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	0x0008U
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

#define SEALS_OF_A_POOL	(F_SEAL_SHRINK | F_SEAL_GROW |		\
			    F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
#define SEALS_NEEDED	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)
#define TOUCH_STEP	4096

static enum result
result_of_errno(void)
{
	return errno == ENOMEM ? NO_MEMORY : SYSTEM;
}

enum result
segment_create(struct segment *seg, const char *name, uint64_t bytes)
{
	seg->bytes = bytes;
	seg->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING |
	    MFD_NOEXEC_SEAL);
	if (seg->fd < 0 && errno == EINVAL) {
		/* Kernels before 6.3 know no MFD_NOEXEC_SEAL. */
		seg->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	}
	if (seg->fd < 0) {
		return result_of_errno();
	}
	if (ftruncate(seg->fd, (off_t)bytes) < 0) {
		goto close_fd;
	}
	seg->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	    seg->fd, 0);
	if (seg->base == MAP_FAILED) {
		goto close_fd;
	}
	/*
	 * A dumping worker would hold its locks for as long as the dump
	 * takes, and would write other people's data to disk.
	 */
	(void)madvise(seg->base, bytes, MADV_DONTDUMP);
	return OK;

close_fd:;
	enum result result = result_of_errno();

	close(seg->fd);
	seg->fd = -1;
	seg->base = NULL;
	return result;
}

enum result
segment_seal(const struct segment *seg)
{
	return fcntl(seg->fd, F_ADD_SEALS, SEALS_OF_A_POOL) < 0 ? SYSTEM : OK;
}

enum result
segment_map_readonly(struct segment *seg, int fd)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	seg->base = NULL;
	seg->fd = -1;
	if ((seals < 0 || (seals & SEALS_NEEDED) != SEALS_NEEDED) &&
	    !FAULT(attach_unsealed)) {
		return NOT_SEALED;
	}
	if (fstat(fd, &st) < 0) {
		return SYSTEM;
	}
	if (st.st_size <= 0) {
		return LAYOUT_MISMATCH;
	}
	seg->bytes = (uint64_t)st.st_size;
	seg->base = mmap(NULL, seg->bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (seg->base == MAP_FAILED) {
		seg->base = NULL;
		return result_of_errno();
	}
	seg->fd = fd;
	(void)madvise(seg->base, seg->bytes, MADV_DONTDUMP);
	return OK;
}

/* Write to a page without changing it, whoever else writes there. */
static void
touch_pages(const struct segment *seg)
{
	unsigned char *base = seg->base;

	if (madvise(base, seg->bytes, MADV_POPULATE_WRITE) == 0) {
		return;
	}
	for (uint64_t at = 0; at < seg->bytes; at += TOUCH_STEP) {
		/* Relaxed: adds nothing, orders nothing. */
		(void)atomic_fetch_or_explicit(
		    (_Atomic unsigned char *)(base + at), 0,
		    memory_order_relaxed);
	}
}

static void
volunteer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		/* Best effort: without it another process may go first. */
		ssize_t done = write(fd, "1000", 4);

		(void)done;
		close(fd);
	}
}

enum result
segment_pretouch(const struct segment *seg)
{
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		return result_of_errno();
	}
	if (pid == 0) {
		volunteer_for_oom();
		touch_pages(seg);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			return SYSTEM;
		}
	}
	/* Over a limit the kernel kills, it does not say ENOMEM. */
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? OK : NO_MEMORY;
}

void
segment_populate(const struct segment *seg)
{
	/* Best effort: without it the first touch of each page faults. */
	(void)madvise(seg->base, seg->bytes, MADV_POPULATE_READ);
}

void
segment_destroy(struct segment *seg)
{
	if (seg->base != NULL) {
		munmap(seg->base, seg->bytes);
		seg->base = NULL;
	}
	if (seg->fd >= 0) {
		close(seg->fd);
		seg->fd = -1;
	}
}
