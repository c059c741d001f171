/* SPDX-License-Identifier: ISC */

/*
 * Rings for tests.
 */
#include "ring_fixture.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES	4096

struct ring_pair
ring_pair_make(void)
{
	struct ring_pair pair;

	pair.mem = mmap(NULL, ring_bytes(RING_TEST_CAPACITY),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(pair.mem, MAP_FAILED);
	cr_assert_eq(ring_init(pair.mem, RING_TEST_CAPACITY), OK);
	cr_assert_eq(ring_producer_attach(&pair.producer, pair.mem,
	    ring_bytes(RING_TEST_CAPACITY)), OK);
	cr_assert_eq(ring_consumer_attach(&pair.consumer, pair.mem,
	    RING_TEST_CAPACITY), OK);
	return pair;
}

/* A body that says which record it is the body of. */
static void
fill_body(uint8_t *body, uint32_t length, uint32_t number)
{
	for (uint32_t i = 0; i < length; i++) {
		body[i] = (uint8_t)(number * 31 + i);
	}
}

/* 37 has no divisor in common with RING_TEST_BODY_MAX + 1 = 249, so all of the
 * lengths from 0 to RING_TEST_BODY_MAX occur. */
static uint32_t
length_of(uint32_t number)
{
	return number * 37 % (RING_TEST_BODY_MAX + 1);
}

enum result
ring_push_number(struct ring_producer *producer, uint32_t number,
    bool *doorbell)
{
	uint8_t body[RING_TEST_BODY_MAX];
	uint32_t length = length_of(number);
	struct iovec part = { .iov_base = body, .iov_len = length };

	fill_body(body, length, number);
	return ring_push(producer, number, &part, 1, doorbell);
}

bool
ring_is_number(uint32_t number, uint32_t type, const uint8_t *body,
    uint32_t length)
{
	uint8_t want[RING_TEST_BODY_MAX];

	fill_body(want, length_of(number), number);
	return type == number && length == length_of(number) &&
	    memcmp(body, want, length) == 0;
}

bool
ring_pop_number(struct ring_consumer *consumer, uint32_t number)
{
	uint8_t body[RING_TEST_BODY_MAX];
	uint32_t type, length;

	return ring_pop(consumer, body, sizeof(body), &type, &length) == OK &&
	    ring_is_number(number, type, body, length);
}

/* Shared memory that ends at a closed page. */
static void *
map_before_closed_page(size_t bytes)
{
	uint8_t *pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
	return pages + PAGE_BYTES - bytes;
}

struct ring_hostile
ring_hostile_make(void)
{
	struct ring_hostile hostile;

	hostile.shared = map_before_closed_page(ring_bytes(RING_TEST_CAPACITY));
	hostile.buffer = map_before_closed_page(RING_TEST_BODY_MAX);
	hostile.head = map_before_closed_page(sizeof(*hostile.head));
	cr_assert_eq(ring_init(hostile.shared, RING_TEST_CAPACITY), OK);
	cr_assert_eq(ring_consumer_attach(&hostile.consumer, hostile.shared,
	    RING_TEST_CAPACITY), OK);
	return hostile;
}

void
ring_put_header(struct ring_shared *shared, uint32_t position, uint32_t length,
    uint32_t type)
{
	atomic_store((_Atomic uint64_t *)(void *)(shared->data + position),
	    (uint64_t)type << 32 | length);
}

struct ring_hostile
ring_hostile_make_at(uint64_t head)
{
	struct ring_hostile hostile = ring_hostile_make();

	atomic_store(&hostile.shared->head, head);
	atomic_store(&hostile.shared->tail, head);
	cr_assert_eq(ring_consumer_attach(&hostile.consumer, hostile.shared,
	    RING_TEST_CAPACITY), OK);
	return hostile;
}
