/* SPDX-License-Identifier: ISC */

/*
 * Requests as bytes: the frozen frames of tests/vectors, made anew.
 * test_encode_lease.c has those of leases and permits.
 */
#include "encode.h"

#include "vectors.h"

#include <criterion/criterion.h>
#include <string.h>

Test(encode, requests_are_the_frozen_bytes)
{
	struct weir_counter_options counter = WEIR_COUNTER_OPTIONS_INIT;
	struct request request = {
		.type = FRAME_HELLO, .pid = 4242, .value = "default",
		.value_length = 7,
	};

	vector_expect_request("hello", &request, 1, 0);
	request.number[0] = UINT64_C(4294967299);
	request.number[1] = UINT64_C(0x0123456789abcdef);
	vector_expect_request("hello_again", &request, 1, 0);
	request = (struct request){ .type = FRAME_RING };
	vector_expect_request("ring", &request, 2, 0);
	request.type = FRAME_PING;
	vector_expect_request("ping", &request, 3, 4096);
	request.type = FRAME_DOORBELL;
	vector_expect_request("doorbell", &request, 4, 8192);
	request.type = FRAME_FLUSH;
	vector_expect_request("flush", &request, 11, 128);
	request_make_delete(&request, "a key", 5, 7);
	vector_expect_request("delete", &request, 6, 0);
	request_make_touch(&request, "a key", 5, 1000, 500);
	vector_expect_request("touch", &request, 7, 0);
	counter.initial = 40;
	cr_assert_eq(request_make_counter(&request, "n", 1, -2, &counter),
	    OK);
	vector_expect_request("counter", &request, 8, 0);
	request = (struct request){
		.type = FRAME_PURGE, .what = PURGE_ALL,
		.how = WEIR_PURGE_HARD,
	};
	vector_expect_request("purge_all", &request, 10, 0);
}

/* Tags are hashed with the pool's key, so its bytes are put in by hand. */
Test(encode, set_is_the_frozen_bytes)
{
	struct wire_set set = {
		.when = WEIR_IF_ABSENT, .tag_count = 2, .key_length = 5,
		.ttl_ms = 60000, .soft_ttl_ms = 30000, .value_length = 10,
	};
	struct frame frame = { .type = FRAME_SET, .id = 5, .length = 79 };
	uint8_t made[VECTOR_BYTES_MAX];

	frame_encode(made, &frame);
	wire_set_encode(made + 40, &set);
	wire_put_u64(made + 88, 0x1111111111111111);
	wire_put_u64(made + 96, 0xfedcba9876543210);
	memcpy(made + 104, "a keysome value", 15);
	vector_expect("set", made, 119);
}

Test(encode, answers_decode_to_what_stands_beside_the_frozen_bytes)
{
	uint8_t bytes[VECTOR_BYTES_MAX];
	struct frame frame;

	cr_assert_eq(vector_read("counter_answer", bytes), 48);
	cr_assert(frame_decode(bytes, &frame));
	cr_assert_eq(frame.type, FRAME_COUNTER);
	cr_assert_eq(frame.flags, FRAME_ANSWER);
	cr_assert_eq(frame.id, 8);
	cr_assert_eq((int64_t)wire_get_u64(bytes + 40), -38);
	cr_assert_eq(vector_read("hello_refused", bytes), 42);
	cr_assert(frame_decode(bytes, &frame));
	cr_assert_eq(frame.status, DENIED);
	cr_assert_eq(vector_read("admin_answer_first", bytes), 53);
	cr_assert(frame_decode(bytes, &frame));
	cr_assert_eq(frame.flags, FRAME_ANSWER | FRAME_MORE);
}

Test(encode, options_of_another_size_are_invalid)
{
	struct weir_set_options set = WEIR_SET_OPTIONS_INIT;
	struct weir_counter_options counter = WEIR_COUNTER_OPTIONS_INIT;
	struct request request;

	set.size++;
	cr_assert_eq(request_make_set(&request, "k", 1, "v", 1, &set),
	    INVALID);
	counter.size = 0;
	cr_assert_eq(request_make_counter(&request, "k", 1, 1, &counter),
	    INVALID);
}
