/* SPDX-License-Identifier: ISC */

/*
 * A pool that holds a workload, and reader processes of it.  The bench's
 * first process owns the pool as worker 0; readers are clients: they attach
 * read-only in a process of their own, as side.h has it.
 */
#ifndef DATASET_H
#define DATASET_H

#include "access.h"
#include "bench.h"
#include "clock.h"
#include "pool.h"
#include "read.h"
#include "side.h"
#include "workload.h"

struct dataset {
	struct pool	pool;
	const struct workload *w;
	int		workload_fd;
	unsigned	tag_count;	/* of the pool; each entry has one */
};

/*
 * Creates the pool, large enough to evict nothing, and stores all keys; with
 * tag_count, key n carries tag n % tag_count.  Ends the bench on failure.
 */
void	dataset_create(const struct bench *b, struct dataset *d,
	    uint64_t key_count, uint64_t value_bytes, uint64_t draw_count,
	    unsigned tag_count);
void	dataset_destroy(struct dataset *d);

/* The hash of a tag; from tag_count on, of one that no entry carries. */
uint64_t dataset_tag_hash(const struct dataset *d, unsigned tag);

/* A reader on a core, warm. */
void	dataset_start_reader(const struct bench *b, struct dataset *d,
	    struct side *side, unsigned core);

/* What a process needs to get. */
struct reader {
	struct pool	pool;
	struct clock_cache clock;
	struct stats_block stats;
	const struct workload *w;
};

/* In a process that has only the descriptor so far. */
enum result reader_attach(struct reader *r, const struct dataset *d);

/* A whole hit of a client: hash, time, read. */
static inline bool
reader_get(struct reader *r, const char *key_bytes, void *buffer)
{
	struct key key;
	struct read_hit hit;

	return key_init(&key, &r->pool, key_bytes, WORKLOAD_KEY_BYTES) ==
	    OK && read_copy(&r->pool, &key, clock_cached_now(&r->clock),
	    buffer, WORKLOAD_VALUE_MAX, &hit) == OK;
}

#endif
