/* SPDX-License-Identifier: ISC */

/*
 * Keys that are not asked about before a time.
 */
#include "ask_later.h"

#include "lane.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(ask_later, a_note_is_of_its_key_alone_and_the_last_one_counts)
{
	static struct lane lane;

	cr_assert_eq(ask_later_until(&lane, "k", 1), 0);
	ask_later_note(&lane, "k", 1, 500);
	cr_assert_eq(ask_later_until(&lane, "k", 1), 500);
	cr_assert_eq(ask_later_until(&lane, "l", 1), 0);
	ask_later_note(&lane, "k", 1, 400);
	cr_assert_eq(ask_later_until(&lane, "k", 1), 400);
}

/* More keys than rows: what is lost costs a request, and is never another's. */
Test(ask_later, an_overwritten_note_is_gone_and_never_another_keys)
{
	static struct lane lane;
	unsigned kept = 0;
	char key[16];

	for (uint64_t i = 1; i <= 10 * LANE_LATER_ROWS; i++) {
		int length = snprintf(key, sizeof(key), "key %u",
		    (unsigned)i);

		ask_later_note(&lane, key, (size_t)length, i);
		cr_assert_eq(ask_later_until(&lane, key, (size_t)length), i);
	}
	for (uint64_t i = 1; i <= 10 * LANE_LATER_ROWS; i++) {
		int length = snprintf(key, sizeof(key), "key %u",
		    (unsigned)i);
		uint64_t until = ask_later_until(&lane, key, (size_t)length);

		cr_assert(until == 0 || until == i);
		kept += until == i;
	}
	cr_assert_leq(kept, LANE_LATER_ROWS);
	cr_assert_gt(kept, LANE_LATER_ROWS / 2);
}
