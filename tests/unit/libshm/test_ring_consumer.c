/* SPDX-License-Identifier: ISC */

/*
 * The consumer of a ring, one by one against each thing in the mapping that
 * an honest producer never writes.
 */
#include "ring.h"

#include "ring_fixture.h"

#include <criterion/criterion.h>

#define CAPACITY	RING_TEST_CAPACITY
#define BODY_MAX	RING_TEST_BODY_MAX

static enum result
pop(struct ring_hostile *hostile)
{
	uint32_t type, length;

	return ring_pop(&hostile->consumer, hostile->buffer, BODY_MAX, &type,
	    &length);
}

static enum result
pop_with_tail(struct ring_hostile *hostile, uint64_t tail)
{
	atomic_store(&hostile->shared->tail, tail);
	return pop(hostile);
}

static enum result
accept_all(void *context, uint32_t type, const void *body, uint32_t length)
{
	uint64_t *records = context;

	(void)type;
	(void)body;
	(void)length;
	(*records)++;
	return OK;
}

Test(ring_consumer, a_tail_that_makes_no_sense_is_corrupt_for_good)
{
	static const uint64_t tails[] = {
		CAPACITY + 8, 4, UINT64_MAX, UINT64_MAX - 7,
		UINT64_C(1) << 32, UINT64_C(1) << 63,
	};

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		struct ring_hostile hostile = ring_hostile_make();
		uint64_t records = 0;

		cr_assert_eq(pop_with_tail(&hostile, tails[i]), CORRUPT,
		    "tail %ju", (uintmax_t)tails[i]);
		cr_assert_eq(pop_with_tail(&hostile, 0), CORRUPT);
		cr_assert_not(ring_arm(&hostile.consumer));
		cr_assert_eq(ring_drain(&hostile.consumer, hostile.buffer,
		    BODY_MAX, accept_all, &records), CORRUPT);
		cr_assert_eq(ring_drain_to(&hostile.consumer, 8,
		    hostile.buffer, BODY_MAX, accept_all, &records), CORRUPT);
		cr_assert_eq(records, 0);
	}
}

Test(ring_consumer, a_tail_behind_the_head_is_corrupt)
{
	struct ring_hostile hostile = ring_hostile_make_at(512);

	cr_assert_eq(pop_with_tail(&hostile, 504), CORRUPT);
}

Test(ring_consumer, a_length_beyond_the_tail_is_corrupt)
{
	static const uint32_t lengths[] = {
		1, 8, BODY_MAX, BODY_MAX + 1, CAPACITY, UINT32_MAX,
		UINT32_MAX - 7, UINT32_C(1) << 31,
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct ring_hostile hostile = ring_hostile_make();

		ring_put_header(hostile.shared, 0, lengths[i], 1);
		cr_assert_eq(pop_with_tail(&hostile, 8), CORRUPT, "length %u",
		    lengths[i]);
	}
}

Test(ring_consumer, a_length_above_a_quarter_is_corrupt)
{
	struct ring_hostile hostile = ring_hostile_make();

	ring_put_header(hostile.shared, 0, BODY_MAX + 1, 1);
	cr_assert_eq(pop_with_tail(&hostile, CAPACITY), CORRUPT);
}

Test(ring_consumer, a_length_beyond_the_end_of_the_data_is_corrupt)
{
	struct ring_hostile hostile = ring_hostile_make_at(CAPACITY - 16);

	ring_put_header(hostile.shared, CAPACITY - 16, 9, 1);
	cr_assert_eq(pop_with_tail(&hostile, CAPACITY + 128), CORRUPT);
}

Test(ring_consumer, a_filler_where_none_belongs_is_corrupt)
{
	struct ring_hostile at_start = ring_hostile_make();
	struct ring_hostile too_early = ring_hostile_make_at(CAPACITY / 2);
	struct ring_hostile wrong_length = ring_hostile_make_at(CAPACITY - 64);
	struct ring_hostile alone = ring_hostile_make_at(CAPACITY - 64);

	ring_put_header(at_start.shared, 0, CAPACITY - 8, RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&at_start, CAPACITY), CORRUPT);

	ring_put_header(too_early.shared, CAPACITY / 2, CAPACITY / 2 - 8,
	    RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&too_early, CAPACITY + 64), CORRUPT);

	ring_put_header(wrong_length.shared, CAPACITY - 64, 48, RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&wrong_length, CAPACITY + 64), CORRUPT);

	ring_put_header(alone.shared, CAPACITY - 64, 56, RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&alone, CAPACITY), CORRUPT);
}

Test(ring_consumer, a_filler_after_a_filler_is_corrupt)
{
	struct ring_hostile hostile = ring_hostile_make_at(CAPACITY - 64);

	ring_put_header(hostile.shared, CAPACITY - 64, 56, RING_TYPE_WRAP);
	ring_put_header(hostile.shared, 0, 56, RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&hostile, CAPACITY + 64), CORRUPT);
}

Test(ring_consumer, a_named_tail_beyond_the_own_one_is_corrupt)
{
	struct ring_hostile hostile = ring_hostile_make();
	uint64_t records = 0;

	ring_put_header(hostile.shared, 0, 0, 1);
	atomic_store(&hostile.shared->tail, 8);
	cr_assert_eq(ring_drain_to(&hostile.consumer, 16, hostile.buffer,
	    BODY_MAX, accept_all, &records), CORRUPT);
	cr_assert_eq(records, 0);
}

Test(ring_consumer, a_named_tail_within_a_record_is_corrupt)
{
	struct ring_hostile hostile = ring_hostile_make();
	uint64_t records = 0;

	ring_put_header(hostile.shared, 0, 0, 1);
	ring_put_header(hostile.shared, 8, 8, 1);
	atomic_store(&hostile.shared->tail, 24);
	cr_assert_eq(ring_drain_to(&hostile.consumer, 16, hostile.buffer,
	    BODY_MAX, accept_all, &records), CORRUPT);
	cr_assert_eq(records, 1);
}

Test(ring_consumer, a_named_tail_that_is_no_multiple_of_8_is_corrupt)
{
	struct ring_hostile hostile = ring_hostile_make();
	uint64_t records = 0;

	atomic_store(&hostile.shared->tail, 24);
	cr_assert_eq(ring_drain_to(&hostile.consumer, 12, hostile.buffer,
	    BODY_MAX, accept_all, &records), CORRUPT);
	cr_assert_leq(records, 1);
}

Test(ring_consumer, a_drain_ends_after_one_capacity_of_empty_records)
{
	struct ring_hostile hostile = ring_hostile_make();
	uint64_t records = 0;

	/* The data is all zero: 128 records of no length and type 0. */
	atomic_store(&hostile.shared->tail, CAPACITY);
	cr_assert_eq(ring_drain(&hostile.consumer, hostile.buffer, BODY_MAX,
	    accept_all, &records), OK);
	cr_assert_eq(records, CAPACITY / 8);
}

Test(ring_consumer, attach_refuses_counts_that_make_no_sense)
{
	struct ring_hostile hostile = ring_hostile_make();
	struct ring_consumer consumer;

	cr_assert_eq(ring_consumer_attach(&consumer, hostile.shared, 1000),
	    INVALID);
	atomic_store(&hostile.shared->tail, CAPACITY + 8);
	cr_assert_eq(ring_consumer_attach(&consumer, hostile.shared,
	    CAPACITY), CORRUPT);
	atomic_store(&hostile.shared->tail, 0);
	atomic_store(&hostile.shared->head, 4);
	cr_assert_eq(ring_consumer_attach(&consumer, hostile.shared,
	    CAPACITY), CORRUPT);
}

Test(ring_consumer, the_capacity_in_the_mapping_is_not_believed)
{
	struct ring_hostile hostile = ring_hostile_make_at(CAPACITY);

	hostile.shared->capacity = RING_CAPACITY_MAX;
	ring_put_header(hostile.shared, 0, 8, 5);
	cr_assert_eq(pop_with_tail(&hostile, CAPACITY + 16), OK);
}
