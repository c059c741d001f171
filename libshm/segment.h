/* SPDX-License-Identifier: ISC */

/*
 * A memfd that processes share: create, size, map, seal, touch.  The
 * supervisor creates; workers inherit; clients map read-only.
 */
#ifndef SEGMENT_H
#define SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "result.h"

struct segment {
	int		fd;
	uint64_t	bytes;
	void		*base;
};

/*
 * A new memfd of that many zero bytes, mapped writable here, left out of
 * core dumps.  SYSTEM with errno, or NO_MEMORY.  The name is for people
 * (/proc/PID/maps).
 */
enum result segment_create(struct segment *seg, const char *name,
    uint64_t bytes);

/*
 * Forbid every later writable mapping and change of size to everybody.
 * Mappings that exist, and their copies in forked children, keep writing.
 */
enum result segment_seal(const struct segment *seg);

/*
 * Map a segment that came from a daemon, read-only.  NOT_SEALED if whoever
 * holds it could still cut it (a cut mapping kills its readers).
 */
enum result segment_map_readonly(struct segment *seg, int fd);

/*
 * Have the kernel back all bytes with memory now, so that no later write
 * meets a full machine.  A child does it, the first to be killed if the
 * memory is not there: NO_MEMORY.  To be called before threads exist.
 */
enum result segment_pretouch(const struct segment *seg);

/* Fill this process's page tables, so that the first accesses do not. */
void	segment_populate(const struct segment *seg);

/* Unmap, close the descriptor.  Other processes are not affected. */
void	segment_destroy(struct segment *seg);

#endif
