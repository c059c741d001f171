/* SPDX-License-Identifier: ISC */

/*
 * Trace files for tests: bytes and records written to a temporary file that
 * is gone when the test is.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

#define TRACE_FILE_PATH_BYTES	64

struct trace_file {
	char	path[TRACE_FILE_PATH_BYTES];
};

/* One record as it is on disk, into 24 bytes. */
void	trace_file_encode(uint8_t *bytes, uint32_t time_s, uint64_t object,
	    uint32_t size, int64_t next);

/* A file of those bytes, plain or as one zstd frame. */
void	trace_file_create(struct trace_file *file, const void *bytes,
	    size_t length);
void	trace_file_create_zstd(struct trace_file *file, const void *bytes,
	    size_t length);

void	trace_file_remove(const struct trace_file *file);

/*
 * Records for objects of the given numbers, all of one size, each with its
 * true next access.  The caller frees count * 24 bytes.
 */
uint8_t	*trace_file_encode_all(const uint64_t *objects, size_t count,
	    uint32_t size);

#endif
