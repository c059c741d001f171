/* SPDX-License-Identifier: ISC */

/*
 * A trace of unit objects through a real pool: processes share its requests
 * round-robin, each a get and, after a miss, a set.  A turn word keeps their
 * order, so that the result is one number and not a matter of scheduling.
 */
#ifndef TRACE_POOL_H
#define TRACE_POOL_H

#include <stdint.h>

#include "result.h"

struct trace_pool {
	/* set by the caller */
	const uint64_t	*ids;		/* of the objects, request by request */
	uint64_t	request_count;
	uint64_t	pool_bytes;
	unsigned	process_count;
	/* set by trace_pool_run() */
	uint64_t	misses;
	uint64_t	entries;	/* at the end */
};

/* An object is a key and a value of together so many bytes. */
#define TRACE_POOL_OBJECT_BYTES	1024
#define TRACE_POOL_EXTENT_BYTES	(16u << 10)

/*
 * OK, or what the pool said.  CORRUPT: a hit gave another object's value;
 * SYSTEM: a process died.
 */
enum result trace_pool_run(struct trace_pool *t);

#endif
