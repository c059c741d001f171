/* SPDX-License-Identifier: ISC */

/*
 * Sums over the tables.
 */
#include "memory_sum.h"

#include "client_table.h"

/* A page of the mapping costs a process one 8-byte entry. */
#define PAGE_TABLE_PART	(PAGE_BYTES / 8)

uint64_t
memory_sum_entries(const struct pool *pool)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < pool->g.shard_count; i++) {
		/* Relaxed: for people. */
		sum += atomic_load_explicit(&pool->shards[i].entry_count,
		    memory_order_relaxed);
	}
	return sum;
}

uint64_t
memory_sum_index_bytes(const struct pool *pool)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < pool->g.shard_count; i++) {
		/* Relaxed: for people. */
		pages += atomic_load_explicit(&pool->shards[i].dir_pages[0],
		    memory_order_relaxed) + atomic_load_explicit(
		    &pool->shards[i].dir_pages[1], memory_order_relaxed);
	}
	return pages << pool->g.extent_shift;
}

uint64_t
memory_sum_rings_bytes(const struct control *control)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < control->client_capacity; i++) {
		const struct control_client *row = &control->clients[i];

		if (client_table_in_use(control, row)) {
			/* Relaxed: for people. */
			sum += atomic_load_explicit(&row->ring_bytes,
			    memory_order_relaxed);
		}
	}
	return sum;
}

static uint64_t
segments_bytes(const struct heritage *heritage)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < heritage->config.pool_count; i++) {
		sum += heritage->pools[i].g.segment_bytes +
		    heritage->pools[i].g.private_bytes;
	}
	return sum;
}

uint64_t
memory_sum_page_tables(const struct heritage *heritage)
{
	/* Workers, keeper, supervisor. */
	return segments_bytes(heritage) / PAGE_TABLE_PART *
	    ((uint64_t)heritage->config.workers + 2);
}

uint64_t
memory_sum_total(const struct heritage *heritage)
{
	return segments_bytes(heritage) + heritage->control->bytes +
	    memory_sum_rings_bytes(heritage->control) +
	    memory_sum_page_tables(heritage);
}
