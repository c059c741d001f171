/* SPDX-License-Identifier: ISC */

/*
 * What the two sides of a ring agree on: where a record lies and what counts
 * make sense.  For ring.c and ring_consumer.c alone.
 */
#ifndef RING_RECORD_H
#define RING_RECORD_H

#include "ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RING_UNIT_BYTES	8u	/* a header, and the alignment of a record */

/* A record, filler not counted, is at most this part of the capacity, so that
 * a ring that is half empty takes any record. */
#define RING_RECORD_PART 4u

static inline bool
ring_capacity_is_valid(uint32_t capacity)
{
	return capacity >= RING_CAPACITY_MIN &&
	    capacity <= RING_CAPACITY_MAX && (capacity & (capacity - 1)) == 0;
}

/* Header, body and padding; any length fits the 64 bits. */
static inline uint64_t
ring_record_bytes(uint32_t length)
{
	return RING_UNIT_BYTES + ((uint64_t)length + RING_UNIT_BYTES - 1) /
	    RING_UNIT_BYTES * RING_UNIT_BYTES;
}

/* May these two counts be those of a ring? */
static inline bool
ring_counts_are_sane(uint64_t head, uint64_t tail, uint32_t capacity)
{
	return tail - head <= capacity && head % RING_UNIT_BYTES == 0 &&
	    tail % RING_UNIT_BYTES == 0;
}

static inline uint32_t
ring_position_of(uint64_t count, uint32_t capacity)
{
	return (uint32_t)(count & (capacity - 1));
}

/* The position is a multiple of RING_UNIT_BYTES below the capacity. */
static inline _Atomic uint64_t *
ring_header_at(struct ring_shared *shared, uint32_t position)
{
	return (_Atomic uint64_t *)(void *)(shared->data + position);
}

#endif
