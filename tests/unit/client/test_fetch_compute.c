/* SPDX-License-Identifier: ISC */

/*
 * When a fresh value is due, by fixed times and fixed numbers, and how long
 * what is stored lives.
 */
#include "fetch_compute.h"

#include "lane.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define NOW_MS		UINT64_C(1000000)
#define DRAWS		40000u

/* A hit whose fresh time ends so much after now. */
static struct fetch
a_hit(const struct weir_fetch_options *options, uint64_t left_ms,
    unsigned uses, uint16_t cost_ms)
{
	struct fetch fetch = { .options = options, .result = WEIR_OK };

	fetch.look.now.ms = NOW_MS;
	fetch.look.hit.head.created_ms = NOW_MS - 60000;
	fetch.look.hit.head.soft = entry_span(NOW_MS - 60000,
	    NOW_MS + left_ms);
	fetch.look.hit.head.hard = EXPIRY_NEVER;
	fetch.look.hit.head.cost_ms = cost_ms;
	fetch.look.hit.slot_word = (uint64_t)uses << SLOT_COUNT_SHIFT;
	return fetch;
}

static double
share_due(const struct fetch *fetch)
{
	static struct lane lane;
	unsigned due = 0;

	lane.random = 1;
	for (unsigned i = 0; i < DRAWS; i++) {
		due += fetch_is_due(fetch, &lane);
	}
	return (double)due / DRAWS;
}

Test(fetch_compute, a_short_ttl_is_not_jittered)
{
	cr_assert_eq(fetch_jittered_ms(9999, 10, UINT32_MAX), 9999);
	cr_assert_eq(fetch_jittered_ms(0, 10, UINT32_MAX), 0);
	cr_assert_eq(fetch_jittered_ms(10000, 10, UINT32_MAX), 9000);
}

Test(fetch_compute, jitter_shortens_by_up_to_the_percent_and_never_adds)
{
	uint64_t last = 100000;

	cr_assert_eq(fetch_jittered_ms(100000, 25, 0), 100000);
	cr_assert_eq(fetch_jittered_ms(100000, 25, UINT32_MAX), 75000);
	cr_assert_eq(fetch_jittered_ms(100000, 25, UINT32_MAX / 2 + 1),
	    87500);
	for (uint64_t r = 0; r <= UINT32_MAX; r += UINT32_MAX / 1000) {
		uint64_t ttl_ms = fetch_jittered_ms(100000, 25, (uint32_t)r);

		cr_assert_leq(ttl_ms, last);
		cr_assert_geq(ttl_ms, 75000);
		last = ttl_ms;
	}
	/* 0 is the default of 10, and 100 is none. */
	cr_assert_eq(fetch_jittered_ms(100000, 0, UINT32_MAX), 90000);
	cr_assert_eq(fetch_jittered_ms(100000, 100, UINT32_MAX), 100000);
	cr_assert_eq(fetch_jittered_ms(100000, 99, UINT32_MAX), 1000);
}

Test(fetch_compute, jitter_keeps_within_its_percent_for_years_too)
{
	static const uint64_t ttls[] = { UINT64_C(4) << 32,
	    UINT64_C(1) << 40, UINT64_C(1) << 50, UINT64_MAX };

	for (unsigned i = 0; i < sizeof(ttls) / sizeof(ttls[0]); i++) {
		uint64_t ttl_ms = ttls[i];

		for (unsigned part = 0; part <= 8; part++) {
			uint64_t got_ms = fetch_jittered_ms(ttl_ms, 10,
			    UINT32_MAX / 8 * part);

			cr_assert_leq(got_ms, ttl_ms);
			cr_assert_geq(got_ms, ttl_ms - ttl_ms / 10);
		}
	}
}

Test(fetch_compute, a_value_that_never_ends_is_never_due)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct fetch fetch;

	options.ttl_ms = 60000;
	options.early_percent = 1000;
	options.refresh_ahead_ms = UINT64_MAX;
	fetch = a_hit(&options, 0, 3, UINT16_MAX);
	fetch.look.hit.head.soft = EXPIRY_NEVER;
	cr_assert_float_eq(share_due(&fetch), 0, 0);
}

Test(fetch_compute, refresh_ahead_is_of_keys_in_use_and_of_their_last_time)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct fetch fetch;
	struct lane lane = { .random = 1 };

	options.refresh_ahead_ms = 5000;
	fetch = a_hit(&options, 4999, 2, 0);
	cr_assert(fetch_is_due(&fetch, &lane));
	fetch = a_hit(&options, 4999, 3, 0);
	cr_assert(fetch_is_due(&fetch, &lane));
	fetch = a_hit(&options, 4999, 1, 0);
	cr_assert_not(fetch_is_due(&fetch, &lane), "of a key seldom used");
	fetch = a_hit(&options, 5000, 3, 0);
	cr_assert_not(fetch_is_due(&fetch, &lane), "too early");
	/* By its head it ended a moment ago. */
	fetch = a_hit(&options, 0, 3, 0);
	fetch.look.now.ms += 50;
	cr_assert(fetch_is_due(&fetch, &lane));
}

/* P(-beta cost ln u >= left) is e^(-left / (beta cost)). */
Test(fetch_compute, xfetch_draws_as_in_the_paper)
{
	static const struct {
		unsigned	percent;
		uint16_t	cost_ms;
		uint64_t	left_ms;
	} rows[] = {
		{ 100, 500, 500 }, { 100, 500, 50 }, { 100, 500, 1500 },
		{ 200, 500, 500 }, { 50, 500, 500 }, { 100, 2000, 500 },
	};
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.ttl_ms = 60000;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fetch fetch = a_hit(&options, rows[i].left_ms, 0,
		    rows[i].cost_ms);
		double wanted = exp(-100.0 * (double)rows[i].left_ms /
		    rows[i].percent / rows[i].cost_ms);
		double got;

		options.early_percent = rows[i].percent;
		got = share_due(&fetch);
		cr_assert_float_eq(got, wanted, 0.01, "row %u: %f, not %f", i,
		    got, wanted);
	}
}

Test(fetch_compute, xfetch_is_off_without_percent_cost_or_a_long_ttl)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct fetch fetch = a_hit(&options, 1, 0, 500);

	options.ttl_ms = 60000;
	cr_assert_float_eq(share_due(&fetch), 0, 0);
	options.early_percent = 100;
	cr_assert_float_eq(share_due(&fetch), 1, 0.01);
	options.ttl_ms = 9999;
	cr_assert_float_eq(share_due(&fetch), 0, 0);
	options.ttl_ms = 10000;
	cr_assert_float_eq(share_due(&fetch), 1, 0.01);
	fetch = a_hit(&options, 1, 0, 0);
	cr_assert_float_eq(share_due(&fetch), 0, 0);
}

Test(fetch_compute, far_from_the_end_no_number_is_drawn)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct fetch fetch = a_hit(&options, 37001, 0, 1000);
	struct lane lane = { .random = 1 };

	options.ttl_ms = 60000;
	options.early_percent = 100;
	cr_assert_not(fetch_is_due(&fetch, &lane));
	cr_assert_eq(lane.random, 1);
	fetch = a_hit(&options, 36000, 0, 1000);
	cr_assert_not(fetch_is_due(&fetch, &lane));
	cr_assert_neq(lane.random, 1);
}
