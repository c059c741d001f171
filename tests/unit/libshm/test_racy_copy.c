/* SPDX-License-Identifier: ISC */

/*
 * The racy copies do what memcpy() and memcmp() do, at every alignment and
 * length, and touch nothing beside.  What they are for, bytes that change, is
 * proved by the race programs.
 */
#include "racy_copy.h"

#include <criterion/criterion.h>
#include <stdint.h>

#define AREA_BYTES	96
#define LENGTH_MAX	40
#define UNTOUCHED	0xee

typedef void (copy_fn)(void *to, const void *from, size_t length);

/* The functions may be inline; a pointer needs these. */
static void
copy_out(void *to, const void *from, size_t length)
{
	racy_copy(to, from, length);
}

static void
copy_in(void *to, const void *from, size_t length)
{
	racy_fill(to, from, length);
}

static void
fill_counting(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		bytes[i] = (uint8_t)(i + 1);
	}
}

static void
check_copy(copy_fn *copy, size_t from_at, size_t to_at, size_t length)
{
	_Alignas(16) uint8_t from[AREA_BYTES];
	_Alignas(16) uint8_t to[AREA_BYTES];

	fill_counting(from, sizeof(from));
	memset(to, UNTOUCHED, sizeof(to));
	copy(to + to_at, from + from_at, length);
	for (size_t i = 0; i < sizeof(to); i++) {
		bool inside = i >= to_at && i < to_at + length;
		uint8_t want = inside ? from[from_at + i - to_at] :
		    UNTOUCHED;

		cr_assert_eq(to[i], want, "%zu bytes, %zu to %zu: at %zu",
		    length, from_at, to_at, i);
	}
}

static void
check_every_alignment(copy_fn *copy)
{
	for (size_t from_at = 0; from_at < 8; from_at++) {
		for (size_t to_at = 0; to_at < 8; to_at++) {
			for (size_t n = 0; n <= LENGTH_MAX; n++) {
				check_copy(copy, from_at, to_at, n);
			}
		}
	}
}

Test(racy_copy, copies_out_at_every_alignment_and_length)
{
	check_every_alignment(copy_out);
}

Test(racy_copy, fills_at_every_alignment_and_length)
{
	check_every_alignment(copy_in);
}

Test(racy_copy, equal_finds_one_different_byte_anywhere)
{
	uint8_t one[LENGTH_MAX], other[LENGTH_MAX + 3];

	fill_counting(one, sizeof(one));
	for (size_t at = 0; at < 4; at++) {
		for (size_t n = 0; n <= sizeof(one) - 1; n++) {
			memcpy(other + at, one, n);
			cr_assert(racy_equal(other + at, one, n));
			for (size_t i = 0; i < n; i++) {
				other[at + i] ^= 0x80;
				cr_assert_not(racy_equal(other + at, one, n),
				    "byte %zu of %zu", i, n);
				other[at + i] ^= 0x80;
			}
		}
	}
}

Test(racy_copy, equal_ignores_what_is_past_the_length)
{
	cr_assert(racy_equal("weird", "weir!", 4));
	cr_assert(racy_equal("a", "b", 0));
}
