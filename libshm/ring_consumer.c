/* SPDX-License-Identifier: ISC */

/*
 * The consumer of a ring: workers for clients, the keeper for workers.  It
 * reads what a hostile producer can change at any moment; ring.c has the
 * protocol, and the steps C1 to C9 and the conclusions are those of its head.
 */
#include "ring.h"

#include "fault.h"
#include "point.h"
#include "racy_copy.h"
#include "ring_record.h"
#include "shm_fence.h"

struct header {
	uint32_t	length;
	uint32_t	type;
};

enum result
ring_consumer_attach(struct ring_consumer *consumer, void *mem,
    uint32_t capacity)
{
	struct ring_shared *shared = mem;
	uint64_t head, tail;

	if (!ring_capacity_is_valid(capacity) ||
	    (uintptr_t)mem % RING_LINE_BYTES != 0) {
		return INVALID;
	}
	/* Relaxed: only consumers store it, and the last one is dead or was
	 * never there.  Acquire: as in load_tail(). */
	head = atomic_load_explicit(&shared->head, memory_order_relaxed);
	tail = atomic_load_explicit(&shared->tail, memory_order_acquire);
	if (!ring_counts_are_sane(head, tail, capacity)) {
		return CORRUPT;
	}
	*consumer = (struct ring_consumer){
		.shared = shared,
		.head = head,
		.tail_seen = tail,
		.capacity = capacity,
	};
	return OK;
}

static enum result
give_up(struct ring_consumer *consumer)
{
	consumer->broken = true;
	return CORRUPT;
}

/* C1.  OK: tail_seen is at most a capacity past the head. */
static enum result
load_tail(struct ring_consumer *consumer)
{
	/* Acquire: pairs with the release in ring_push(). */
	uint64_t tail = atomic_load_explicit(&consumer->shared->tail,
	    memory_order_acquire);

	if (!ring_counts_are_sane(consumer->head, tail, consumer->capacity)) {
		return give_up(consumer);
	}
	consumer->tail_seen = tail;
	return OK;
}

/* C2: one load, so that what is checked is what is used. */
static struct header
load_header(struct ring_consumer *consumer, uint32_t position)
{
	/* Relaxed: the acquire of the tail came before. */
	uint64_t word = atomic_load_explicit(
	    ring_header_at(consumer->shared, position), memory_order_relaxed);

	return (struct header){
		.length = (uint32_t)word,
		.type = (uint32_t)(word >> 32),
	};
}

/*
 * Would an honest producer have put this filler here?  Only to the very end,
 * only for a record that did not fit there, and never without that record.
 */
static bool
filler_is_sane(const struct ring_consumer *consumer, struct header header,
    uint32_t left, uint64_t avail)
{
	return left < consumer->capacity / RING_RECORD_PART &&
	    header.length == left - RING_UNIT_BYTES && left < avail;
}

static bool
record_is_sane(const struct ring_consumer *consumer, struct header header,
    uint32_t left, uint64_t avail)
{
	uint64_t need = ring_record_bytes(header.length);

	return header.type != RING_TYPE_WRAP && need <= avail &&
	    need <= left && need <= consumer->capacity / RING_RECORD_PART;
}

/*
 * C2 to C4: take the record at the head, which must end at or before limit.
 * The caller has checked that head < limit <= tail_seen.
 */
static enum result
take_record(struct ring_consumer *consumer, uint64_t limit, void *buffer,
    size_t buffer_bytes, struct header *record)
{
	uint32_t capacity = consumer->capacity;
	uint64_t head = consumer->head;
	uint32_t position = ring_position_of(head, capacity);
	struct header header = load_header(consumer, position);

	if (header.type == RING_TYPE_WRAP) {
		uint32_t left = capacity - position;

		if (!filler_is_sane(consumer, header, left, limit - head)) {
			return give_up(consumer);
		}
		head += left;
		position = 0;
		header = load_header(consumer, position);
	}
	if (!FAULT(ring_header_trusted) && !record_is_sane(consumer, header,
	    capacity - position, limit - head)) {
		return give_up(consumer);
	}
	SHM_POINT(ring_head_copied);

	if (header.length > 0 && header.length <= buffer_bytes) {
		racy_copy(buffer, consumer->shared->data + position +
		    RING_UNIT_BYTES, header.length);
	}
	consumer->head = head + ring_record_bytes(header.length);
	/* Release: the reads before the room is given back.  Pairs with the
	 * acquire in the producer's reserve(). */
	atomic_store_explicit(&consumer->shared->head, consumer->head,
	    memory_order_release);
	*record = header;
	return header.length <= buffer_bytes ? OK : TOO_LARGE;
}

/* C9: awake, so no push needs to ring. */
static void
disarm(struct ring_consumer *consumer)
{
	if (consumer->armed) {
		consumer->armed = false;
		/* Relaxed: a push that still reads 1 rings without need. */
		atomic_store_explicit(&consumer->shared->armed, 0,
		    memory_order_relaxed);
	}
}

enum result
ring_pop(struct ring_consumer *consumer, void *buffer, size_t buffer_bytes,
    uint32_t *type, uint32_t *length)
{
	struct header record = { 0 };
	enum result res;

	if (consumer->broken) {
		return CORRUPT;
	}
	disarm(consumer);
	if (consumer->head == consumer->tail_seen) {
		res = load_tail(consumer);
		if (res != OK) {
			return res;
		}
		if (consumer->head == consumer->tail_seen) {
			return MISS;
		}
	}
	res = take_record(consumer, consumer->tail_seen, buffer, buffer_bytes,
	    &record);
	if (res != CORRUPT) {
		*type = record.type;
		*length = record.length;
	}
	return res;
}

/* The caller has checked that end is at most tail_seen. */
static enum result
drain_until(struct ring_consumer *consumer, uint64_t end, void *buffer,
    size_t buffer_bytes, ring_record_fn *fn, void *context)
{
	while (consumer->head < end) {
		struct header record = { 0 };
		enum result res = take_record(consumer, end, buffer,
		    buffer_bytes, &record);

		if (res == OK) {
			res = fn(context, record.type, buffer, record.length);
		}
		if (res != OK) {
			return res;
		}
	}
	return OK;
}

enum result
ring_drain_to(struct ring_consumer *consumer, uint64_t claimed_tail,
    void *buffer, size_t buffer_bytes, ring_record_fn *fn, void *context)
{
	if (consumer->broken) {
		return CORRUPT;
	}
	if (claimed_tail <= consumer->head) {
		return OK;
	}
	disarm(consumer);
	/* The frame was sent after the tail was stored, and the socket keeps
	 * that order: an honest claim is at or before the tail read here. */
	if (load_tail(consumer) != OK || claimed_tail > consumer->tail_seen) {
		return give_up(consumer);
	}
	return drain_until(consumer, claimed_tail, buffer, buffer_bytes, fn,
	    context);
}

enum result
ring_drain(struct ring_consumer *consumer, void *buffer, size_t buffer_bytes,
    ring_record_fn *fn, void *context)
{
	if (consumer->broken) {
		return CORRUPT;
	}
	disarm(consumer);
	if (load_tail(consumer) != OK) {
		return CORRUPT;
	}
	return drain_until(consumer, consumer->tail_seen, buffer,
	    buffer_bytes, fn, context);
}

bool
ring_arm(struct ring_consumer *consumer)
{
	uint64_t tail;

	if (consumer->broken) {
		return false;
	}
	/* Relaxed: the fence orders it before the load, and it publishes
	 * nothing but itself. */
	atomic_store_explicit(&consumer->shared->armed, 1,
	    memory_order_relaxed);
	consumer->armed = true;
	SHM_POINT(ring_armed);
	/* Partner: the fence in the producer's take_armed(). */
	if (!FAULT(ring_no_fence_consumer)) {
		shm_fence_seq_cst();
	}
	/* Acquire: as in load_tail(), which judges the value later. */
	tail = atomic_load_explicit(&consumer->shared->tail,
	    memory_order_acquire);
	if (tail == consumer->head) {
		return true;
	}
	disarm(consumer);
	return false;
}
