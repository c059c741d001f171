/* SPDX-License-Identifier: ISC */

#include "lease.h"

#include "chain_write.h"
#include "epoch.h"
#include "lease_fixture.h"

#include <criterion/criterion.h>

#include <string.h>

static const char *
value_of(const struct key *key)
{
	return test_pool_get(&lease_pool, key, lease_now);
}

Test(lease, a_fill_is_there_before_its_waiters_look)
{
	struct flight_ending ending;
	struct lease led, waiting;
	struct lease_told told;
	struct read_hit hit;
	struct key key;

	lease_fixture_begin(test_pool_four_shards());
	key = test_pool_key(&lease_pool, "k");
	led = lease_lead(&key, 9, 0);
	for (unsigned i = 0; i < 50; i++) {
		cr_assert_eq(ask_lease(&key, 10 + i, i % 3, 0, &waiting),
		    FLIGHT_WAIT);
	}
	cr_expect_eq(lease_look(10, 0, 17, &waiting, &ending), FLIGHT_WAIT);
	cr_expect_eq(lease_fill(&key, 9, &led, "v"), OK);
	told = lease_fixture_told();
	cr_expect_eq(told.workers, 7);
	cr_expect_eq(told.calls, 1);
	cr_expect_eq(told.flight, led.ticket.index);
	cr_expect_eq(told.shard, pool_shard_of(&lease_pool, key.hash));
	cr_expect_str_eq(value_of(&key), "v");
	for (uint32_t worker = 0; worker < 3; worker++) {
		struct lease mine = waiting;

		cr_expect_eq(lease_look(10, worker, worker == 2 ? 16 : 17,
		    &mine, &ending), FLIGHT_ENDED_NOW);
		cr_expect_eq(ending.outcome, FLIGHT_FILLED);
	}
	cr_assert_eq(read_peek(&lease_pool, &key, lease_now, &hit), OK);
	cr_expect_eq(hit.head.cost_ms, 321);
	cr_expect_eq(ask_lease(&key, 10, 0, 0, &waiting), FLIGHT_FOUND,
	    "who missed just before");
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_led), 1);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_joined), 50);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_found), 1);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_filled), 1);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_touched), 0);
	EXPECT_SOUND(&lease_pool);
}

Test(lease, a_version_that_was_seen_is_refreshed_and_another_is_found)
{
	struct lease lease;
	struct key key;
	uint64_t version;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	version = lease_set(&key, "old");
	cr_expect_eq(ask_lease(&key, 9, 0, 0, &lease), FLIGHT_FOUND);
	cr_expect_eq(ask_lease(&key, 9, 0, version + 1, &lease),
	    FLIGHT_FOUND);
	lease = lease_lead(&key, 9, version);	/* early, it is fresh */
	cr_expect(lease_refresh_bit(&key));
	cr_expect_str_eq(value_of(&key), "old");
	lease_now.ms += 200;
	cr_expect_str_eq(value_of(&key), "STALE");
	cr_expect_eq(lease_fill(&key, 9, &lease, "new"), OK);
	cr_expect_not(lease_refresh_bit(&key));
	cr_expect_str_eq(value_of(&key), "new");
	lease_now.ms += 200;
	cr_expect_eq(ask_lease(&key, 9, 0, version, &lease), FLIGHT_FOUND,
	    "stale too, but another than was seen");
	EXPECT_SOUND(&lease_pool);
}

Test(lease, of_a_dead_entry_there_is_nothing_to_find)
{
	struct entry_spec spec;
	struct lease lease;
	struct key key;
	uint64_t version;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	spec = test_pool_spec(&lease_pool, &key, "v", 1);
	spec.hard_ms = lease_now.ms + 10;
	cr_assert_eq(write_set(&lease_pool, &spec, lease_now, &version), OK);
	lease_now.ms += 10;
	lease = lease_lead(&key, 9, 0);
	cr_expect_not(lease_refresh_bit(&key), "no reader sees it");
	cr_expect_eq(lease_fill(&key, 9, &lease, "w"), OK);
	cr_expect_str_eq(value_of(&key), "w");
	EXPECT_SOUND(&lease_pool);
}

Test(lease, a_value_whose_writer_is_gone_is_computed_again)
{
	struct chain_writer writer;
	struct entry_spec spec;
	struct lease lease;
	struct key key;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	spec = test_pool_spec(&lease_pool, &key, NULL, 0);
	cr_assert_eq(chain_begin(&lease_pool, &spec, true, lease_now,
	    &writer), OK);
	cr_expect_eq(ask_lease(&key, 9, 0, 0, &lease), FLIGHT_FOUND,
	    "it grows");
	lease_now.ms += 3600 * 1000;
	lease = lease_lead(&key, 9, 0);
	cr_expect_eq(lease_fill(&key, 9, &lease, "w"), OK);
	cr_expect_str_eq(value_of(&key), "w");
	EXPECT_SOUND(&lease_pool);
}

Test(lease, keys_of_one_hash_fly_apart)
{
	struct lease led[2], waiting;
	struct key key[2];

	lease_fixture_begin(test_pool_one_shard());
	key[0] = test_pool_key_of_hash("one", 77);
	key[1] = test_pool_key_of_hash("two", 77);
	led[0] = lease_lead(&key[0], 9, 0);
	led[1] = lease_lead(&key[1], 9, 0);
	cr_expect_eq(lease_fill(&key[1], 9, &led[0], "w"), LEASE_LOST);
	cr_expect_str_eq(value_of(&key[1]), "MISS");
	cr_expect_eq(ask_lease(&key[0], 10, 1, 0, &waiting), FLIGHT_WAIT);
	cr_expect_eq(lease_fill(&key[1], 9, &led[1], "w"), OK);
	cr_expect_eq(lease_fixture_told().workers, 0, "nobody waits for it");
	cr_expect_eq(lease_fill(&key[0], 9, &led[0], "v"), OK);
	cr_expect_eq(lease_fixture_told().workers, 1 << 1);
	cr_expect_str_eq(value_of(&key[0]), "v");
	cr_expect_str_eq(value_of(&key[1]), "w");
	EXPECT_SOUND(&lease_pool);
}

Test(lease, a_late_fill_is_refused_and_stores_nothing)
{
	struct lease led, next;
	struct key key;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	led = lease_lead(&key, 9, 0);
	lease_now.ms += LEASE_MS;
	cr_expect_eq(lease_fill(&key, 9, &led, "late"), LEASE_LOST);
	next = lease_lead(&key, 10, 0);
	cr_expect(next.ticket.took_over);
	cr_expect_eq(lease_fill(&key, 9, &led, "late"), LEASE_LOST);
	cr_expect_eq(lease_fill(&key, 9, &next, "stolen"), LEASE_LOST);
	cr_expect_str_eq(value_of(&key), "MISS");
	cr_expect_eq(lease_fill(&key, 10, &next, "v"), OK);
	cr_expect_eq(lease_fill(&key, 10, &next, "again"), LEASE_LOST);
	cr_expect_str_eq(value_of(&key), "v");
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_lost), 4);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_taken_over), 1);
	EXPECT_SOUND(&lease_pool);
}

static void
change_by_set(const struct key *key)
{
	(void)lease_set(key, "newer");
}

static void
change_by_delete(const struct key *key)
{
	enum result result = write_delete(&lease_pool, key, 0, lease_now);

	cr_assert(result == OK || result == MISS);
}

static void
change_by_touch(const struct key *key)
{
	cr_assert_eq(write_touch(&lease_pool, key, UINT64_MAX, UINT64_MAX, 0,
	    lease_now), OK);
}

static void
change_by_large_set(const struct key *key)
{
	static uint8_t large[40000];
	struct entry_spec spec = test_pool_spec(&lease_pool, key, large,
	    sizeof(large));
	uint64_t version;

	cr_assert_eq(write_set(&lease_pool, &spec, lease_now, &version), OK);
}

static void
change_by_growing(const struct key *key)
{
	struct entry_spec spec = test_pool_spec(&lease_pool, key, NULL, 0);
	struct chain_writer writer;

	cr_assert_eq(chain_begin(&lease_pool, &spec, true, lease_now,
	    &writer), OK);
}

static void
change_by_adding(const struct key *key)
{
	struct entry_spec spec = test_pool_spec(&lease_pool, key, NULL, 0);
	int64_t number;

	cr_assert_eq(write_delete(&lease_pool, key, 0, lease_now), OK);
	cr_assert_eq(write_counter_add(&lease_pool, key, 1, 0, &spec,
	    lease_now, &number), OK);
}

Test(lease, a_change_of_the_key_beats_the_fill_and_waiters_look_again)
{
	static void (*const changes[])(const struct key *) = {
		change_by_set, change_by_delete, change_by_touch,
		change_by_large_set, change_by_growing, change_by_adding,
	};
	const unsigned count = sizeof(changes) / sizeof(changes[0]);
	struct flight_ending ending;
	struct lease led, waiting;
	struct key key;

	lease_fixture_begin(test_pool_one_shard());
	for (unsigned i = 0; i < count; i++) {
		char text[TEST_KEY_BYTES];
		uint64_t version;

		key = test_pool_number_key(&lease_pool, text, i);
		version = lease_set(&key, "old");
		led = lease_lead(&key, 9, version);
		cr_assert_eq(ask_lease(&key, 10, 4, version, &waiting),
		    FLIGHT_WAIT);
		changes[i](&key);
		cr_expect_eq(lease_fill(&key, 9, &led, "late"), CHANGED,
		    "change %u", i);
		cr_expect_str_neq(value_of(&key), "late");
		cr_expect_eq(lease_fixture_told().workers, 1 << 4);
		cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending),
		    FLIGHT_ENDED_NOW);
		cr_expect_eq(ending.outcome, FLIGHT_LOOK_AGAIN);
		cr_expect_eq(lease_fill(&key, 9, &led, "late"), LEASE_LOST);
		EXPECT_SOUND(&lease_pool);
	}
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_touched),
	    count);
}

Test(lease, deleting_what_is_not_there_beats_the_fill_too)
{
	struct lease led;
	struct key key;
	int64_t number;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	led = lease_lead(&key, 9, 0);
	/* What changes nothing is no change. */
	cr_expect_eq(write_touch(&lease_pool, &key, 1, 1, 0, lease_now),
	    MISS);
	cr_expect_eq(write_counter_add(&lease_pool, &key, 1, 0, NULL,
	    lease_now, &number), MISS);
	cr_expect_eq(write_delete(&lease_pool, &key, 0, lease_now), MISS);
	cr_expect_eq(lease_fill(&key, 9, &led, "late"), CHANGED);
	cr_expect_str_eq(value_of(&key), "MISS");
	led = lease_lead(&key, 9, 0);
	cr_expect_eq(lease_fill(&key, 9, &led, "v"), OK);
	cr_expect_str_eq(value_of(&key), "v");
	EXPECT_SOUND(&lease_pool);
}

Test(lease, a_purge_meanwhile_covers_the_fill)
{
	struct flight_ending ending;
	struct lease led, next;
	struct key key;
	uint64_t number;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	led = lease_lead(&key, 9, 0);
	cr_assert_eq(ask_lease(&key, 10, 4, 0, &next), FLIGHT_WAIT);
	cr_assert_eq(epoch_purge_all(&lease_pool, EPOCH_KIND_HARD, &number),
	    OK);
	cr_expect_eq(lease_fill(&key, 9, &led, "before"), OK,
	    "stored, but as old as its computation");
	cr_expect_str_eq(value_of(&key), "MISS");
	cr_expect_eq(lease_look(10, 4, 1, &next, &ending),
	    FLIGHT_ENDED_NOW);
	next = lease_lead(&key, 10, 0);
	cr_expect_eq(lease_fill(&key, 10, &next, "after"), OK);
	cr_expect_str_eq(value_of(&key), "after");
	EXPECT_SOUND(&lease_pool);
}

Test(lease, who_takes_over_after_a_purge_computes_what_is_newer)
{
	struct lease led, next;
	struct key key;
	uint64_t number;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	led = lease_lead(&key, 9, 0);
	cr_assert_eq(epoch_purge_all(&lease_pool, EPOCH_KIND_HARD, &number),
	    OK);
	lease_fixture_kill(9);
	next = lease_lead(&key, 10, 0);
	cr_expect_eq(lease_fill(&key, 9, &led, "before"), LEASE_LOST);
	cr_expect_eq(lease_fill(&key, 10, &next, "after"), OK);
	cr_expect_str_eq(value_of(&key), "after");
	EXPECT_SOUND(&lease_pool);
}
