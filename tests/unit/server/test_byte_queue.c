/* SPDX-License-Identifier: ISC */

#include "byte_queue.h"

#include <criterion/criterion.h>
#include <string.h>

Test(byte_queue, gives_bytes_in_the_order_they_came)
{
	struct byte_queue queue = { 0 };

	cr_assert(byte_queue_append(&queue, "hello ", 6));
	cr_assert(byte_queue_append(&queue, "world", 5));
	byte_queue_take(&queue, 3);
	cr_assert_eq(byte_queue_length(&queue), 8);
	cr_assert_eq(memcmp(byte_queue_front(&queue), "lo world", 8), 0);
	byte_queue_clear(&queue);
}

Test(byte_queue, holds_no_memory_when_empty)
{
	struct byte_queue queue = { 0 };

	cr_assert(byte_queue_append(&queue, "abc", 3));
	byte_queue_take(&queue, 3);
	cr_assert_null(queue.bytes);
	cr_assert_eq(queue.capacity, 0);
}

Test(byte_queue, moves_to_the_front_rather_than_grow)
{
	struct byte_queue queue = { 0 };
	size_t capacity;

	cr_assert_not_null(byte_queue_reserve(&queue, 1000));
	byte_queue_filled(&queue, 1000);
	capacity = queue.capacity;
	for (int i = 0; i < 100; i++) {
		byte_queue_take(&queue, 900);
		cr_assert_not_null(byte_queue_reserve(&queue, 900));
		byte_queue_filled(&queue, 900);
	}
	cr_assert_eq(queue.capacity, capacity);
	byte_queue_clear(&queue);
}

Test(byte_queue, refuses_room_that_no_memory_has)
{
	struct byte_queue queue = { 0 };

	cr_assert_null(byte_queue_reserve(&queue, SIZE_MAX - 10));
}
