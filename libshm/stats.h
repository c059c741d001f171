/* SPDX-License-Identifier: ISC */

/*
 * Counters: one block per worker in the pool's segment, summed by readers.
 * A worker adds to its own block; any process that maps the segment, clients
 * too, may read.  stats.def is the only list of them.
 *
 * Counts are never reset and survive the worker: its successor adds to the
 * block where it stands.
 */
#ifndef STATS_H
#define STATS_H

#include <stdatomic.h>
#include <stdint.h>

#define STATS_LINE_BYTES	64

/* Not `stat`: that tag is the C library's. */
enum stat_id {
#define STAT(name, level, help, action) STAT_##name,
#include "stats.def"
#undef STAT
	STAT_COUNT
};

/* Who wants to see it: everyone, or who looks for a cause. */
enum stats_level {
	STATS_LEVEL_info,
	STATS_LEVEL_diag,
};

#define STATS_PER_LINE	(STATS_LINE_BYTES / sizeof(uint64_t))
#define STATS_SLOT_COUNT \
	((STAT_COUNT + STATS_PER_LINE - 1) / STATS_PER_LINE * STATS_PER_LINE)

/* Whole cache lines, so that no two workers write to one. */
struct stats_block {
	/* written by one worker, read by any process, atomic */
	_Alignas(STATS_LINE_BYTES) _Atomic uint64_t value[STATS_SLOT_COUNT];
};
_Static_assert(sizeof(struct stats_block) == STATS_SLOT_COUNT * 8,
    "a stats block is whole cache lines");

/*
 * Add to the caller's own block.  A load and a store, not a locked addition:
 * the block has one writer, so nothing can be lost between the two, and a
 * locked instruction costs twenty times as much.  Relaxed: counts order
 * nothing and are read on their own.
 */
static inline void
stats_add(struct stats_block *block, enum stat_id stat, uint64_t count)
{
	uint64_t old = atomic_load_explicit(&block->value[stat],
	    memory_order_relaxed);

	atomic_store_explicit(&block->value[stat], old + count,
	    memory_order_relaxed);
}

/* Sum of one counter over count blocks that lie one after the other. */
uint64_t stats_sum(const struct stats_block *blocks, uint32_t count,
    enum stat_id stat);

/*
 * Constant strings: the name, one line of what is counted, and what to do
 * when it rises.  Never NULL; empty for a number that is no counter.
 */
const char *stats_name(enum stat_id stat);
const char *stats_help(enum stat_id stat);
const char *stats_action(enum stat_id stat);
enum stats_level stats_level(enum stat_id stat);

#endif
