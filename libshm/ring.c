/* SPDX-License-Identifier: ISC */

/*
 * One producer, one consumer, a mapping between them: the protocol of both
 * sides, the set-up, and the producer; ring_consumer.c has the consumer.
 * Clients and workers call.
 *
 * States.  head <= tail <= head + capacity.  The bytes from head to tail
 * belong to the consumer, the others to the producer.  Each side keeps its
 * own count in its own memory and publishes a copy.  armed = 1 means that the
 * consumer sleeps or is about to.
 *
 *   producer                            consumer
 *   P1  head (acquire): room?           C1  tail (acquire), checked
 *   P2  filler, body, header word       C2  header word, loaded once, checked
 *   P3  tail = new (release)            C3  body copied out
 *   P4  fence (seq_cst)                 C4  head = next (release)
 *   P5  armed (relaxed): 0: done            ... empty:
 *   P6  armed = 0 (relaxed)             C5  armed = 1 (relaxed)
 *   P7  ring: a system call             C6  fence (seq_cst)
 *                                       C7  tail (acquire) != head:
 *                                           armed = 0, back to C1
 *                                       C8  sleep until rung
 *                                       C9  armed = 0, back to C1
 *
 * Conclusions, with an honest producer:
 *  1. The consumer reads whole records only.  P3 releases what P2 wrote, C1
 *     or C7 acquires it, and nothing at or past that tail is read.
 *  2. The producer never writes over what is being read.  C4 releases the
 *     reads of C3, P1 acquires them, and P2 stays within the room of P1.
 *  3. No wake-up is lost.  The fences P4 and C6 are partners, and one comes
 *     first.  If P4: C7 reads the tail of P3 and the consumer does not sleep.
 *     If C6: P5 reads the 1 of C5 or a later value, and a later one is
 *     (a) the 0 of C7 or C9: the consumer is awake and comes to a C5 again
 *     before it sleeps, for which this argument holds anew; or (b) the 0 of
 *     P6 of an earlier push: its P7 follows it, so the consumer is rung after
 *     C5 and wakes.  Without the fences both loads may pass both stores, on
 *     x86 too (370 of 3 M wake-ups were lost).
 *  4. A 0 of P6 never hides a C5 that follows its own P7: whoever was rung
 *     has the 0 before it, as the kernel's lock on the socket or eventfd
 *     orders P6 before the wake-up and the wake-up before the next C5.
 *  5. One P7 for each sleep: P6 keeps the pushes until the consumer wakes
 *     from ringing as well.
 *
 * Conclusions, whatever the producer does to the mapping:
 *  6. No read or write outside the data and the caller's buffer.  Every
 *     position is the consumer's own head; the header is one atomic load, and
 *     the checked copy of it is what is used; the body's length is within
 *     what lies before tail, before the end of the data, a quarter of the
 *     capacity and the buffer.
 *  7. No call loops.  A filler is followed by a record at position 0, where
 *     no filler is allowed, so one call of ring_pop() reads two headers at
 *     most; a drain moves by 8 bytes at least towards an end that it checked
 *     once to be within one capacity.
 *  8. A body that the producer changes during C3 is a mixture, like a body
 *     that it filled with garbage: who parses it checks it, in the copy.
 *  9. It can ring without need, or not at all and hurt itself.
 *
 * If a side dies:
 *  - producer before P3: nothing was published, and a successor writes over
 *    it.  Between P3 and P7: the record is whole, nobody rings, and who
 *    learns of the death (hang-up, the supervisor) drains once more.
 *  - consumer before C4: the head stands, a successor gets the record; it was
 *    not given to anyone.  After C4: a record that was popped and not yet
 *    acted on is lost with the process.  Between C5 and C9: armed stays 1 and
 *    costs one ring too many, or P6 has made it 0; a successor drains and
 *    arms for itself before it sleeps.
 */
#include "ring.h"

#include "fault.h"
#include "point.h"
#include "racy_copy.h"
#include "ring_record.h"
#include "shm_fence.h"

#include <string.h>

#define RING_MAGIC	UINT64_C(0x31676e6972726577)	/* "werring1" */

size_t
ring_bytes(uint32_t capacity)
{
	return ring_capacity_is_valid(capacity) ?
	    sizeof(struct ring_shared) + capacity : 0;
}

uint32_t
ring_body_max(uint32_t capacity)
{
	return ring_capacity_is_valid(capacity) ?
	    capacity / RING_RECORD_PART - RING_UNIT_BYTES : 0;
}

enum result
ring_init(void *mem, uint32_t capacity)
{
	struct ring_shared *shared = mem;

	if (!ring_capacity_is_valid(capacity) ||
	    (uintptr_t)mem % RING_LINE_BYTES != 0) {
		return INVALID;
	}
	memset(shared, 0, sizeof(*shared));
	shared->magic = RING_MAGIC;
	shared->capacity = capacity;
	return OK;
}

enum result
ring_producer_attach(struct ring_producer *producer, void *mem,
    size_t mem_bytes)
{
	struct ring_shared *shared = mem;
	uint32_t capacity;
	uint64_t head, tail;

	if (mem_bytes < sizeof(*shared) ||
	    (uintptr_t)mem % RING_LINE_BYTES != 0 ||
	    shared->magic != RING_MAGIC) {
		return LAYOUT_MISMATCH;
	}
	capacity = shared->capacity;
	if (!ring_capacity_is_valid(capacity) ||
	    ring_bytes(capacity) > mem_bytes) {
		return LAYOUT_MISMATCH;
	}

	/* Acquire: as in reserve().  Relaxed: only producers store it, and
	 * the last one is dead or was never there. */
	head = atomic_load_explicit(&shared->head, memory_order_acquire);
	tail = atomic_load_explicit(&shared->tail, memory_order_relaxed);
	if (!ring_counts_are_sane(head, tail, capacity)) {
		return CORRUPT;
	}
	*producer = (struct ring_producer){
		.shared = shared,
		.tail = tail,
		.head_seen = head,
		.capacity = capacity,
	};
	return OK;
}

/* P1: is there room for need bytes? */
static enum result
reserve(struct ring_producer *producer, uint64_t need)
{
	uint64_t head;

	if (producer->tail - producer->head_seen + need <=
	    producer->capacity) {
		return OK;
	}
	/* Acquire: pairs with the release in take_record(), so that what
	 * is written next comes after the consumer's last read there. */
	head = atomic_load_explicit(&producer->shared->head,
	    memory_order_acquire);
	if (!ring_counts_are_sane(head, producer->tail, producer->capacity)) {
		return CORRUPT;
	}
	producer->head_seen = head;
	return producer->tail - head + need <= producer->capacity ? OK : FULL;
}

static void
write_header(struct ring_producer *producer, uint32_t position,
    uint32_t length, uint32_t type)
{
	/* Relaxed: the release of the tail publishes it. */
	atomic_store_explicit(ring_header_at(producer->shared, position),
	    (uint64_t)type << 32 | length, memory_order_relaxed);
}

/* The sum of the parts, or -1 when it is above the limit. */
static int64_t
sum_parts(const struct iovec *parts, int count, uint32_t limit)
{
	uint32_t sum = 0;

	for (int i = 0; i < count; i++) {
		if (parts[i].iov_len > limit - sum) {
			return -1;
		}
		sum += (uint32_t)parts[i].iov_len;
	}
	return sum;
}

static void
write_body(struct ring_producer *producer, uint32_t position,
    const struct iovec *parts, int count)
{
	uint8_t *to = producer->shared->data + position;

	for (int i = 0; i < count; i++) {
		if (parts[i].iov_len > 0) {
			racy_fill(to, parts[i].iov_base, parts[i].iov_len);
			to += parts[i].iov_len;
		}
	}
}

/* P4 to P6: does the consumer sleep? */
static bool
take_armed(struct ring_producer *producer)
{
	_Atomic uint32_t *armed = &producer->shared->armed;

	/* Partner: the fence in ring_arm(). */
	if (!FAULT(ring_no_fence_producer)) {
		shm_fence_seq_cst();
	}
	/* Relaxed: the fence orders the load, and the word publishes nothing
	 * but itself; conclusion 4 covers the store. */
	if (atomic_load_explicit(armed, memory_order_relaxed) == 0) {
		return false;
	}
	atomic_store_explicit(armed, 0, memory_order_relaxed);
	return true;
}

enum result
ring_push(struct ring_producer *producer, uint32_t type,
    const struct iovec *parts, int count, bool *ring_doorbell)
{
	uint32_t capacity = producer->capacity;
	uint32_t position = ring_position_of(producer->tail, capacity);
	uint32_t left = capacity - position;
	uint64_t need, filler;
	int64_t length;
	enum result res;

	*ring_doorbell = false;
	if (type == RING_TYPE_WRAP || count < 0) {
		return INVALID;
	}
	length = sum_parts(parts, count, ring_body_max(capacity));
	if (length < 0) {
		return TOO_LARGE;
	}
	need = ring_record_bytes((uint32_t)length);
	filler = need > left ? left : 0;
	res = reserve(producer, filler + need);
	if (res != OK) {
		return res;
	}

	if (filler > 0) {
		write_header(producer, position, left - RING_UNIT_BYTES,
		    RING_TYPE_WRAP);
		position = 0;
	}
	write_body(producer, position + RING_UNIT_BYTES, parts, count);
	write_header(producer, position, (uint32_t)length, type);
	SHM_POINT(ring_body_written);

	producer->tail += filler + need;
	/* Release: filler, body and header before the tail that covers them.
	 * Pairs with the acquire in load_tail() and ring_arm(). */
	atomic_store_explicit(&producer->shared->tail, producer->tail,
	    memory_order_release);
	SHM_POINT(ring_tail_stored);
	*ring_doorbell = take_armed(producer);
	return OK;
}

uint64_t
ring_tail(const struct ring_producer *producer)
{
	return producer->tail;
}
