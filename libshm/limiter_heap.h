/* SPDX-License-Identifier: ISC */

/*
 * Who may run next: a heap of hosts, and in each host one of its partitions.
 * Included by the limiter alone.
 */
#ifndef LIMITER_HEAP_H
#define LIMITER_HEAP_H

#include "limiter.h"

/* The heap in which a queue of a partition's row belongs; 0: in none. */
uint32_t limiter_heap_wanted(const struct limiter *limiter,
    const struct limiter_config *config, uint32_t row, unsigned queue);

/*
 * After a change of a partition's row: its queues and its host lie in the
 * heaps in which they belong, at the right place.
 */
void	limiter_heap_settle(struct limiter *limiter,
    const struct limiter_config *config, uint32_t row);

/* The waiter who came first of those who may run; 0: none. */
uint32_t limiter_heap_first(const struct limiter *limiter,
    const struct limiter_config *config);

struct limiter_node *limiter_node_at(const struct limiter *limiter,
    uint32_t node);

#endif
