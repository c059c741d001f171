/* SPDX-License-Identifier: ISC */

#include "trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Large enough that system calls and zstd's calls cost nothing beside. */
#define FILE_BUFFER_BYTES	(128u * 1024)
#define DATA_BUFFER_BYTES	(256u * 1024)

/* A frame that asks for a larger window than 128 MiB is refused. */
#define WINDOW_LOG_MAX		27

#define FAULT_TEXT_BYTES	256

struct trace_reader {
	int		fd;
	bool		at_end;		/* of the file */
	bool		mid_frame;	/* zstd waits for more input */
	uint64_t	records;	/* given out so far */
	ZSTD_DCtx	*zstd;		/* NULL: the file is plain */
	ZSTD_inBuffer	in;		/* over file_buffer */
	size_t		data_begin;	/* bytes of data_buffer not given out */
	size_t		data_end;
	enum trace_fault fault;
	char		fault_text[FAULT_TEXT_BYTES];
	uint8_t		file_buffer[FILE_BUFFER_BYTES];
	uint8_t		data_buffer[DATA_BUFFER_BYTES];
};

__attribute__((format(printf, 3, 4)))
static void
set_fault(struct trace_reader *reader, enum trace_fault fault,
    const char *format, ...)
{
	va_list args;

	reader->fault = fault;
	va_start(args, format);
	(void)vsnprintf(reader->fault_text, sizeof(reader->fault_text),
	    format, args);	/* a cut text is still a text */
	va_end(args);
}

static void
set_system_fault(struct trace_reader *reader, const char *what, int error)
{
	enum trace_fault fault = TRACE_SYSTEM;

	if (error == ENOENT || error == ENOTDIR) {
		fault = TRACE_NOT_FOUND;
	} else if (error == EACCES || error == EPERM) {
		fault = TRACE_NO_RIGHTS;
	}
	set_fault(reader, fault, "%s: %s", what, strerror(error));
}

/* Fill the empty file buffer; a fault is set or in.size is the count. */
static void
fill_file_buffer(struct trace_reader *reader)
{
	ssize_t got;

	do {
		got = read(reader->fd, reader->file_buffer,
		    sizeof(reader->file_buffer));
	} while (got < 0 && errno == EINTR);
	if (got < 0) {
		set_system_fault(reader, "cannot read", errno);
		got = 0;
	} else if (got == 0) {
		reader->at_end = true;
	}
	reader->in.src = reader->file_buffer;
	reader->in.size = (size_t)got;
	reader->in.pos = 0;
}

static void
append_plain(struct trace_reader *reader)
{
	size_t room = sizeof(reader->data_buffer) - reader->data_end;
	size_t left = reader->in.size - reader->in.pos;
	size_t take = left < room ? left : room;

	memcpy(reader->data_buffer + reader->data_end,
	    reader->file_buffer + reader->in.pos, take);
	reader->in.pos += take;
	reader->data_end += take;
}

static void
append_zstd(struct trace_reader *reader)
{
	ZSTD_outBuffer out = {
		.dst = reader->data_buffer,
		.size = sizeof(reader->data_buffer),
		.pos = reader->data_end,
	};
	size_t in_before = reader->in.pos;
	size_t rc = ZSTD_decompressStream(reader->zstd, &out, &reader->in);

	if (ZSTD_isError(rc)) {
		set_fault(reader, TRACE_DAMAGED,
		    "zstd stream is damaged after record %" PRIu64 ": %s",
		    reader->records + (out.pos - reader->data_begin) /
		    TRACE_RECORD_BYTES, ZSTD_getErrorName(rc));
		return;
	}
	/*
	 * With nothing read and nothing written a 0 only says that no frame
	 * has begun; it must not hide that one is cut.
	 */
	if (reader->in.pos != in_before || out.pos != reader->data_end) {
		reader->mid_frame = rc != 0;
	}
	reader->data_end = out.pos;
}

static void
refuse_cut(struct trace_reader *reader, size_t rest)
{
	if (reader->mid_frame) {
		set_fault(reader, TRACE_DAMAGED,
		    "zstd stream is cut in record %" PRIu64,
		    reader->records + 1);
	} else if (rest != 0) {
		set_fault(reader, TRACE_DAMAGED, "record %" PRIu64
		    " is cut: %zu of %u bytes", reader->records + 1, rest,
		    TRACE_RECORD_BYTES);
	} else if (reader->records == 0) {
		set_fault(reader, TRACE_DAMAGED,
		    "no record 1: the trace is empty");
	}
}

/* Have at least one whole record in the data buffer, or be at the end. */
static void
fill_data_buffer(struct trace_reader *reader)
{
	size_t rest = reader->data_end - reader->data_begin;

	memmove(reader->data_buffer,
	    reader->data_buffer + reader->data_begin, rest);
	reader->data_begin = 0;
	reader->data_end = rest;
	while (reader->fault == TRACE_FINE &&
	    reader->data_end < TRACE_RECORD_BYTES) {
		size_t before = reader->data_end;

		if (reader->in.pos == reader->in.size && !reader->at_end) {
			fill_file_buffer(reader);
		}
		if (reader->fault != TRACE_FINE) {
			return;
		}
		if (reader->zstd == NULL) {
			append_plain(reader);
		} else {
			append_zstd(reader);
		}
		if (reader->at_end && reader->data_end == before) {
			break;
		}
	}
	if (reader->fault == TRACE_FINE &&
	    reader->data_end < TRACE_RECORD_BYTES) {
		refuse_cut(reader, reader->data_end);
	}
}

static uint64_t
load_le(const uint8_t *bytes, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = count; i > 0; i--) {
		value = value << 8 | bytes[i - 1];
	}
	return value;
}

static bool
parse_record(struct trace_reader *reader, struct trace_record *record)
{
	const uint8_t *bytes = reader->data_buffer + reader->data_begin;
	uint64_t number = reader->records + 1;
	int64_t next = (int64_t)load_le(bytes + 16, 8);

	record->time_s = (uint32_t)load_le(bytes, 4);
	record->object_id = load_le(bytes + 4, 8);
	record->size = (uint32_t)load_le(bytes + 12, 4);
	record->next = next == -1 ? TRACE_NEVER : next;
	if (record->size == 0 || record->size > TRACE_SIZE_MAX) {
		set_fault(reader, TRACE_DAMAGED, "record %" PRIu64
		    ": size %" PRIu32 " is not between 1 and %u", number,
		    record->size, TRACE_SIZE_MAX);
		return false;
	}
	if (record->next != TRACE_NEVER && (record->next > TRACE_REQUESTS_MAX ||
	    record->next <= 0 || (uint64_t)record->next <= number)) {
		set_fault(reader, TRACE_DAMAGED, "record %" PRIu64
		    ": next access %" PRId64 " is no later request",
		    number, next);
		return false;
	}
	return true;
}

ssize_t
trace_read(struct trace_reader *reader, struct trace_record *records,
    size_t max)
{
	size_t count = 0;

	while (count < max && reader->fault == TRACE_FINE) {
		if (reader->data_end - reader->data_begin <
		    TRACE_RECORD_BYTES) {
			fill_data_buffer(reader);
			if (reader->data_end < TRACE_RECORD_BYTES) {
				break;
			}
		}
		if (!parse_record(reader, &records[count])) {
			break;
		}
		reader->data_begin += TRACE_RECORD_BYTES;
		reader->records++;
		count++;
	}
	if (count == 0 && reader->fault != TRACE_FINE) {
		return -1;
	}
	return (ssize_t)count;
}

/* The first bytes say whether the file is zstd. */
static void
detect_form(struct trace_reader *reader)
{
	static const uint8_t magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };

	fill_file_buffer(reader);
	if (reader->fault != TRACE_FINE || reader->in.size < sizeof(magic) ||
	    memcmp(reader->file_buffer, magic, sizeof(magic)) != 0) {
		return;
	}
	reader->zstd = ZSTD_createDCtx();
	if (reader->zstd == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(
	    reader->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
		set_system_fault(reader, "cannot set zstd up", ENOMEM);
	}
}

struct trace_reader *
trace_open(const char *path)
{
	struct trace_reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL) {
		return NULL;
	}
	reader->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (reader->fd < 0) {
		set_system_fault(reader, "cannot open", errno);
		return reader;
	}
	detect_form(reader);
	return reader;
}

enum trace_fault
trace_fault(const struct trace_reader *reader)
{
	return reader->fault;
}

const char *
trace_fault_text(const struct trace_reader *reader)
{
	return reader->fault_text;
}

void
trace_close(struct trace_reader *reader)
{
	if (reader == NULL) {
		return;
	}
	if (reader->fd >= 0) {
		(void)close(reader->fd);	/* read only: nothing to lose */
	}
	ZSTD_freeDCtx(reader->zstd);
	free(reader);
}
