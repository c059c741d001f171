/* SPDX-License-Identifier: ISC */

/*
 * Rows by chained hashing, so that a row keeps its number while it is used;
 * queues of waiters; what is full.  Daemon processes, with the origin's lock.
 */
#include "limiter_rows.h"

#include <string.h>

static uint32_t
bucket_of(const struct limiter *limiter, enum limiter_row_kind kind,
    uint64_t host, uint64_t key)
{
	uint64_t mixed = (key ^ (host * UINT64_C(0xff51afd7ed558ccd))) + kind;

	mixed ^= mixed >> 32;
	mixed *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(mixed >> 32) & (limiter->bucket_count - 1);
}

uint32_t
limiter_row_find(const struct limiter *limiter, enum limiter_row_kind kind,
    uint64_t host, uint64_t key)
{
	uint32_t at = limiter->buckets[bucket_of(limiter, kind, host, key)];

	for (uint32_t i = 0; at != 0 && i < limiter->row_capacity; i++) {
		const struct limiter_row *row = limiter_row_at(limiter, at);

		if (row->key == key && row->host == host &&
		    row->kind == kind) {
			return at;
		}
		at = row->chain;
	}
	return 0;
}

static uint32_t
make_row(struct limiter *limiter, enum limiter_row_kind kind, uint64_t host,
    uint64_t key)
{
	struct limiter_state *state = limiter->state;
	uint32_t number = limiter_row_find(limiter, kind, host, key);
	struct limiter_row *row;
	uint32_t *bucket;

	if (number != 0) {
		return number;
	}
	if (state->free_row != 0) {
		number = state->free_row;
		state->free_row = limiter_row_at(limiter, number)->chain;
	} else if (state->row_top < limiter->row_capacity) {
		number = ++state->row_top;
	} else {
		return 0;
	}
	bucket = &limiter->buckets[bucket_of(limiter, kind, host, key)];
	row = limiter_row_at(limiter, number);
	memset(row, 0, sizeof(*row));
	row->key = key;
	row->host = host;
	row->kind = kind;
	row->chain = *bucket;
	*bucket = number;
	return number;
}

static void
put_row(struct limiter *limiter, uint32_t number)
{
	struct limiter_row *row = limiter_row_at(limiter, number);
	uint32_t *link = &limiter->buckets[bucket_of(limiter, row->kind,
	    row->host, row->key)];

	if (number == 0 || row->in_flight != 0 || row->waiting != 0) {
		return;
	}
	for (uint32_t i = 0; *link != number; i++) {
		if (*link == 0 || i == limiter->row_capacity) {
			return;
		}
		link = &limiter_row_at(limiter, *link)->chain;
	}
	*link = row->chain;
	row->kind = LIMITER_ROW_FREE;
	row->chain = limiter->state->free_row;
	limiter->state->free_row = number;
}

bool
limiter_seat_make(struct limiter *limiter, uint64_t host, uint64_t partition,
    uint64_t client, struct limiter_seat *seat)
{
	uint32_t host_row = make_row(limiter, LIMITER_ROW_HOST, 0, host);

	seat->client_row = client == 0 ? 0 :
	    make_row(limiter, LIMITER_ROW_CLIENT, 0, client);
	seat->row = host_row == 0 ? 0 :
	    make_row(limiter, LIMITER_ROW_PARTITION, host, partition);
	if (seat->row != 0 && (client == 0 || seat->client_row != 0)) {
		limiter_row_at(limiter, seat->row)->host_row = host_row;
		return true;
	}
	put_row(limiter, seat->row);
	put_row(limiter, host_row);
	put_row(limiter, seat->client_row);
	return false;
}

void
limiter_seat_put(struct limiter *limiter, const struct limiter_seat *seat)
{
	uint32_t host_row = limiter_row_at(limiter, seat->row)->host_row;

	put_row(limiter, seat->row);
	put_row(limiter, host_row);
	put_row(limiter, seat->client_row);
}

static void
count(struct limiter *limiter, uint32_t number, int in_flight, int waiting)
{
	struct limiter_row *row = limiter_row_at(limiter, number);

	row->in_flight += (uint32_t)in_flight;
	row->waiting += (uint32_t)waiting;
}

void
limiter_seat_count(struct limiter *limiter, const struct limiter_seat *seat,
    int in_flight, int waiting)
{
	limiter->state->in_flight += (uint32_t)in_flight;
	limiter->state->waiting += (uint32_t)waiting;
	count(limiter, seat->row, in_flight, waiting);
	count(limiter, limiter_row_at(limiter, seat->row)->host_row,
	    in_flight, waiting);
	if (seat->client_row != 0) {
		count(limiter, seat->client_row, in_flight, waiting);
	}
}

void
limiter_queue_append(struct limiter *limiter, uint32_t number)
{
	struct limiter_place *place = limiter_place_at(limiter, number);
	struct limiter_row *row = limiter_row_at(limiter, place->row);
	unsigned queue = place->marked != 0 ? LIMITER_MARKED : LIMITER_PLAIN;

	place->next = 0;
	place->previous = row->tail[queue];
	if (place->previous != 0) {
		limiter_place_at(limiter, place->previous)->next = number;
	} else {
		row->head[queue] = number;
	}
	row->tail[queue] = number;
}

void
limiter_queue_remove(struct limiter *limiter, uint32_t number)
{
	struct limiter_place *place = limiter_place_at(limiter, number);
	struct limiter_row *row = limiter_row_at(limiter, place->row);
	unsigned queue = place->marked != 0 ? LIMITER_MARKED : LIMITER_PLAIN;

	if (place->previous != 0) {
		limiter_place_at(limiter, place->previous)->next = place->next;
	} else {
		row->head[queue] = place->next;
	}
	if (place->next != 0) {
		limiter_place_at(limiter, place->next)->previous =
		    place->previous;
	} else {
		row->tail[queue] = place->previous;
	}
	place->next = 0;
	place->previous = 0;
}

void
limiter_rows_clear(struct limiter *limiter)
{
	struct limiter_state *state = limiter->state;

	memset(limiter->buckets, 0,
	    limiter->bucket_count * sizeof(*limiter->buckets));
	memset(limiter->rows, 0, sizeof(*limiter->rows));
	memset(state->root, 0, sizeof(state->root));
	state->row_top = 0;
	state->free_row = 0;
}

uint32_t
limiter_limit(const struct limiter *limiter,
    const struct limiter_config *config)
{
	return config->limit < limiter->permit_capacity ? config->limit :
	    limiter->permit_capacity;
}

uint32_t
limiter_reserve(const struct limiter *limiter,
    const struct limiter_config *config)
{
	uint32_t limit = limiter_limit(limiter, config);
	uint64_t reserve = (uint64_t)limit * config->reserve_pct / 100;

	if (config->reserve_pct != 0 && reserve == 0) {
		reserve = 1;
	}
	return reserve < limit ? (uint32_t)reserve : limit;
}

bool
limiter_has_headroom(const struct limiter *limiter,
    const struct limiter_config *config)
{
	uint64_t kept = (uint64_t)limiter_reserve(limiter, config) +
	    (config->headroom != 0 ? config->headroom :
	    config->partition_cap);

	return limiter->state->in_flight + kept <
	    limiter_limit(limiter, config);
}

bool
limiter_partition_is_full(const struct limiter *limiter,
    const struct limiter_config *config, uint32_t number)
{
	const struct limiter_row *row = limiter_row_at(limiter, number);
	uint32_t cap = row->cap != 0 ? row->cap : config->partition_cap;

	return row->key != 0 && cap != 0 && row->in_flight >= cap;
}

bool
limiter_host_is_full(const struct limiter *limiter,
    const struct limiter_config *config, uint32_t host_row)
{
	const struct limiter_row *row = limiter_row_at(limiter, host_row);

	return row->key != 0 && config->host_cap != 0 &&
	    row->in_flight >= config->host_cap;
}
