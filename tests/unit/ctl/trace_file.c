/* SPDX-License-Identifier: ISC */

#include "trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include <criterion/criterion.h>

#include "trace_reader.h"

static void
store_le(uint8_t *bytes, uint64_t value, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		bytes[i] = (uint8_t)(value >> 8 * i);
	}
}

void
trace_file_encode(uint8_t *bytes, uint32_t time_s, uint64_t object,
    uint32_t size, int64_t next)
{
	store_le(bytes, time_s, 4);
	store_le(bytes + 4, object, 8);
	store_le(bytes + 12, size, 4);
	store_le(bytes + 16, (uint64_t)next, 8);
}

void
trace_file_create(struct trace_file *file, const void *bytes, size_t length)
{
	int fd;

	(void)snprintf(file->path, sizeof(file->path), "%s",
	    "/tmp/weir_trace_XXXXXX");	/* fits */
	fd = mkstemp(file->path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, length), (ssize_t)length);
	cr_assert_eq(close(fd), 0);
}

void
trace_file_create_zstd(struct trace_file *file, const void *bytes,
    size_t length)
{
	size_t room = ZSTD_compressBound(length);
	void *packed = malloc(room);
	size_t packed_length;

	cr_assert_not_null(packed);
	packed_length = ZSTD_compress(packed, room, bytes, length, 3);
	cr_assert_not(ZSTD_isError(packed_length));
	trace_file_create(file, packed, packed_length);
	free(packed);
}

void
trace_file_remove(const struct trace_file *file)
{
	cr_assert_eq(unlink(file->path), 0);
}

uint8_t *
trace_file_encode_all(const uint64_t *objects, size_t count, uint32_t size)
{
	uint8_t *bytes = malloc(count * TRACE_RECORD_BYTES);

	cr_assert_not_null(bytes);
	for (size_t i = 0; i < count; i++) {
		int64_t next = -1;

		for (size_t j = i + 1; j < count; j++) {
			if (objects[j] == objects[i]) {
				next = (int64_t)j + 1;
				break;
			}
		}
		trace_file_encode(bytes + i * TRACE_RECORD_BYTES, (uint32_t)i,
		    objects[i], size, next);
	}
	return bytes;
}
