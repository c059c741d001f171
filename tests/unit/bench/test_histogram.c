/* SPDX-License-Identifier: ISC */

#include "histogram.h"

#include <criterion/criterion.h>

#include "prng.h"

/* At most 6% wide is what the benches promise. */
#define MAX_WIDTH	0.06

static struct histogram h;

Test(histogram, is_exact_below_32)
{
	histogram_init(&h);
	for (uint64_t value = 0; value < 32; value++) {
		histogram_record(&h, value);
	}
	cr_assert_eq(histogram_quantile(&h, 0), 0);
	cr_assert_eq(histogram_quantile(&h, 0.5), 15);
	cr_assert_eq(histogram_quantile(&h, 1), 31);
	cr_assert_float_eq(histogram_mean(&h), 15.5, 1e-9);
}

Test(histogram, rounds_up_by_less_than_six_percent)
{
	struct prng prng;

	prng_init(&prng, 7);
	for (int i = 0; i < 100000; i++) {
		uint64_t value = prng_next(&prng) >> prng_below(&prng, 60);
		uint64_t seen;

		histogram_init(&h);
		histogram_record(&h, value);
		h.max = UINT64_MAX;	/* the bucket's end, not the maximum */
		seen = histogram_quantile(&h, 0.5);
		cr_assert_geq(seen, value);
		cr_assert_leq((double)(seen - value),
		    MAX_WIDTH * (double)value, "%llu seen as %llu",
		    (unsigned long long)value, (unsigned long long)seen);
	}
}

Test(histogram, takes_the_largest_value)
{
	histogram_init(&h);
	histogram_record(&h, UINT64_MAX);
	histogram_record(&h, UINT64_MAX - 1);
	cr_assert_eq(histogram_quantile(&h, 0.99), UINT64_MAX);
	cr_assert_eq(h.min, UINT64_MAX - 1);
}

Test(histogram, quantiles_of_a_ramp_are_where_they_belong)
{
	histogram_init(&h);
	for (uint64_t value = 1; value <= 100000; value++) {
		histogram_record(&h, value);
	}
	cr_assert_float_eq((double)histogram_quantile(&h, 0.5), 50000, 3000);
	cr_assert_float_eq((double)histogram_quantile(&h, 0.99), 99000, 3200);
	cr_assert_eq(histogram_quantile(&h, 1), 100000);
}

Test(histogram, merge_is_the_same_as_recording_into_one)
{
	static struct histogram parts[2];
	struct prng prng;

	prng_init(&prng, 3);
	histogram_init(&h);
	histogram_init(&parts[0]);
	histogram_init(&parts[1]);
	for (int i = 0; i < 1000; i++) {
		uint64_t value = prng_below(&prng, 1000000);

		histogram_record(&h, value);
		histogram_record(&parts[i % 2], value);
	}
	histogram_merge(&parts[0], &parts[1]);
	cr_assert_eq(parts[0].count, h.count);
	cr_assert_eq(parts[0].min, h.min);
	cr_assert_eq(parts[0].max, h.max);
	cr_assert_arr_eq(parts[0].bucket, h.bucket, sizeof(h.bucket));
}

Test(histogram, an_empty_one_answers_zero)
{
	histogram_init(&h);
	cr_assert_eq(histogram_quantile(&h, 0.5), 0);
	cr_assert_eq(histogram_mean(&h), 0);
}
