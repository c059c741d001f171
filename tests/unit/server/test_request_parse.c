/* SPDX-License-Identifier: ISC */

#include "request_parse.h"

#include <criterion/criterion.h>
#include <string.h>

/* A SET of key "k", value "value", one tag. */
static size_t
make_set(uint8_t *body)
{
	struct wire_set head = {
		.tag_count = 1, .key_length = 1, .value_length = 5,
	};

	wire_set_encode(body, &head);
	wire_put_u64(body + WIRE_SET_BYTES, 0x1122334455667788);
	memcpy(body + WIRE_SET_BYTES + 8, "kvalue", 6);
	return WIRE_SET_BYTES + 8 + 6;
}

Test(request_parse, finds_the_parts_of_a_set)
{
	uint8_t body[128];
	struct request_set set;
	size_t length = make_set(body);

	cr_assert_eq(request_parse_set(body, length, &set), OK);
	cr_assert_eq(set.tags[0], 0x1122334455667788);
	cr_assert_eq(*set.key, 'k');
	cr_assert_eq(memcmp(set.value, "value", 5), 0);
}

Test(request_parse, refuses_every_other_length_of_a_set)
{
	uint8_t body[128] = { 0 };
	struct request_set set;
	size_t length = make_set(body);

	for (size_t i = 0; i < sizeof(body); i++) {
		cr_assert_eq(request_parse_set(body, i, &set) == OK,
		    i == length, "length %zu", i);
	}
}

Test(request_parse, names_what_is_wrong_with_a_set)
{
	uint8_t body[128];
	struct request_set set;
	size_t length = make_set(body);

	body[1] = TAGS_MAX + 1;
	cr_assert_eq(request_parse_set(body, length, &set), TOO_MANY_TAGS);
	(void)make_set(body);
	wire_put_u32(body + 4, KEY_MAX_BYTES + 1);
	cr_assert_eq(request_parse_set(body, length, &set), KEY_INVALID);
	(void)make_set(body);
	body[0] = SET_IF_VERSION + 1;
	cr_assert_eq(request_parse_set(body, length, &set), INVALID);
	(void)make_set(body);
	body[2] = ENTRY_CHAIN;
	cr_assert_eq(request_parse_set(body, length, &set), INVALID);
	(void)make_set(body);
	wire_put_u64(body + 40, UINT64_MAX);
	cr_assert_eq(request_parse_set(body, length, &set), INVALID);
}

Test(request_parse, a_hello_has_exactly_its_name)
{
	uint8_t body[32] = { 0 };
	struct request_hello hello;

	wire_put_u32(body, FRAME_VERSION);
	wire_put_u16(body + 8, 7);
	memcpy(body + 16, "default", 7);
	cr_assert(request_parse_hello(body, 23, &hello));
	cr_assert_eq(memcmp(hello.name, "default", 7), 0);
	cr_assert_not(request_parse_hello(body, 22, &hello));
	cr_assert_not(request_parse_hello(body, 24, &hello));
	cr_assert_not(request_parse_hello(body, 15, &hello));
	cr_assert_eq(hello.holder, 0);
}

Test(request_parse, a_hello_may_say_who_came_before)
{
	uint8_t body[64] = { 0 };
	struct request_hello hello;

	wire_put_u32(body, FRAME_VERSION);
	wire_put_u16(body + 8, 7);
	wire_put_u16(body + 10, 1);
	wire_put_u64(body + 16, 77);
	wire_put_u64(body + 24, 99);
	memcpy(body + 32, "default", 7);
	cr_assert(request_parse_hello(body, 39, &hello));
	cr_assert_eq(memcmp(hello.name, "default", 7), 0);
	cr_assert_eq(hello.holder, 77);
	cr_assert_eq(hello.secret, 99);
	cr_assert_not(request_parse_hello(body, 38, &hello));
	cr_assert_not(request_parse_hello(body, 31, &hello));
	cr_assert_not(request_parse_hello(body, 23, &hello));
	wire_put_u16(body + 10, 2);
	cr_assert_not(request_parse_hello(body, 39, &hello));
}

Test(request_parse, a_time_to_live_never_overflows)
{
	struct boot_ms now = { .ms = 1000 };

	cr_assert_eq(request_expiry_ms(now, 0), UINT64_MAX);
	cr_assert_eq(request_expiry_ms(now, 5), 1005);
	cr_assert_eq(request_expiry_ms(now, UINT64_MAX), UINT64_MAX);
	cr_assert_eq(request_expiry_ms(now, UINT64_MAX - 999), UINT64_MAX);
}

Test(request_parse, a_purge_names_a_tag_or_all_and_how)
{
	uint8_t body[16] = { PURGE_TAG, 1 };
	struct request_purge purge;

	cr_assert_not(request_parse_purge(body, 16, &purge), "tag 0");
	body[8] = 1;
	cr_assert(request_parse_purge(body, 16, &purge));
	cr_assert_eq(purge.how, EPOCH_KIND_INVALID);
	body[1] = 3;
	cr_assert_not(request_parse_purge(body, 16, &purge));
	body[1] = 0;
	body[0] = 3;
	cr_assert_not(request_parse_purge(body, 16, &purge));
	body[0] = PURGE_ALL;
	cr_assert(request_parse_purge(body, 16, &purge));
	cr_assert_eq(purge.how, EPOCH_KIND_HARD);
}
