/* SPDX-License-Identifier: ISC */

#include "holds.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define NOW_MS	1000u

static struct wire_lease_answer
answer_of(uint64_t token, uint32_t number)
{
	return (struct wire_lease_answer){
		.permit = { 3, number, number != 0 ? 1000 + number : 0 },
		.token = token,
		.left_ms = 500,
	};
}

static struct wire_hold
hold_of(uint64_t token, uint32_t number)
{
	struct wire_lease_answer answer = answer_of(token, number);

	return (struct wire_hold){ answer.permit, answer.token };
}

static void
note(struct holds *holds, uint64_t token, uint32_t number)
{
	struct wire_lease_answer answer = answer_of(token, number);

	holds_note(holds, &answer, NOW_MS);
}

static bool
encodes(const struct holds *holds, uint64_t token, uint32_t number)
{
	struct wire_hold wanted = hold_of(token, number), got;
	bool found = false;
	uint8_t *bytes;
	size_t length;

	cr_assert_eq(holds_encode(holds, &bytes, &length), OK);
	cr_assert_eq(length, holds->count * WIRE_HOLD_BYTES);
	for (size_t at = 0; at < length; at += WIRE_HOLD_BYTES) {
		wire_hold_decode(bytes + at, &got);
		found = found || (got.token == wanted.token &&
		    got.permit.number == wanted.permit.number &&
		    got.permit.token == wanted.permit.token &&
		    got.permit.origin == 3);
	}
	free(bytes);
	return found;
}

Test(holds, are_what_was_given_and_not_ended)
{
	struct holds holds = { 0 };
	struct wire_hold ended = hold_of(8, 0);

	cr_assert_not(holds_matter(&holds));
	note(&holds, 0, 0);
	cr_assert_not(holds_matter(&holds), "it gave nothing");
	note(&holds, 7, 1);
	note(&holds, 8, 0);
	note(&holds, 0, 2);
	cr_assert(holds_matter(&holds));
	cr_assert_eq(holds.count, 3);
	holds_ended(&holds, &ended);
	holds_ended(&holds, &ended);
	cr_assert_eq(holds.count, 2);
	cr_assert(encodes(&holds, 7, 1));
	cr_assert(encodes(&holds, 0, 2));
	cr_assert_not(encodes(&holds, 8, 0));
	holds_clear(&holds);
	cr_assert_not(holds_matter(&holds));
	holds_free(&holds);
}

Test(holds, stay_while_another_request_ends_them)
{
	struct holds holds = { 0 };
	struct wire_hold given = hold_of(7, 1);

	note(&holds, 7, 1);
	holds_ending(&holds, &given, 5);
	/* Sent again as 6, before it was known that 5 is not answered. */
	holds_ending(&holds, &given, 6);
	holds_not_ended(&holds, &given, 5);
	cr_assert_eq(holds.count, 1);
	holds_not_ended(&holds, &given, 6);
	cr_assert_eq(holds.count, 0);
	holds_free(&holds);
}

Test(holds, that_nobody_ends_give_way_to_others)
{
	struct holds holds = { 0 };
	struct wire_lease_answer answer = answer_of(1, 0);
	uint8_t *bytes;
	size_t length;

	for (uint64_t i = 0; i < WIRE_HOLDS_MAX; i++) {
		note(&holds, 100 + i, 0);
	}
	cr_assert_eq(holds.count, WIRE_HOLDS_MAX);
	cr_assert(encodes(&holds, 100, 0));
	note(&holds, 7, 0);
	cr_assert(holds.unsure, "all of it in its time");
	cr_assert_eq(holds_encode(&holds, &bytes, &length), MISS);
	holds_clear(&holds);
	for (uint64_t i = 0; i < WIRE_HOLDS_MAX; i++) {
		note(&holds, 100 + i, 0);
	}
	holds_note(&holds, &answer, NOW_MS + 500);
	cr_assert_not(holds.unsure);
	cr_assert_eq(holds.count, 1, "the late ones are gone");
	cr_assert(encodes(&holds, 1, 0));
	holds_free(&holds);
}

Test(holds, that_were_given_up_are_for_the_next_claim_to_end)
{
	struct holds holds = { 0 };
	struct wire_hold called = hold_of(8, 0), started = hold_of(9, 0);

	note(&holds, 8, 0);
	note(&holds, 9, 0);
	holds_given_up(&holds, &called);
	cr_assert(holds.lost);
	cr_assert_eq(holds.count, 1);
	holds.lost = false;
	holds_ending(&holds, &started, 5);
	holds_not_ended(&holds, &started, 4);
	cr_assert(!holds.lost);
	holds_not_ended(&holds, &started, 5);
	cr_assert(holds.lost && holds_matter(&holds));
	cr_assert_eq(holds.count, 0);
	/* What was never noted needs no claim. */
	holds.lost = false;
	holds_given_up(&holds, &called);
	cr_assert(!holds_matter(&holds));
	holds_free(&holds);
}
