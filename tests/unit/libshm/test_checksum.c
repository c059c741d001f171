/* SPDX-License-Identifier: ISC */

/*
 * The checksum: fixed values, as it is stored on disk, and what it notices.
 */
#include "checksum.h"

#include <criterion/criterion.h>
#include <xxhash.h>

#define HEAD_BYTES	48
#define BODY_BYTES	252

static void
fill_counting(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		bytes[i] = (uint8_t)(i * 7 + 1);
	}
}

Test(checksum, the_library_gives_the_published_value)
{
	cr_assert_eq(XXH3_64bits(NULL, 0), UINT64_C(0x2d06800538d394c2));
}

Test(checksum, values_on_disk_stay_as_they_are)
{
	uint8_t bytes[300];

	fill_counting(bytes, sizeof(bytes));
	cr_assert_eq(checksum_parts(NULL, 0, NULL, 0), 0xe10017f3u);
	cr_assert_eq(checksum_parts("a", 1, NULL, 0), 0x8c2a36e1u);
	cr_assert_eq(checksum_parts(NULL, 0, "a", 1), 0x24385cb8u);
	cr_assert_eq(checksum_parts(bytes, 48, bytes + 48, 100),
	    0x592bbe89u);
	cr_assert_eq(checksum_parts(bytes, 20, bytes, 300), 0xe395dff3u);
}

Test(checksum, every_bit_of_both_parts_matters)
{
	uint8_t bytes[HEAD_BYTES + BODY_BYTES];
	uint32_t first;

	fill_counting(bytes, sizeof(bytes));
	first = checksum_parts(bytes, HEAD_BYTES, bytes + HEAD_BYTES,
	    BODY_BYTES);
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		cr_assert_neq(checksum_parts(bytes, HEAD_BYTES,
		    bytes + HEAD_BYTES, BODY_BYTES), first, "bit %zu", bit);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

Test(checksum, a_byte_may_not_move_from_one_part_to_the_other)
{
	uint8_t bytes[HEAD_BYTES + BODY_BYTES];
	uint32_t first;

	fill_counting(bytes, sizeof(bytes));
	first = checksum_parts(bytes, HEAD_BYTES, bytes + HEAD_BYTES,
	    BODY_BYTES);
	for (size_t head = 0; head <= sizeof(bytes); head++) {
		uint32_t sum = checksum_parts(bytes, head, bytes + head,
		    sizeof(bytes) - head);

		cr_assert_eq(sum == first, head == HEAD_BYTES,
		    "head of %zu bytes", head);
	}
}

Test(checksum, the_parts_may_not_change_places)
{
	cr_assert_neq(checksum_parts("one", 3, "two", 3),
	    checksum_parts("two", 3, "one", 3));
}
