/* SPDX-License-Identifier: ISC */

#include "prng.h"

#include <criterion/criterion.h>

Test(prng, a_seed_replays_and_another_does_not)
{
	struct prng a;
	struct prng b;
	struct prng c;

	prng_init(&a, 0);
	prng_init(&b, 0);
	prng_init(&c, 1);
	for (int i = 0; i < 100; i++) {
		uint64_t value = prng_next(&a);

		cr_assert_eq(value, prng_next(&b));
		cr_assert_neq(value, prng_next(&c));
	}
}

Test(prng, below_is_even_and_within_its_bound)
{
	unsigned seen[10] = { 0 };
	struct prng p;

	prng_init(&p, 42);
	for (int i = 0; i < 100000; i++) {
		uint32_t value = prng_below(&p, 10);

		cr_assert_lt(value, 10);
		seen[value]++;
	}
	for (int i = 0; i < 10; i++) {
		/* five standard deviations of 95 */
		cr_assert(seen[i] > 9525 && seen[i] < 10475, "%d: %u", i,
		    seen[i]);
	}
}

Test(prng, unit_stays_below_one)
{
	struct prng p;

	prng_init(&p, 9);
	for (int i = 0; i < 100000; i++) {
		double value = prng_unit(&p);

		cr_assert(value >= 0 && value < 1);
	}
}
