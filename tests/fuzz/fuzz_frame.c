/* SPDX-License-Identifier: ISC */

/*
 * A frame's header, then its body by its type.
 */
#include "fuzz_target.h"

#include <string.h>

#include "request_parse.h"

const char fuzz_name[] = "frame";

/* What is taken for one of ours is written as it was read. */
static void
parse_lease(uint8_t type, const uint8_t *body, size_t length)
{
	uint8_t again[WIRE_LEASE_BYTES];
	struct wire_lease lease;
	struct wire_end end;
	struct request_set set;

	if ((type == FRAME_LEASE || type == FRAME_PERMIT) &&
	    length >= WIRE_LEASE_BYTES && wire_lease_decode(body, &lease)) {
		wire_lease_encode(again, &lease);
		FUZZ_CHECK(memcmp(again, body, WIRE_LEASE_BYTES) == 0);
	}
	if (type < FRAME_FILL || type > FRAME_RELEASE ||
	    type == FRAME_PERMIT || length < WIRE_END_BYTES ||
	    !wire_end_decode(body, &end)) {
		return;
	}
	wire_end_encode(again, &end);
	FUZZ_CHECK(memcmp(again, body, WIRE_END_BYTES) == 0);
	if (type == FRAME_FILL && request_parse_set(body + WIRE_END_BYTES,
	    length - WIRE_END_BYTES, &set) == OK) {
		FUZZ_CHECK(set.value + set.head.value_length ==
		    body + length);
		FUZZ_CHECK(set.key >= body + WIRE_END_BYTES +
		    WIRE_SET_BYTES);
	}
}

static void
parse_body(uint8_t type, const uint8_t *body, size_t length)
{
	struct request_hello hello;
	struct request_set set;
	struct request_delete delete;
	struct request_touch touch;
	struct request_counter counter;
	struct request_purge purge;

	parse_lease(type, body, length);
	switch (type) {
	case FRAME_HELLO:
		if (request_parse_hello(body, length, &hello)) {
			FUZZ_CHECK((const uint8_t *)hello.name +
			    hello.name_length == body + length);
		}
		break;
	case FRAME_SET:
		if (request_parse_set(body, length, &set) == OK) {
			FUZZ_CHECK(set.value + set.head.value_length ==
			    body + length);
			FUZZ_CHECK(set.key >= body + WIRE_SET_BYTES);
		}
		break;
	case FRAME_DELETE:
		if (request_parse_delete(body, length, &delete)) {
			FUZZ_CHECK(delete.key + delete.key_length ==
			    body + length);
		}
		break;
	case FRAME_TOUCH:
		if (request_parse_touch(body, length, &touch)) {
			FUZZ_CHECK(touch.key + touch.key_length ==
			    body + length);
		}
		break;
	case FRAME_COUNTER:
		if (request_parse_counter(body, length, &counter)) {
			FUZZ_CHECK(counter.key + counter.key_length ==
			    body + length);
		}
		break;
	case FRAME_PURGE:
		(void)request_parse_purge(body, length, &purge);
		break;
	default:
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct frame frame;
	uint8_t again[FRAME_HEADER_BYTES];

	if (length < FRAME_HEADER_BYTES || !frame_decode(bytes, &frame)) {
		return 0;
	}
	frame_encode(again, &frame);
	for (size_t i = 0; i < sizeof(again); i++) {
		FUZZ_CHECK(again[i] == bytes[i]);
	}
	parse_body(frame.type, bytes + FRAME_HEADER_BYTES,
	    length - FRAME_HEADER_BYTES);
	return 0;
}
