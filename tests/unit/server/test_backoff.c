/* SPDX-License-Identifier: ISC */

#include "backoff.h"

#include <criterion/criterion.h>

Test(backoff, doubles_up_to_its_maximum)
{
	static const uint32_t waits[] = {
		100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000,
	};
	struct backoff backoff = { 0 };

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		cr_assert_eq(backoff_next_ms(&backoff, 5, 0), waits[i],
		    "death %zu", i);
	}
}

Test(backoff, a_long_life_begins_anew)
{
	struct backoff backoff = { 0 };

	for (int i = 0; i < 20; i++) {
		(void)backoff_next_ms(&backoff, BACKOFF_RESET_MS - 1, 0);
	}
	cr_assert_eq(backoff_next_ms(&backoff, BACKOFF_RESET_MS, 0),
	    BACKOFF_FIRST_MS);
	cr_assert_eq(backoff_next_ms(&backoff, 0, 0), 2 * BACKOFF_FIRST_MS);
}

Test(backoff, chance_takes_less_than_a_quarter)
{
	for (uint32_t random = 0; random < 1000; random++) {
		struct backoff backoff = { 0 };
		uint32_t wait_ms = backoff_next_ms(&backoff, 0, random);

		cr_assert_gt(wait_ms, BACKOFF_FIRST_MS * 3 / 4);
		cr_assert_leq(wait_ms, BACKOFF_FIRST_MS);
	}
}
