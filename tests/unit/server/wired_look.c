/* SPDX-License-Identifier: ISC */

/*
 * What the two workers have in common, seen from outside.
 */
#include "wired_fixture.h"

#include <criterion/criterion.h>

struct wired_flights
wired_flights(void)
{
	const struct pool *pool = &wired_worker(0)->heritage->pools[0];
	struct wired_flights sum = { 0 };

	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		struct flight_table table = pool_flights(pool, s);

		sum.used += table.state->used;
		for (uint32_t i = 1; i <= table.capacity; i++) {
			const struct flight *flight = &table.flights[i];

			sum.waiters += flight->state != FLIGHT_FREE ?
			    flight->waiters : 0;
			sum.leading += flight->state == FLIGHT_LEADING;
		}
		cr_assert_eq(flight_verify(&table), 0);
	}
	return sum;
}

struct origin_view
wired_origin(void)
{
	struct origin *origin = &wired_worker(0)->origins[0];
	struct origin_view view;

	cr_assert_eq(origin_verify(origin, clock_boot_now()), 0);
	cr_assert_eq(origin_look(origin, clock_boot_now(), &view), OK);
	return view;
}
