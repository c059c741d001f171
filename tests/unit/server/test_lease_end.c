/* SPDX-License-Identifier: ISC */

#include "lease_end.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read.h"
#include "wired_fixture.h"

#define LONG_BYTES	100000u

static const struct wire_end success = { .outcome = BREAKER_SUCCESS };
static int leader, waiter;
static struct wired_answer led;

static void
open_workers(void)
{
	struct origin_config config;

	origin_config_init(&config);
	wired_create(&config);
	leader = wired_connect(0, NULL);
	waiter = wired_connect(1, NULL);
	wired_ask(leader, &(struct wired_ask){ .id = 1, .key = "k",
	    .origin = "db" });
	wired_expect(leader, LEAD, &led);
	wired_ask(waiter, &(struct wired_ask){ .id = 2, .key = "k" });
	wired_expect_silence(waiter);
}

static void
close_workers(void)
{
	wired_destroy();
}

/* All clients end: nothing of theirs is left. */
static void
leave_nothing(void)
{
	wired_hang_up(leader);
	wired_hang_up(waiter);
	cr_assert_eq(wired_flights().used, 0, "a flight was left behind");
	cr_assert_eq(wired_origin().in_flight, 0, "a permit was left");
}

TestSuite(lease_end, .init = open_workers, .fini = close_workers);

/* FILL of "k" with a value of so many bytes; the caller frees. */
static uint8_t *
make_fill(uint64_t value_bytes, size_t *length)
{
	const struct wire_set set = {
		.key_length = 1, .value_length = value_bytes,
	};
	struct wire_end end = success;
	uint8_t *body;

	*length = WIRE_END_BYTES + WIRE_SET_BYTES + 1 + (size_t)value_bytes;
	body = calloc(1, *length);
	cr_assert_not_null(body);
	end.permit = led.lease.permit;
	end.token = led.lease.token;
	wire_end_encode(body, &end);
	wire_set_encode(body + WIRE_END_BYTES, &set);
	body[WIRE_END_BYTES + WIRE_SET_BYTES] = 'k';
	for (uint64_t i = 0; i < value_bytes; i++) {
		body[WIRE_END_BYTES + WIRE_SET_BYTES + 1 + i] =
		    (uint8_t)(i * 31 + i / 251);
	}
	return body;
}

Test(lease_end, stores_a_long_fill_as_it_comes)
{
	static uint8_t copy[LONG_BYTES];
	const struct pool *pool = &wired_worker(0)->heritage->pools[0];
	struct wired_answer answer;
	struct read_hit hit;
	struct key key;
	size_t length;
	uint8_t *body = make_fill(LONG_BYTES, &length);

	wired_send(leader, FRAME_FILL, 3, body, length);
	wired_expect(leader, OK, &answer);
	wired_expect(waiter, OK, &answer);
	cr_assert_eq(wired_origin().successes, 1);
	cr_assert_eq(key_init(&key, pool, "k", 1), OK);
	cr_assert_eq(read_copy(pool, &key, clock_boot_now(), copy,
	    sizeof(copy), &hit), OK);
	cr_assert_eq(hit.value_bytes, LONG_BYTES);
	cr_assert_eq(memcmp(copy, body + WIRE_END_BYTES + WIRE_SET_BYTES + 1,
	    LONG_BYTES), 0);
	free(body);
	leave_nothing();
}

Test(lease_end, hands_over_when_a_long_fill_breaks_off)
{
	struct frame frame = { .type = FRAME_FILL, .id = 3 };
	uint8_t header[FRAME_HEADER_BYTES];
	struct wired_answer answer;
	size_t length;
	uint8_t *body = make_fill(LONG_BYTES, &length);

	frame.length = length;
	frame_encode(header, &frame);
	cr_assert_eq(write(leader, header, sizeof(header)), sizeof(header));
	cr_assert_eq(write(leader, body, 80000), 80000);
	wired_expect_silence(waiter);
	cr_assert_eq(wired_origin().in_flight, 0, "released first");
	wired_hang_up(leader);
	wired_expect(waiter, LEAD, &answer);
	leader = wired_connect(0, NULL);
	free(body);
	leave_nothing();
}

Test(lease_end, lets_all_compute_what_is_too_large)
{
	const struct pool *pool = &wired_worker(0)->heritage->pools[0];
	struct wired_answer answer;
	size_t length;
	uint8_t *body = make_fill(geometry_value_max_bytes(&pool->g) + 1,
	    &length);

	wired_send(leader, FRAME_FILL, 3, body, length);
	wired_expect(leader, TOO_LARGE, &answer);
	wired_expect(waiter, ALONE, &answer);
	wired_ask(waiter, &(struct wired_ask){ .id = 4, .key = "k" });
	wired_expect(waiter, ALONE, &answer);
	free(body);
	leave_nothing();
}

Test(lease_end, keeps_a_fill_that_was_overtaken_from_all)
{
	static const struct wire_set set = {
		.key_length = 1, .value_length = 5,
	};
	uint8_t body[WIRE_SET_BYTES + 6];
	struct wired_answer answer;

	wire_set_encode(body, &set);
	memcpy(body + WIRE_SET_BYTES, "knewer", 6);
	wired_send(waiter, FRAME_SET, 3, body, sizeof(body));
	wired_expect(waiter, OK, &answer);
	wired_end(leader, FRAME_FILL, "k", &led, &success);
	wired_expect(leader, CHANGED, &answer);
	wired_expect(waiter, OK, &answer);
	cr_assert_eq(answer.frame.id, 2);
	leave_nothing();
}

Test(lease_end, is_its_holders_alone)
{
	struct wired_answer answer;

	wired_end(waiter, FRAME_FILL, "k", &led, &success);
	wired_expect(waiter, LEASE_LOST, &answer);
	wired_end(waiter, FRAME_FAIL, "k", &led, &success);
	wired_expect(waiter, LEASE_LOST, &answer);
	wired_end(waiter, FRAME_UNCACHEABLE, "k", &led, &success);
	wired_expect(waiter, LEASE_LOST, &answer);
	cr_assert_eq(wired_flights().leading, 1);
	cr_assert_eq(wired_origin().in_flight, 1);
	wired_end(leader, FRAME_FILL, "k", &led, &success);
	wired_expect(leader, OK, &answer);
	wired_expect(waiter, OK, &answer);
	wired_end(leader, FRAME_FILL, "k", &led, &success);
	wired_expect(leader, LEASE_LOST, &answer);
	leave_nothing();
}

Test(lease_end, without_a_token_gives_the_permit_alone)
{
	struct wired_answer given = led, answer;

	given.lease.token = 0;
	wired_end(leader, FRAME_FAIL, "k", &given, &(struct wire_end){
	    .outcome = BREAKER_FAILURE });
	wired_expect(leader, OK, &answer);
	cr_assert_eq(wired_origin().failures, 1);
	cr_assert_eq(wired_flights().leading, 1);
	wired_end(leader, FRAME_FILL, "k", &led, &success);
	wired_expect(leader, OK, &answer);
	leave_nothing();
}

Test(lease_end, refuses_frames_that_make_no_sense)
{
	static const enum frame_type types[] = {
		FRAME_FILL, FRAME_FAIL, FRAME_UNCACHEABLE, FRAME_RELEASE,
	};
	struct wired_answer answer;
	uint8_t body[WIRE_END_BYTES + 8] = { 0 };

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		for (size_t cut = 0; cut < WIRE_END_BYTES; cut++) {
			wired_send(leader, types[t], 3, body, cut);
			wired_expect(leader, INVALID, &answer);
		}
	}
	wired_send(leader, FRAME_RELEASE, 3, body, WIRE_END_BYTES);
	wired_expect(leader, INVALID, &answer);
	wired_send(leader, FRAME_FILL, 3, body, WIRE_END_BYTES);
	wired_expect(leader, INVALID, &answer);
	wire_put_u32(body + 28, 77);
	wired_send(leader, FRAME_FAIL, 3, body, WIRE_END_BYTES + 1);
	wired_expect(leader, INVALID, &answer);
	cr_assert_eq(wired_flights().leading, 1);
	cr_assert_eq(wired_origin().in_flight, 1);
	leave_nothing();
}

Test(lease_end, hands_over_what_a_fill_without_sense_was_for)
{
	struct wired_answer answer;
	size_t length;
	uint8_t *body = make_fill(10, &length);

	wired_send(leader, FRAME_FILL, 3, body, length - 1);
	wired_expect(leader, INVALID, &answer);
	wired_expect(waiter, LEAD, &answer);
	free(body);
	leave_nothing();
}

Test(lease_end, hands_over_what_ends_under_another_key)
{
	struct wired_answer answer;

	wired_end(leader, FRAME_FAIL, "x", &led, &success);
	wired_expect(leader, LEASE_LOST, &answer);
	wired_expect(waiter, LEAD, &answer);
	leave_nothing();
}

Test(lease_end, of_a_permit_alone_keeps_the_lease_in_mind)
{
	struct wired_answer answer;

	wired_end(leader, FRAME_RELEASE, NULL, &led, &success);
	wired_expect(leader, OK, &answer);
	wired_expect_silence(waiter);
	wired_hang_up(leader);
	wired_expect(waiter, LEAD, &answer);
	leader = wired_connect(0, NULL);
	leave_nothing();
}
