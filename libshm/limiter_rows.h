/* SPDX-License-Identifier: ISC */

/*
 * Rows of a limiter: who counts for what.  A partition's row leads to its
 * host's, has the queues of its waiters, and says whether they may run.
 * Included by the limiter alone.
 */
#ifndef LIMITER_ROWS_H
#define LIMITER_ROWS_H

#include "limiter.h"

/* Numbers above were written by nobody in his right mind. */
#define LIMITER_NUMBER_MAX	(UINT64_C(1) << 62)

/* Derived indices are used through these: [0] takes what leads nowhere. */
static inline struct limiter_row *
limiter_row_at(const struct limiter *limiter, uint32_t row)
{
	return &limiter->rows[row <= limiter->row_capacity ? row : 0];
}

static inline struct limiter_place *
limiter_place_at(const struct limiter *limiter, uint32_t place)
{
	return &limiter->places[place <= limiter->place_capacity ? place : 0];
}

static inline struct limiter_permit *
limiter_permit_at(const struct limiter *limiter, uint32_t permit)
{
	return &limiter->permits[permit <= limiter->permit_capacity ?
	    permit : 0];
}

/* 0 if it has none.  host is 0 but for a partition's row. */
uint32_t limiter_row_find(const struct limiter *limiter,
    enum limiter_row_kind kind, uint64_t host, uint64_t key);

/* The rows that a call or a waiter counts in. */
struct limiter_seat {
	uint32_t	row;		/* partition's, then its host's */
	uint32_t	client_row;	/* 0: no client */
};

/* Found or made; false: all rows are used, which intact ones cannot be. */
bool	limiter_seat_make(struct limiter *limiter, uint64_t host,
    uint64_t partition, uint64_t client, struct limiter_seat *seat);

/* Rows in which nobody counts any more are free. */
void	limiter_seat_put(struct limiter *limiter,
    const struct limiter_seat *seat);

void	limiter_seat_count(struct limiter *limiter,
    const struct limiter_seat *seat, int in_flight, int waiting);

/* Put a waiter at its queue's end; take it out, wherever it stands. */
void	limiter_queue_append(struct limiter *limiter, uint32_t place);
void	limiter_queue_remove(struct limiter *limiter, uint32_t place);

void	limiter_rows_clear(struct limiter *limiter);

/* The limits as they are in force. */
uint32_t limiter_limit(const struct limiter *limiter,
    const struct limiter_config *config);
uint32_t limiter_reserve(const struct limiter *limiter,
    const struct limiter_config *config);

/* Much is idle: a marked one may run above its partition's cap. */
bool	limiter_has_headroom(const struct limiter *limiter,
    const struct limiter_config *config);
bool	limiter_partition_is_full(const struct limiter *limiter,
    const struct limiter_config *config, uint32_t row);
bool	limiter_host_is_full(const struct limiter *limiter,
    const struct limiter_config *config, uint32_t host_row);

#endif
