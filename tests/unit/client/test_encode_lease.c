/* SPDX-License-Identifier: ISC */

/*
 * Frames of leases and permits, and records of the ring, as the frozen bytes
 * of tests/vectors; and the decoders of both sides on them.
 */
#include "encode.h"

#include "handle.h"
#include "lane.h"
#include "ring_out.h"
#include "vectors.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define RING_CAPACITY	4096u

static const struct wire_end given = {
	.permit = { 3, 9, UINT64_C(0x123456789abcdef0) },
	.token = UINT64_C(0x0123456789abcdef),
};

Test(encode_lease, claim_and_abandon_are_the_frozen_bytes)
{
	struct request request = {
		.type = FRAME_CLAIM,
		.number = { UINT64_C(4294967299),
		    UINT64_C(0x0123456789abcdef) },
	};
	const struct wire_hold held[2] = {
		{ given.permit, given.token },
		{ { 0, WIRE_PERMIT_UPLOAD | 1, 7 }, 0 },
	};
	uint8_t bytes[2 * WIRE_HOLD_BYTES];

	vector_expect_request("claim", &request, 13, 0);
	for (int i = 0; i < 2; i++) {
		wire_hold_encode(bytes + i * WIRE_HOLD_BYTES, &held[i]);
	}
	request.value = bytes;
	request.value_length = sizeof(bytes);
	vector_expect_request("claim_listed", &request, 13, 0);
	vector_expect_answer("claim_answer", FRAME_CLAIM, 13, OK, "", 0);
	vector_expect_answer("claim_refused", FRAME_CLAIM, 13, MISS,
	    "no such holder", 14);
	request = (struct request){
		.type = FRAME_ABANDON, .number = { 14 },
	};
	vector_expect_request("abandon", &request, 21, 0);
	vector_expect_answer("abandon_answer", FRAME_ABANDON, 21, OK, "", 0);
}

Test(encode_lease, leases_and_permits_are_the_frozen_bytes)
{
	struct request request = {
		.type = FRAME_LEASE,
		.key = "a key",
		.key_length = 5,
		.name = "database",
		.lease = {
			.flags = WIRE_NO_WAIT | WIRE_BACKGROUND | WIRE_UPLOAD,
			.thread = 2,
			.lease_ms = 30000,
			.wait_ms = 40000,
			.seen_version = UINT64_C(72057594037927941),
			.partition = UINT64_C(0x1111111111111111),
			.host = UINT64_C(0xfedcba9876543210),
			.hits = 9,
		},
	};

	vector_expect_request("lease", &request, 14, 128);
	request = (struct request){
		.type = FRAME_LEASE, .key = "k", .key_length = 1, .name = "",
		.lease = { .lease_ms = 1, .wait_ms = 2 },
	};
	vector_expect_request("lease_no_origin", &request, 15, 0);
	request = (struct request){
		.type = FRAME_PERMIT, .name = "db",
		.lease = {
			.flags = WIRE_NO_WAIT,
			.partition = UINT64_C(0x1111111111111111),
		},
	};
	vector_expect_request("permit", &request, 19, 0);
}

Test(encode_lease, ends_are_the_frozen_bytes)
{
	struct request request = {
		.type = FRAME_FAIL, .key = "a key", .key_length = 5,
		.end = given,
	};

	request.end.code = -12;
	request.end.outcome = WEIR_FAILURE;
	request.end.note_ms = 100;
	request.end.cost_ms = 250;
	vector_expect_request("fail", &request, 17, 0);
	request.type = FRAME_UNCACHEABLE;
	request.end = (struct wire_end){
		.permit = given.permit, .note_ms = 60000,
		.cost_ms = UINT32_MAX,
	};
	vector_expect_request("uncacheable", &request, 18, 0);
	request = (struct request){
		.type = FRAME_RELEASE,
		.end = { .permit = given.permit, .outcome = WEIR_NEUTRAL },
	};
	vector_expect_request("release", &request, 20, 0);
}

/* Tags are hashed with the pool's key, so its bytes are put in by hand. */
Test(encode_lease, a_fill_is_the_frozen_bytes)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	struct wire_end end = given;
	struct request request;
	uint8_t made[VECTOR_BYTES_MAX];
	struct frame frame = { .type = FRAME_FILL, .id = 16, .length = 109 };

	options.ttl_ms = 60000;
	options.soft_ttl_ms = 30000;
	options.negative = 1;
	cr_assert_eq(request_make_set(&request, "a key", 5, NULL, 0,
	    &options), OK);
	request.set.tag_count = 1;
	request.set.key_length = 5;
	end.cost_ms = 250;
	frame_encode(made, &frame);
	wire_end_encode(made + 40, &end);
	wire_set_encode(made + 88, &request.set);
	wire_put_u64(made + 136, UINT64_C(0x1111111111111111));
	memcpy(made + 144, "a key", 5);
	vector_expect("fill", made, 149);
}

Test(encode_lease, answers_are_the_frozen_bytes)
{
	struct wire_lease_answer answer = {
		.permit = { 3, 9 | WIRE_PERMIT_UPLOAD,
		    UINT64_C(0x123456789abcdef0) },
		.token = UINT64_C(0x0123456789abcdef),
		.left_ms = 30000,
		.mode = 1,
	};
	uint8_t body[WIRE_LEASE_ANSWER_BYTES];

	wire_lease_answer_encode(body, &answer);
	vector_expect_answer("lease_answer", FRAME_LEASE, 14, LEAD, body,
	    sizeof(body));
	answer = (struct wire_lease_answer){
		.retry_after_ms = 1500, .code = -7, .reason = 1,
	};
	wire_lease_answer_encode(body, &answer);
	vector_expect_answer("lease_shed", FRAME_LEASE, 14, SHED, body,
	    sizeof(body));
	answer = (struct wire_lease_answer){
		.permit = given.permit, .left_ms = 5000,
	};
	wire_lease_answer_encode(body, &answer);
	vector_expect_answer("permit_answer", FRAME_PERMIT, 19, OK, body,
	    sizeof(body));
	vector_expect_answer("lease_busy", FRAME_LEASE, 15, BUSY,
	    "too many wait", 13);
	vector_expect_answer("fill_lost", FRAME_FILL, 16, LEASE_LOST,
	    "another leads", 13);
	wire_put_u64(body, UINT64_C(72057594037927941));
	vector_expect_answer("fill_answer", FRAME_FILL, 16, OK, body, 8);
	vector_expect_answer("fail_answer", FRAME_FAIL, 17, OK, "", 0);
	vector_expect_answer("release_lost", FRAME_RELEASE, 20, LEASE_LOST,
	    "", 0);
}

Test(encode_lease, decoders_give_back_what_was_frozen)
{
	uint8_t bytes[VECTOR_BYTES_MAX], again[VECTOR_BYTES_MAX];
	struct wire_lease_answer answer;
	struct wire_lease lease;
	struct wire_end end;

	cr_assert_eq(vector_read("lease", bytes), 40 + 56 + 8 + 5);
	cr_assert(wire_lease_decode(bytes + 40, &lease));
	cr_assert_eq(lease.name_length, 8);
	cr_assert_eq(lease.key_length, 5);
	wire_lease_encode(again, &lease);
	cr_assert_arr_eq(again, bytes + 40, WIRE_LEASE_BYTES);
	cr_assert_eq(vector_read("fail", bytes), 40 + 48 + 5);
	cr_assert(wire_end_decode(bytes + 40, &end));
	cr_assert_eq(end.code, -12);
	wire_end_encode(again, &end);
	cr_assert_arr_eq(again, bytes + 40, WIRE_END_BYTES);
	cr_assert_eq(vector_read("lease_shed", bytes), 40 + 56);
	wire_lease_answer_decode(bytes + 40, &answer);
	cr_assert_eq(answer.code, -7);
	cr_assert_eq(answer.retry_after_ms, 1500);
}

Test(encode_lease, what_is_reserved_or_unknown_is_refused)
{
	uint8_t bytes[VECTOR_BYTES_MAX];
	struct wire_lease lease;
	struct wire_end end;

	for (unsigned i = 0; i < 8; i++) {
		/* u32 0 after the hits, u32 0 at the end. */
		(void)vector_read("lease", bytes);
		bytes[40 + (i < 4 ? 44 + i : 48 + i)] = 1;
		cr_assert_not(wire_lease_decode(bytes + 40, &lease));
		(void)vector_read("fail", bytes);
		bytes[40 + 40 + i] = 1;
		cr_assert_not(wire_end_decode(bytes + 40, &end));
	}
	(void)vector_read("lease", bytes);
	bytes[43] = 0x80;
	cr_assert_not(wire_lease_decode(bytes + 40, &lease));
	(void)vector_read("fail", bytes);
	bytes[40 + 28] = 3;
	cr_assert_not(wire_end_decode(bytes + 40, &end));
}

/* A handle with a ring and nothing else. */
struct quiet {
	struct weir	weir;
	struct lane	lane;
	void		*map;
};

static void
quiet_begin(struct quiet *quiet)
{
	size_t bytes = ring_bytes(RING_CAPACITY);

	memset(quiet, 0, sizeof(*quiet));
	quiet->map = aligned_alloc(RING_LINE_BYTES, bytes);
	cr_assert_not_null(quiet->map);
	memset(quiet->map, 0, bytes);
	cr_assert_eq(ring_init(quiet->map, RING_CAPACITY), OK);
	cr_assert_eq(ring_producer_attach(&quiet->weir.ring.producer,
	    quiet->map, bytes), OK);
	quiet->weir.ring.state = RING_READY;
	pthread_mutex_init(&quiet->weir.ring_lock, NULL);
	atomic_store(&quiet->weir.lanes, &quiet->lane);
}

/* The first record of the ring, and the ring is gone. */
static void
quiet_expect(struct quiet *quiet, const char *name)
{
	const struct ring_shared *shared = quiet->map;

	vector_expect(name, shared->data,
	    (size_t)ring_tail(&quiet->weir.ring.producer));
	free(quiet->map);
}

static const struct read_hit first_hit = {
	.head = { .hash = UINT64_C(0xfedcba9876543210) },
	.extent = 7, .offset = 4096,
};

Test(encode_lease, records_of_the_ring_are_the_frozen_bytes)
{
	static struct quiet quiet;
	struct read_hit second = {
		.head = { .hash = UINT64_C(0x1111111111111111) },
		.extent = 8, .offset = 64,
	};

	quiet_begin(&quiet);
	ring_out_slide(&quiet.weir, &quiet.lane, &first_hit, 65000, 60000);
	quiet_expect(&quiet, "record_slide");
	quiet_begin(&quiet);
	ring_out_hint(&quiet.weir, &quiet.lane, &first_hit);
	ring_out_hint(&quiet.weir, &quiet.lane, &second);
	ring_out_last(&quiet.weir, &quiet.lane);
	quiet_expect(&quiet, "record_hint");
	quiet_begin(&quiet);
	quiet.weir.hints = true;
	stats_add(&quiet.lane.stats, STAT_get_hits, 100);
	stats_add(&quiet.lane.stats, STAT_get_misses, 2);
	stats_add(&quiet.lane.stats, STAT_get_stale, 1);
	ring_out_last(&quiet.weir, &quiet.lane);
	quiet_expect(&quiet, "record_counts");
}
