/* SPDX-License-Identifier: ISC */

/*
 * The ring with an honest producer: order, wrapping, fullness, drains,
 * successors.
 */
#include "ring.h"

#include "ring_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#define CAPACITY	RING_TEST_CAPACITY
#define BODY_MAX	RING_TEST_BODY_MAX

static enum result
push_bytes(struct ring_producer *producer, size_t length)
{
	static uint8_t body[2 * CAPACITY];
	struct iovec part = { .iov_base = body, .iov_len = length };
	bool doorbell;

	return ring_push(producer, 1, &part, 1, &doorbell);
}

static enum result
pop_any(struct ring_consumer *consumer)
{
	uint8_t body[BODY_MAX];
	uint32_t type, length;

	return ring_pop(consumer, body, sizeof(body), &type, &length);
}

Test(ring, capacity_is_a_power_of_two_within_its_bounds)
{
	static _Alignas(64) uint8_t mem[8192];

	cr_assert_eq(ring_bytes(RING_CAPACITY_MIN), 256 + 256);
	cr_assert_gt(ring_bytes(RING_CAPACITY_MAX), RING_CAPACITY_MAX);
	cr_assert_eq(ring_bytes(RING_CAPACITY_MIN / 2), 0);
	cr_assert_eq(ring_bytes(RING_CAPACITY_MAX * 2), 0);
	cr_assert_eq(ring_bytes(1000), 0);
	cr_assert_eq(ring_bytes(0), 0);
	cr_assert_eq(ring_body_max(1024), 248);
	cr_assert_eq(ring_body_max(1000), 0);
	cr_assert_eq(ring_init(mem, 1000), INVALID);
	cr_assert_eq(ring_init(mem + 8, 1024), INVALID);
}

Test(ring, an_empty_ring_is_a_miss)
{
	struct ring_pair pair = ring_pair_make();

	cr_assert_eq(pop_any(&pair.consumer), MISS);
}

Test(ring, records_come_in_order_and_whole_over_many_laps)
{
	struct ring_pair pair = ring_pair_make();
	uint32_t pushed = 0, popped = 0;
	bool doorbell;

	while (popped < 20000) {
		/* Fill up, then take some: every position meets every
		 * length. */
		while (ring_push_number(&pair.producer, pushed,
		    &doorbell) == OK) {
			pushed++;
		}
		cr_assert_gt(pushed, popped);
		for (uint32_t i = pushed % 3; i < 3 && popped < pushed; i++) {
			cr_assert(ring_pop_number(&pair.consumer, popped),
			    "record %u", popped);
			popped++;
		}
	}
	while (popped < pushed) {
		cr_assert(ring_pop_number(&pair.consumer, popped++));
	}
	cr_assert_eq(pop_any(&pair.consumer), MISS);
}

Test(ring, a_body_is_gathered_from_its_parts)
{
	struct ring_pair pair = ring_pair_make();
	struct iovec parts[] = {
		{ .iov_base = (char[]){ "ab" }, .iov_len = 2 },
		{ .iov_base = NULL, .iov_len = 0 },
		{ .iov_base = (char[]){ "cdefghijk" }, .iov_len = 9 },
	};
	uint32_t type, length;
	char body[BODY_MAX];
	bool doorbell;

	cr_assert_eq(ring_push(&pair.producer, 7, parts, 3, &doorbell), OK);
	cr_assert_eq(ring_push(&pair.producer, 8, NULL, 0, &doorbell), OK);
	cr_assert_eq(ring_pop(&pair.consumer, body, sizeof(body), &type,
	    &length), OK);
	cr_assert_eq(type, 7);
	cr_assert_eq(length, 11);
	cr_assert_arr_eq(body, "abcdefghijk", 11);
	cr_assert_eq(ring_pop(&pair.consumer, NULL, 0, &type, &length), OK);
	cr_assert_eq(type, 8);
	cr_assert_eq(length, 0);
}

Test(ring, a_full_ring_refuses_and_takes_again_when_there_is_room)
{
	struct ring_pair pair = ring_pair_make();
	uint64_t tail;
	int count = 0;

	while (push_bytes(&pair.producer, 56) == OK) {
		count++;
	}
	cr_assert_eq(count, CAPACITY / 64);
	tail = ring_tail(&pair.producer);
	cr_assert_eq(push_bytes(&pair.producer, 0), FULL);
	cr_assert_eq(ring_tail(&pair.producer), tail);
	cr_assert_eq(pop_any(&pair.consumer), OK);
	cr_assert_eq(push_bytes(&pair.producer, 64), FULL);
	cr_assert_eq(push_bytes(&pair.producer, 56), OK);
	cr_assert_eq(ring_tail(&pair.producer), tail + 64);
}

Test(ring, a_record_is_at_most_a_quarter_of_the_ring)
{
	struct ring_pair pair = ring_pair_make();
	struct iovec huge[] = {
		{ .iov_base = NULL, .iov_len = SIZE_MAX },
		{ .iov_base = NULL, .iov_len = SIZE_MAX },
	};
	bool doorbell = true;

	cr_assert_eq(ring_body_max(CAPACITY), BODY_MAX);
	cr_assert_eq(push_bytes(&pair.producer, BODY_MAX + 1), TOO_LARGE);
	cr_assert_eq(ring_push(&pair.producer, 1, huge, 2, &doorbell),
	    TOO_LARGE);
	cr_assert_not(doorbell);
	cr_assert_eq(push_bytes(&pair.producer, BODY_MAX), OK);
	cr_assert_eq(pop_any(&pair.consumer), OK);
	cr_assert_eq(pop_any(&pair.consumer), MISS);
}

Test(ring, the_reserved_type_and_a_negative_count_are_refused)
{
	struct ring_pair pair = ring_pair_make();
	bool doorbell;

	cr_assert_eq(ring_push(&pair.producer, RING_TYPE_WRAP, NULL, 0,
	    &doorbell), INVALID);
	cr_assert_eq(ring_push(&pair.producer, 1, NULL, -1, &doorbell),
	    INVALID);
	cr_assert_eq(pop_any(&pair.consumer), MISS);
}

Test(ring, a_record_too_large_for_the_buffer_is_gone_and_the_next_comes)
{
	struct ring_pair pair = ring_pair_make();
	uint8_t buffer[17];
	uint32_t type, length;
	bool doorbell;

	memset(buffer, 0xee, sizeof(buffer));
	cr_assert_eq(push_bytes(&pair.producer, 17), OK);
	cr_assert_eq(ring_push_number(&pair.producer, 2, &doorbell), OK);
	cr_assert_eq(ring_pop(&pair.consumer, buffer, 16, &type, &length),
	    TOO_LARGE);
	cr_assert_eq(type, 1);
	cr_assert_eq(length, 17);
	cr_assert_eq(buffer[0], 0xee);
	cr_assert(ring_pop_number(&pair.consumer, 2));
}

Test(ring, a_push_rings_once_for_a_consumer_that_armed)
{
	struct ring_pair pair = ring_pair_make();
	bool doorbell = true;

	cr_assert_eq(ring_push_number(&pair.producer, 0, &doorbell), OK);
	cr_assert_not(doorbell, "nobody has armed");
	cr_assert_not(ring_arm(&pair.consumer), "there is a record");
	cr_assert_eq(ring_push_number(&pair.producer, 1, &doorbell), OK);
	cr_assert_not(doorbell, "the arming was taken back");
	cr_assert(ring_pop_number(&pair.consumer, 0));
	cr_assert(ring_pop_number(&pair.consumer, 1));
	cr_assert(ring_arm(&pair.consumer));
	cr_assert_eq(ring_push_number(&pair.producer, 2, &doorbell), OK);
	cr_assert(doorbell);
	cr_assert_eq(ring_push_number(&pair.producer, 3, &doorbell), OK);
	cr_assert_not(doorbell, "it has been rung");
}

Test(ring, a_consumer_that_woke_by_itself_is_not_rung)
{
	struct ring_pair pair = ring_pair_make();
	bool doorbell = true;

	cr_assert(ring_arm(&pair.consumer));
	cr_assert_eq(pop_any(&pair.consumer), MISS);
	cr_assert_eq(ring_push_number(&pair.producer, 0, &doorbell), OK);
	cr_assert_not(doorbell);
}

struct collected {
	uint32_t	next;		/* number expected */
	uint32_t	stop_at;	/* answer BUSY after this one */
	bool		wrong;
};

static enum result
collect(void *context, uint32_t type, const void *body, uint32_t length)
{
	struct collected *collected = context;

	if (!ring_is_number(collected->next, type, body, length)) {
		collected->wrong = true;
	}
	return collected->next++ == collected->stop_at ? BUSY : OK;
}

Test(ring, drain_to_stops_at_the_tail_that_was_named)
{
	struct ring_pair pair = ring_pair_make();
	struct collected got = { .stop_at = UINT32_MAX };
	uint8_t buffer[BODY_MAX];
	uint64_t named;
	bool doorbell;

	for (uint32_t number = 0; number < 4; number++) {
		cr_assert_eq(ring_push_number(&pair.producer, number,
		    &doorbell), OK);
	}
	named = ring_tail(&pair.producer);
	cr_assert_eq(ring_push_number(&pair.producer, 4, &doorbell), OK);

	cr_assert_eq(ring_drain_to(&pair.consumer, named, buffer,
	    sizeof(buffer), collect, &got), OK);
	cr_assert_eq(got.next, 4);
	cr_assert_eq(ring_drain_to(&pair.consumer, named, buffer,
	    sizeof(buffer), collect, &got), OK, "a late frame");
	cr_assert_eq(got.next, 4);
	cr_assert_eq(ring_drain(&pair.consumer, buffer, sizeof(buffer),
	    collect, &got), OK);
	cr_assert_eq(got.next, 5);
	cr_assert_not(got.wrong);
}

Test(ring, drain_ends_with_what_its_function_answers_and_goes_on_after)
{
	struct ring_pair pair = ring_pair_make();
	struct collected got = { .stop_at = 1 };
	uint8_t buffer[BODY_MAX];
	bool doorbell;

	for (uint32_t number = 0; number < 4; number++) {
		cr_assert_eq(ring_push_number(&pair.producer, number,
		    &doorbell), OK);
	}
	cr_assert_eq(ring_drain(&pair.consumer, buffer, sizeof(buffer),
	    collect, &got), BUSY);
	cr_assert_eq(got.next, 2);
	cr_assert_eq(ring_drain(&pair.consumer, buffer, sizeof(buffer),
	    collect, &got), OK);
	cr_assert_eq(got.next, 4);
	cr_assert_not(got.wrong);
}

Test(ring, successors_of_both_sides_go_on_where_the_dead_ones_were)
{
	struct ring_pair pair = ring_pair_make();
	struct ring_producer producer;
	struct ring_consumer consumer;
	bool doorbell;

	for (uint32_t number = 0; number < 3; number++) {
		cr_assert_eq(ring_push_number(&pair.producer, number,
		    &doorbell), OK);
	}
	cr_assert(ring_pop_number(&pair.consumer, 0));
	cr_assert_eq(ring_producer_attach(&producer, pair.mem,
	    ring_bytes(CAPACITY)), OK);
	cr_assert_eq(ring_consumer_attach(&consumer, pair.mem, CAPACITY), OK);
	cr_assert_eq(ring_push_number(&producer, 3, &doorbell), OK);
	for (uint32_t number = 1; number <= 3; number++) {
		cr_assert(ring_pop_number(&consumer, number));
	}
	cr_assert_eq(pop_any(&consumer), MISS);
}

Test(ring, a_producer_refuses_what_is_no_ring_or_does_not_fit)
{
	struct ring_pair pair = ring_pair_make();
	struct ring_shared *shared = pair.mem;
	struct ring_producer producer;
	size_t bytes = ring_bytes(CAPACITY);

	cr_assert_eq(ring_producer_attach(&producer, shared, 255),
	    LAYOUT_MISMATCH);
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes - 1),
	    LAYOUT_MISMATCH);
	shared->capacity = 1000;
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes),
	    LAYOUT_MISMATCH);
	shared->capacity = CAPACITY;
	shared->magic++;
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes),
	    LAYOUT_MISMATCH);
	shared->magic--;
	atomic_store(&shared->tail, CAPACITY + 8);
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes), CORRUPT);
	atomic_store(&shared->tail, 4);
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes), CORRUPT);
}

Test(ring, a_producer_drops_a_ring_whose_head_makes_no_sense)
{
	struct ring_pair pair = ring_pair_make();
	struct ring_shared *shared = pair.mem;

	atomic_store(&shared->head, 4096);
	while (push_bytes(&pair.producer, 56) == OK) {
		cr_assert_leq(ring_tail(&pair.producer), CAPACITY);
	}
	cr_assert_eq(push_bytes(&pair.producer, 56), CORRUPT);
}
