/* SPDX-License-Identifier: ISC */

#include "maintenance.h"

#include <criterion/criterion.h>

#include "daemon_fixture.h"
#include "memory_sum.h"
#include "write.h"

Test(maintenance, sweeps_what_expired_and_then_rests)
{
	struct heritage *heritage = fixture_create();
	const struct pool *pool = &heritage->pools[0];
	struct maintenance mine = { 0 }, other = { 0 };

	for (int i = 0; i < 100; i++) {
		struct key key;
		struct entry_spec spec = {
			.key = &key, .value = "v", .value_bytes = 1,
			.soft_ms = UINT64_MAX,
			.hard_ms = fixture_at(100).ms,
			.epoch = epoch_now(pool),
		};
		uint64_t version;

		cr_assert_eq(key_init(&key, pool, &i, sizeof(i)), OK);
		cr_assert_eq(write_set(pool, &spec, fixture_at(0), &version),
		    OK);
	}
	cr_assert_eq(memory_sum_entries(pool), 100);
	/* Two workers share the shards: both have their turn. */
	(void)maintenance_run(&mine, heritage, fixture_at(50));
	cr_assert_eq(memory_sum_entries(pool), 100);
	(void)maintenance_run(&mine, heritage, fixture_at(200));
	heritage->process = 1;
	(void)maintenance_run(&other, heritage, fixture_at(200));
	cr_assert_eq(memory_sum_entries(pool), 0);
	cr_assert_not(maintenance_run(&other, heritage, fixture_at(300)));
	fixture_destroy(heritage);
}

Test(maintenance, beats_between_shards)
{
	struct heritage *heritage = fixture_create();
	struct maintenance mine = { 0 };
	struct control_process *row = &heritage->control->processes[0];

	row->heartbeat_ms = 0;
	(void)maintenance_run(&mine, heritage, fixture_at(0));
	cr_assert_neq(row->heartbeat_ms, 0);
	fixture_destroy(heritage);
}
