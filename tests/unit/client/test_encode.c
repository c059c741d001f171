/* SPDX-License-Identifier: ISC */

/*
 * Requests as bytes: the frozen frames of tests/vectors, made anew.  Where
 * the test does not run in the tree, it reads the file beside its source.
 */
#include "encode.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX	512

static FILE *
open_vectors(void)
{
	char path[512];
	const char *end = strstr(__FILE__, "unit/client/");
	FILE *file = fopen("tests/vectors/protocol.txt", "r");

	if (file == NULL && end != NULL) {
		(void)snprintf(path, sizeof(path), "%.*svectors/protocol.txt",
		    (int)(end - __FILE__), __FILE__);
		file = fopen(path, "r");
	}
	cr_assert_not_null(file, "no tests/vectors/protocol.txt");
	return file;
}

/* The bytes of the line, if all of it is hex. */
static size_t
take_hex(const char *line, uint8_t *out, size_t room)
{
	size_t length = strcspn(line, "\n"), count = length / 2;

	if (length == 0 || length % 2 != 0 || count > room ||
	    strspn(line, "0123456789abcdef") != length) {
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		char digits[3] = { line[2 * i], line[2 * i + 1], '\0' };

		out[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return count;
}

static size_t
read_vector(const char *name, uint8_t bytes[BYTES_MAX])
{
	FILE *file = open_vectors();
	char line[128];
	bool here = false;
	size_t count = 0;

	while (fgets(line, sizeof(line), file) != NULL) {
		if (line[0] == '\n') {
			here = false;
		} else if (strncmp(line, name, strlen(name)) == 0 &&
		    line[strlen(name)] == '\n') {
			here = true;
		} else if (here) {
			count += take_hex(line, bytes + count,
			    BYTES_MAX - count);
		}
	}
	(void)fclose(file);
	cr_assert_gt(count, 0, "no vector %s", name);
	return count;
}

static void
expect_bytes(const char *name, const uint8_t *made, size_t length)
{
	uint8_t frozen[BYTES_MAX];

	cr_assert_eq(read_vector(name, frozen), length, "%s", name);
	cr_assert_eq(memcmp(frozen, made, length), 0, "%s", name);
}

static void
expect_request(const char *name, const struct request *request, uint64_t id,
    uint64_t ring_tail)
{
	struct encoded encoded;
	uint8_t made[BYTES_MAX];
	size_t length = 0;

	cr_assert_eq(request_check(request, NULL), OK);
	request_encode(request, NULL, &encoded);
	request_address(request, id, ring_tail, &encoded);
	for (int i = 0; i < 3; i++) {
		if (encoded.part[i].iov_len > 0) {
			memcpy(made + length, encoded.part[i].iov_base,
			    encoded.part[i].iov_len);
			length += encoded.part[i].iov_len;
		}
	}
	expect_bytes(name, made, length);
}

Test(encode, requests_are_the_frozen_bytes)
{
	struct weir_counter_options counter = WEIR_COUNTER_OPTIONS_INIT;
	struct request request = {
		.type = FRAME_HELLO, .pid = 4242, .value = "default",
		.value_length = 7,
	};

	expect_request("hello", &request, 1, 0);
	request = (struct request){ .type = FRAME_RING };
	expect_request("ring", &request, 2, 0);
	request.type = FRAME_PING;
	expect_request("ping", &request, 3, 4096);
	request.type = FRAME_DOORBELL;
	expect_request("doorbell", &request, 4, 8192);
	request.type = FRAME_FLUSH;
	expect_request("flush", &request, 11, 128);
	request_make_delete(&request, "a key", 5, 7);
	expect_request("delete", &request, 6, 0);
	request_make_touch(&request, "a key", 5, 1000, 500);
	expect_request("touch", &request, 7, 0);
	counter.initial = 40;
	cr_assert_eq(request_make_counter(&request, "n", 1, -2, &counter),
	    OK);
	expect_request("counter", &request, 8, 0);
	request = (struct request){
		.type = FRAME_PURGE, .what = PURGE_ALL,
		.how = WEIR_PURGE_HARD,
	};
	expect_request("purge_all", &request, 10, 0);
}

/* Tags are hashed with the pool's key, so its bytes are put in by hand. */
Test(encode, set_is_the_frozen_bytes)
{
	struct wire_set set = {
		.when = WEIR_IF_ABSENT, .tag_count = 2, .key_length = 5,
		.ttl_ms = 60000, .soft_ttl_ms = 30000, .value_length = 10,
	};
	struct frame frame = { .type = FRAME_SET, .id = 5, .length = 79 };
	uint8_t made[BYTES_MAX];

	frame_encode(made, &frame);
	wire_set_encode(made + 40, &set);
	wire_put_u64(made + 88, 0x1111111111111111);
	wire_put_u64(made + 96, 0xfedcba9876543210);
	memcpy(made + 104, "a keysome value", 15);
	expect_bytes("set", made, 119);
}

Test(encode, answers_decode_to_what_stands_beside_the_frozen_bytes)
{
	uint8_t bytes[BYTES_MAX];
	struct frame frame;

	cr_assert_eq(read_vector("counter_answer", bytes), 48);
	cr_assert(frame_decode(bytes, &frame));
	cr_assert_eq(frame.type, FRAME_COUNTER);
	cr_assert_eq(frame.flags, FRAME_ANSWER);
	cr_assert_eq(frame.id, 8);
	cr_assert_eq((int64_t)wire_get_u64(bytes + 40), -38);
	cr_assert_eq(read_vector("hello_refused", bytes), 42);
	cr_assert(frame_decode(bytes, &frame));
	cr_assert_eq(frame.status, DENIED);
	cr_assert_eq(read_vector("admin_answer_first", bytes), 53);
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
