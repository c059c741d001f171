/* SPDX-License-Identifier: ISC */

/*
 * A bounded ring of records from one producer to one consumer, in a mapping
 * that the producer can scribble on: client to worker, worker to keeper.
 * ring.c has the protocol and its proof.
 *
 * One process and thread at a time produces, one consumes.  The consumer
 * believes nothing that the mapping says: what makes no sense is CORRUPT, and
 * the caller drops the channel.  The producer may be a client and the
 * consumer a worker, so neither waits for the other: a full ring is FULL.
 *
 * Sleep and doorbell.  The consumer sleeps only after ring_arm() said true,
 * with nothing popped in between, and after each wake-up drains and arms
 * again.  The producer rings (a frame on the socket, an eventfd) when
 * ring_push() says so, and may not forget it.
 */
#ifndef RING_H
#define RING_H

#include "result.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Powers of two only, so that a position is a mask of a counter. */
#define RING_CAPACITY_MIN	256u
#define RING_CAPACITY_MAX	(16u << 20)

/* Type of the filler before the end of the data; no record may have it. */
#define RING_TYPE_WRAP		UINT32_MAX

#define RING_LINE_BYTES		64

/*
 *   0        64       128       192             256
 *   +--------+---------+---------+---------------+------------------+
 *   | tail   | head    | armed   | magic capacity| data [capacity]  |
 *   +--------+---------+---------+---------------+------------------+
 *    producer consumer  both      set at init
 *
 * tail and head count bytes and never turn round; a record lies at its count
 * modulo the capacity, whole, at a multiple of 8:
 *
 *   +----------+----------+----------------------+---------+
 *   | len u32  | type u32 | body, len bytes      | 0 to 7  |
 *   +----------+----------+----------------------+---------+
 *    one 8-byte word, the length in its low half
 */
struct ring_shared {
	/* producer, atomic; the consumer reads it */
	_Alignas(RING_LINE_BYTES) _Atomic uint64_t tail;
	/* consumer, atomic; the producer reads it when it seems full */
	_Alignas(RING_LINE_BYTES) _Atomic uint64_t head;
	/* consumer sets and clears, producer clears; consumer never reads it */
	_Alignas(RING_LINE_BYTES) _Atomic uint32_t armed;
	/* set at init; the producer checks it at attach, the consumer never */
	_Alignas(RING_LINE_BYTES) uint64_t magic;
	uint32_t	capacity;
	_Alignas(RING_LINE_BYTES) uint8_t data[];
};
_Static_assert(offsetof(struct ring_shared, head) == 64, "ring is shared");
_Static_assert(offsetof(struct ring_shared, armed) == 128, "ring is shared");
_Static_assert(offsetof(struct ring_shared, magic) == 192, "ring is shared");
_Static_assert(offsetof(struct ring_shared, data) == 256, "ring is shared");

/* In the producer's own memory. */
struct ring_producer {
	struct ring_shared *shared;
	uint64_t	tail;		/* the truth; shared->tail is a copy */
	uint64_t	head_seen;	/* the consumer is at least here */
	uint32_t	capacity;
};

/* In the consumer's own memory. */
struct ring_consumer {
	struct ring_shared *shared;
	uint64_t	head;		/* the truth; shared->head is a copy */
	uint64_t	tail_seen;	/* checked: head .. head + capacity */
	uint32_t	capacity;
	bool		armed;		/* shared->armed may still be set */
	bool		broken;		/* it was CORRUPT once */
};

/* Gets each record of ring_drain_to(); anything but OK ends the drain. */
typedef enum result (ring_record_fn)(void *context, uint32_t type,
    const void *body, uint32_t length);

/* Size of the mapping for a ring; 0 if the capacity is not allowed. */
size_t	ring_bytes(uint32_t capacity);

/* The longest body: header and body are at most a quarter of the capacity. */
uint32_t ring_body_max(uint32_t capacity);

/*
 * Make an empty ring in ring_bytes(capacity) bytes at a multiple of 64,
 * before anyone else can see them.  OK, or INVALID.
 */
enum result ring_init(void *mem, uint32_t capacity);

/*
 * Produce into a ring that another process has made, in a mapping of
 * mem_bytes.  Goes on after the last record that was published, so that the
 * successor of a dead producer may attach.  OK, LAYOUT_MISMATCH if it is no
 * ring or does not fit, CORRUPT if head and tail make no sense.
 */
enum result ring_producer_attach(struct ring_producer *producer, void *mem,
    size_t mem_bytes);

/*
 * Consume.  The capacity is what the caller made the ring with: it is not
 * read from the mapping.  Goes on at the published head, so that the
 * successor of a dead consumer may attach.  OK, INVALID for a capacity,
 * CORRUPT if head and tail make no sense.
 */
enum result ring_consumer_attach(struct ring_consumer *consumer, void *mem,
    uint32_t capacity);

/*
 * Append one record, its body gathered from count parts.  With OK,
 * *ring_doorbell says whether the caller must ring; otherwise it is false and
 * nothing has changed.  OK, FULL (retry when the consumer has moved),
 * TOO_LARGE (never fits), INVALID (the type is reserved, or count is
 * negative), CORRUPT (the consumer's head makes no sense: drop the channel).
 */
enum result ring_push(struct ring_producer *producer, uint32_t type,
    const struct iovec *parts, int count, bool *ring_doorbell);

/* The count after the last record pushed: what a frame on the socket names. */
uint64_t ring_tail(const struct ring_producer *producer);

/*
 * Take one record into a buffer of buffer_bytes.  OK; MISS when empty;
 * TOO_LARGE when the buffer is too small (*type and *length are set, the
 * record is gone: give ring_body_max() bytes and it cannot happen); CORRUPT,
 * now and at every later call.  A producer can keep a loop over this going
 * for ever: bound it, or use a drain.
 */
enum result ring_pop(struct ring_consumer *consumer, void *buffer,
    size_t buffer_bytes, uint32_t *type, uint32_t *length);

/*
 * Take all records before claimed_tail, a count that the producer named in a
 * frame (ring_tail()), each handed to fn from the buffer.  Ends after at most
 * one capacity of bytes, whatever the producer does meanwhile.  OK, also when
 * claimed_tail was passed already; CORRUPT when it is beyond the producer's
 * tail or within a record; TOO_LARGE; what fn answered.
 */
enum result ring_drain_to(struct ring_consumer *consumer,
    uint64_t claimed_tail, void *buffer, size_t buffer_bytes,
    ring_record_fn *fn, void *context);

/* The same up to the tail that is seen at the start: what is complete now. */
enum result ring_drain(struct ring_consumer *consumer, void *buffer,
    size_t buffer_bytes, ring_record_fn *fn, void *context);

/*
 * Ask for a doorbell.  True: the ring is empty and the next push rings, so
 * the consumer may sleep.  False: pop first, there is a record or a CORRUPT.
 */
bool	ring_arm(struct ring_consumer *consumer);

#endif
