/* SPDX-License-Identifier: ISC */

/*
 * A walk over all keys of a pool, by a cursor, without a lock.  Any process.
 * Whatever is stored during the whole walk is met at least once; what comes,
 * goes or moves meanwhile is met or not, and anything may be met twice.
 */
#ifndef SCAN_H
#define SCAN_H

#include "entry.h"
#include "pool.h"

struct scan_item {
	struct entry_head head;
	const void	*key;		/* valid until the callback returns */
	uint64_t	version;
	unsigned	count;		/* access counter */
	uint32_t	extent;
	uint32_t	offset;
};

/* Return false to stop after the bucket that is being walked. */
typedef bool (*scan_fn)(const struct scan_item *item, void *arg);

/*
 * Walk at least one bucket from cursor (0: from the start) and go on until
 * items were met or 1024 buckets were walked.  Returns the next cursor, 0 at
 * the end.  Expired and purged entries are left out.
 */
uint64_t scan_next(const struct pool *pool, uint64_t cursor,
    unsigned items, struct boot_ms now, scan_fn fn, void *arg);

#endif
