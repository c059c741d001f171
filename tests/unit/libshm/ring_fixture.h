/* SPDX-License-Identifier: ISC */

/*
 * Rings for tests: a pair of honest sides with numbered records, and a
 * consumer whose mapping the test may scribble on.
 */
#ifndef RING_FIXTURE_H
#define RING_FIXTURE_H

#include "ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_TEST_CAPACITY	1024u
#define RING_TEST_BODY_MAX	(RING_TEST_CAPACITY / 4 - 8)

struct ring_pair {
	void		*mem;
	struct ring_producer producer;
	struct ring_consumer consumer;
};

/* An empty ring in shared memory, with both sides attached. */
struct ring_pair ring_pair_make(void);

/*
 * The record of a number: its type is the number, its length and body follow
 * from it, and over the numbers all lengths from 0 to the largest occur.
 */
enum result ring_push_number(struct ring_producer *producer, uint32_t number,
    bool *doorbell);
bool	ring_is_number(uint32_t number, uint32_t type, const uint8_t *body,
    uint32_t length);

/* True if the next record is there and is that of the number. */
bool	ring_pop_number(struct ring_consumer *consumer, uint32_t number);

/*
 * Ring, buffer and head each end at a page that cannot be touched, so that a
 * step outside is a crash.
 */
struct ring_hostile {
	struct ring_shared *shared;
	struct ring_consumer consumer;
	uint8_t		*buffer;	/* RING_TEST_BODY_MAX bytes */
	_Atomic uint64_t *head;		/* shared: for the test's own use */
};

/* Empty; the second begins after `head` bytes that were read already. */
struct ring_hostile ring_hostile_make(void);
struct ring_hostile ring_hostile_make_at(uint64_t head);

void	ring_put_header(struct ring_shared *shared, uint32_t position,
    uint32_t length, uint32_t type);

#endif
