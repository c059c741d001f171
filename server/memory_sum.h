/* SPDX-License-Identifier: ISC */

/*
 * What the running daemon uses, in bytes and entries.  Any process of it.
 */
#ifndef MEMORY_SUM_H
#define MEMORY_SUM_H

#include <stdint.h>

#include "epoch.h"
#include "heritage.h"

/* Linked entries of a pool. */
uint64_t memory_sum_entries(const struct pool *pool);

/* Index pages: part of the pool's memory. */
uint64_t memory_sum_index_bytes(const struct pool *pool);

/* Rings of the clients in the table. */
uint64_t memory_sum_rings_bytes(const struct control *control);

/* Page tables of all processes of the daemon, if they map everything. */
uint64_t memory_sum_page_tables(const struct heritage *heritage);

uint64_t memory_sum_total(const struct heritage *heritage);

#endif
