/* SPDX-License-Identifier: ISC */

/*
 * Reads request traces in the oracleGeneral form, plain or zstd, as a
 * stream in bounded memory.  The file is hostile input: a cut, empty or
 * senseless one ends the reading with a text that names the record.  One
 * reader belongs to one thread; no state is shared.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACE_RECORD_BYTES	24u
#define TRACE_SIZE_MAX		0x7fffffffu	/* more is taken for damage */
#define TRACE_REQUESTS_MAX	(1ll << 48)	/* so is a number above */
#define TRACE_NEVER		INT64_MAX	/* no later access */

/*
 * One record on disk, little-endian, no padding:
 *
 *	0        4                12       16               24
 *	| time_s | object id      | size   | next access    |
 *
 * next access is the 1-based number of the request that asks for the object
 * again, or -1.
 */
struct trace_record {
	uint64_t	object_id;
	int64_t		next;		/* request number or TRACE_NEVER */
	uint32_t	time_s;
	uint32_t	size;		/* 1 to TRACE_SIZE_MAX */
};

enum trace_fault {
	TRACE_FINE,
	TRACE_NOT_FOUND,
	TRACE_NO_RIGHTS,
	TRACE_SYSTEM,		/* the system refused; the text has errno's */
	TRACE_DAMAGED,		/* the file is not what it claims to be */
};

struct trace_reader;

/*
 * Open path.  Always gives a reader, to be closed by the caller, but for
 * NULL if memory is short; ask trace_fault() whether it opened.
 */
struct trace_reader *trace_open(const char *path);

/*
 * Read up to max records.  Returns how many, 0 at a clean end, -1 on a
 * fault; records before the fault were returned by earlier calls.
 */
ssize_t	trace_read(struct trace_reader *reader, struct trace_record *records,
	    size_t max);

/* What went wrong, and its text, valid until the reader is closed. */
enum trace_fault trace_fault(const struct trace_reader *reader);
const char *trace_fault_text(const struct trace_reader *reader);

void	trace_close(struct trace_reader *reader);

#endif
