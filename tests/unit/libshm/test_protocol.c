/* SPDX-License-Identifier: ISC */

/*
 * Frames in bytes: every field in its place, and what is no frame refused.
 * The frozen bytes of tests/vectors are made here a second time.
 */
#include "protocol.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct frame some_frame = {
	.type = FRAME_SET,
	.flags = FRAME_ANSWER | FRAME_MORE,
	.status = -14,
	.id = 0x1122334455667788,
	.ring_tail = 0x99aabbccddeeff00,
	.length = 0x0102030405060708,
};

Test(protocol, numbers_are_little_endian_at_any_address)
{
	uint8_t bytes[16] = { 0 };

	wire_put_u16(bytes + 1, 0x0102);
	wire_put_u32(bytes + 3, 0x03040506);
	wire_put_u64(bytes + 7, 0x0708090a0b0c0d0e);
	cr_assert_arr_eq(bytes, ((uint8_t[]){ 0, 2, 1, 6, 5, 4, 3,
	    0xe, 0xd, 0xc, 0xb, 0xa, 9, 8, 7, 0 }), 16);
	cr_assert_eq(wire_get_u16(bytes + 1), 0x0102);
	cr_assert_eq(wire_get_u32(bytes + 3), 0x03040506);
	cr_assert_eq(wire_get_u64(bytes + 7), 0x0708090a0b0c0d0e);
}

Test(protocol, a_frame_comes_back_as_it_was)
{
	uint8_t bytes[FRAME_HEADER_BYTES];
	struct frame back;

	frame_encode(bytes, &some_frame);
	cr_assert(frame_decode(bytes, &back));
	cr_assert_eq(back.type, some_frame.type);
	cr_assert_eq(back.flags, some_frame.flags);
	cr_assert_eq(back.status, some_frame.status);
	cr_assert_eq(back.id, some_frame.id);
	cr_assert_eq(back.ring_tail, some_frame.ring_tail);
	cr_assert_eq(back.length, some_frame.length);
}

Test(protocol, foreign_magic_version_and_reserved_bytes_are_no_frame)
{
	static const unsigned fixed[] = { 0, 1, 2, 3, 4, 12, 13, 14, 15 };
	uint8_t bytes[FRAME_HEADER_BYTES];
	struct frame back;

	for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		frame_encode(bytes, &some_frame);
		bytes[fixed[i]] ^= 1;
		cr_assert_not(frame_decode(bytes, &back), "byte %u",
		    fixed[i]);
	}
}

Test(protocol, the_head_of_set_comes_back_as_it_was)
{
	struct wire_set set = {
		.when = 2, .tag_count = 32, .flags = 0xf0,
		.key_length = 1024, .ttl_ms = 1ull << 40,
		.soft_ttl_ms = 77, .version = 0x0100000000000005,
		.epoch = 9, .value_length = 123456789,
	};
	struct wire_set back;
	uint8_t bytes[WIRE_SET_BYTES];

	wire_set_encode(bytes, &set);
	wire_set_decode(bytes, &back);
	cr_assert_eq(bytes[3], 0);
	cr_assert_eq(back.when, set.when);
	cr_assert_eq(back.tag_count, set.tag_count);
	cr_assert_eq(back.flags, set.flags);
	cr_assert_eq(back.key_length, set.key_length);
	cr_assert_eq(back.ttl_ms, set.ttl_ms);
	cr_assert_eq(back.soft_ttl_ms, set.soft_ttl_ms);
	cr_assert_eq(back.version, set.version);
	cr_assert_eq(back.epoch, set.epoch);
	cr_assert_eq(back.value_length, set.value_length);
}
