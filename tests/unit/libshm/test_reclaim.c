/* SPDX-License-Identifier: ISC */

#include "reclaim.h"

#include "access.h"
#include "epoch.h"
#include "extent.h"
#include "index.h"
#include "prng.h"
#include "read.h"
#include "shard.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct boot_ms now = { 5000 };

static uint8_t value[1u << 20];

static enum result
store(const struct pool *pool, uint64_t number, uint64_t bytes)
{
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(pool, text, number);
	struct entry_spec spec = test_pool_spec(pool, &key, value, bytes);
	uint64_t version;

	return write_set(pool, &spec, now, &version);
}

static bool
present(const struct pool *pool, uint64_t number)
{
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(pool, text, number);
	struct read_hit hit;

	return read_peek(pool, &key, now, &hit) == OK;
}

static void
touch(const struct pool *pool, uint64_t number, unsigned times)
{
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(pool, text, number);
	struct read_hit hit;

	for (unsigned i = 0; i < times; i++) {
		if (read_peek(pool, &key, now, &hit) == OK) {
			access_touch(pool, &hit);
		}
	}
}

static enum extent_role
role_of(const struct pool *pool, uint64_t number)
{
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(pool, text, number);

	return extent_role_of(extent_state(pool, test_pool_extent_of(pool,
	    &key)));
}

static uint32_t
extent_of(const struct pool *pool, uint64_t number)
{
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(pool, text, number);

	return test_pool_extent_of(pool, &key);
}

/* One pass over the extent of an entry, with what the policy says. */
static void
reclaim_extent_of(const struct pool *pool, uint64_t number)
{
	uint32_t extent = extent_of(pool, number);

	cr_assert_eq(shard_enter(pool, 0), OK);
	cr_assert_eq(reclaim_pass(pool, 0, extent, RECLAIM_POLICY, now), OK);
	shard_leave(pool, 0);
}

Test(reclaim, from_small_what_was_touched_twice_moves_to_main)
{
	struct pool pool = test_pool_one_shard();

	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(store(&pool, i, 100), OK);
		touch(&pool, i, i);
	}
	reclaim_extent_of(&pool, 0);
	cr_expect_not(present(&pool, 0));
	cr_expect_not(present(&pool, 1));
	cr_expect(present(&pool, 2));
	cr_expect(present(&pool, 3));
	cr_expect_eq(role_of(&pool, 2), EXTENT_MAIN);
	cr_expect_eq(test_pool_stat(&pool, STAT_evicted_small), 2);
	cr_expect_eq(test_pool_stat(&pool, STAT_moved_to_main), 2);
	EXPECT_SOUND(&pool);
}

Test(reclaim, from_main_what_was_touched_once_stays_with_one_less)
{
	struct pool pool = test_pool_one_shard();

	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(store(&pool, i, 100), OK);
		touch(&pool, i, 2);
	}
	reclaim_extent_of(&pool, 0);
	touch(&pool, 1, 1);
	reclaim_extent_of(&pool, 0);
	cr_expect_not(present(&pool, 0), "a move is no touch");
	cr_expect(present(&pool, 1));
	reclaim_extent_of(&pool, 1);
	cr_expect_not(present(&pool, 1), "its touch is used up");
	EXPECT_SOUND(&pool);
}

Test(reclaim, what_comes_back_soon_goes_to_main_at_once)
{
	struct pool pool = test_pool_one_shard();

	/* The ghost's clock passes its end meanwhile. */
	pool.shards_private[0].ghost.clock = UINT64_MAX - (64ull << 32);
	for (unsigned i = 0; i < 100; i++) {
		cr_assert_eq(store(&pool, i, 100), OK);
	}
	reclaim_extent_of(&pool, 0);
	cr_expect_lt(pool.shards_private[0].ghost.clock, 1ull << 62,
	    "wrapped");
	for (unsigned i = 90; i < 100; i++) {
		cr_assert_eq(store(&pool, i, 100), OK);
		cr_expect_eq(role_of(&pool, i), EXTENT_MAIN, "entry %u", i);
	}
	cr_assert_eq(store(&pool, 1000, 100), OK);
	cr_expect_eq(role_of(&pool, 1000), EXTENT_SMALL);
	cr_expect_eq(test_pool_stat(&pool, STAT_ghost_hits), 10);
	EXPECT_SOUND(&pool);
}

Test(reclaim, the_dead_are_dropped_whatever_their_count)
{
	struct pool pool = test_pool_one_shard();
	uint64_t number;

	cr_assert_eq(store(&pool, 1, 100), OK);
	touch(&pool, 1, 3);
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	cr_assert_eq(store(&pool, 2, 100), OK);
	touch(&pool, 2, 3);
	reclaim_extent_of(&pool, 2);
	cr_expect(present(&pool, 2));
	cr_expect_eq(test_pool_entries(&pool), 1);
	EXPECT_SOUND(&pool);
}

Test(reclaim, compaction_keeps_all_that_lives_in_its_queue)
{
	struct pool pool = test_pool_one_shard();
	uint32_t extent;

	for (unsigned i = 0; i < 50; i++) {
		cr_assert_eq(store(&pool, i, 100), OK);
	}
	extent = extent_of(&pool, 0);
	cr_assert_eq(shard_enter(&pool, 0), OK);
	cr_assert_eq(reclaim_pass(&pool, 0, extent, RECLAIM_COMPACT, now),
	    OK);
	shard_leave(&pool, 0);
	for (unsigned i = 0; i < 50; i++) {
		cr_expect(present(&pool, i), "entry %u", i);
		cr_expect_eq(role_of(&pool, i), EXTENT_SMALL);
		cr_expect_neq(extent_of(&pool, i), extent);
	}
	EXPECT_SOUND(&pool);
}

Test(reclaim, with_every_entry_touched_three_times_sets_still_succeed)
{
	struct pool pool = test_pool_one_shard();

	for (unsigned i = 0; i < 20000; i++) {
		cr_assert_eq(store(&pool, i, 1000), OK, "set %u", i);
		touch(&pool, i, 3);
		if (i % 100 == 0) {
			for (unsigned j = 0; j < i; j++) {
				touch(&pool, j, 3);
			}
		}
		if (i == 6000) {
			break;
		}
	}
	cr_expect_gt(test_pool_stat(&pool, STAT_extents_forced), 0);
	cr_expect_eq(test_pool_stat(&pool, STAT_set_refused_full), 0);
	EXPECT_SOUND(&pool);
}

Test(reclaim, it_keeps_an_empty_extent_for_moves)
{
	struct pool pool = test_pool_one_shard();

	for (unsigned i = 0; i < 10000; i++) {
		cr_assert_eq(store(&pool, i, 1000), OK, "set %u", i);
		touch(&pool, i, i % 4);
	}
	/* Without it a pass cannot keep what the policy wants to keep. */
	cr_expect_neq(pool.shards_private[0].spare, 0);
	cr_expect_gt(test_pool_stat(&pool, STAT_moved_to_main), 2000, "%llu",
	    (unsigned long long)test_pool_stat(&pool, STAT_moved_to_main));
	EXPECT_SOUND(&pool);
}

static uint64_t
random_length(struct prng *prng, uint64_t most)
{
	double from = log(10), to = log((double)most + 0.5);

	return (uint64_t)exp(from + (to - from) * prng_unit(prng));
}

static void
fill_with_all_sizes(struct pool pool, uint64_t times, uint64_t seed)
{
	uint64_t most = geometry_value_max_bytes(&pool.g);
	uint64_t stored_bytes = 0;
	struct prng prng;

	prng_init(&prng, seed);
	for (unsigned i = 0; stored_bytes < times * pool.g.pool_bytes; i++) {
		uint64_t before = test_pool_entries(&pool);
		uint64_t bytes = random_length(&prng, most);
		enum result result = store(&pool, i, bytes);

		cr_assert_eq(result, OK, "%llu bytes: %s",
		    (unsigned long long)bytes, result_name(result));
		cr_assert(present(&pool, i), "set %u", i);
		cr_assert_geq(test_pool_entries(&pool) + before / 4, before,
		    "set %u of %llu bytes", i, (unsigned long long)bytes);
		stored_bytes += bytes + 64;
		if (prng_one_in(&prng, 3)) {
			touch(&pool, prng_below(&prng, i + 1), 2);
		}
	}
	EXPECT_SOUND(&pool);
	pool_destroy(&pool);
}

Test(reclaim, all_sizes_at_three_times_the_capacity_never_wipe_it)
{
	fill_with_all_sizes(test_pool_make(16u << 20, 0, 1), 3, 1);
	fill_with_all_sizes(test_pool_make(16u << 20, 16u << 10, 2), 3, 2);
	fill_with_all_sizes(test_pool_one_shard(), 6, 3);
}

Test(reclaim, lengths_above_the_largest_are_refused_and_cost_nothing)
{
	struct pool pool = test_pool_one_shard();
	uint64_t most = geometry_value_max_bytes(&pool.g);

	for (unsigned i = 0; i < 5000; i++) {
		cr_assert_eq(store(&pool, i, 500), OK);
	}
	for (unsigned i = 0; i < 100; i++) {
		uint64_t before = test_pool_entries(&pool);

		cr_assert_eq(store(&pool, 9000 + i, most + KEY_MAX_BYTES +
		    TAGS_MAX * 8 + i), TOO_LARGE);
		cr_assert_eq(test_pool_entries(&pool), before);
	}
	EXPECT_SOUND(&pool);
}

Test(reclaim, after_small_values_large_ones_succeed_at_once)
{
	struct pool pool = test_pool_make(64u << 20, 0, 2);
	unsigned number = 0;

	while (test_pool_stat(&pool, STAT_evicted_small) == 0) {
		cr_assert_eq(store(&pool, number++, 100), OK);
	}
	for (unsigned i = 0; i < 2000; i++) {
		cr_assert_eq(store(&pool, 10000000 + i, 100000), OK,
		    "large set %u", i);
		cr_assert(present(&pool, 10000000 + i));
	}
	EXPECT_SOUND(&pool);
}

Test(reclaim, after_large_values_small_ones_succeed_at_once)
{
	struct pool pool = test_pool_make(16u << 20, 0, 2);

	for (unsigned i = 0; i < 400; i++) {
		cr_assert_eq(store(&pool, i, 60000), OK);
	}
	for (unsigned i = 0; i < 20000; i++) {
		cr_assert_eq(store(&pool, 1000 + i, 100), OK, "set %u", i);
		cr_assert(present(&pool, 1000 + i));
	}
	EXPECT_SOUND(&pool);
}

Test(reclaim, with_all_extents_pinned_a_set_says_full_and_changes_nothing)
{
	struct pool pool = test_pool_one_shard();
	unsigned i = 0;
	enum result result;

	/* A pin on every extent, as dead weight that never goes. */
	for (uint32_t e = 1; e <= pool.g.extent_count; e++) {
		atomic_store(&pool.pins[(uint64_t)e * pool.g.pin_stride], 1);
	}
	do {
		result = store(&pool, i++, 10000);
	} while (result == OK && i < 10000);
	cr_expect_eq(result, FULL, "%s", result_name(result));
	cr_expect_geq(test_pool_stat(&pool, STAT_set_refused_full), 1);
	EXPECT_SOUND(&pool);
	for (uint32_t e = 1; e <= pool.g.extent_count; e++) {
		atomic_store(&pool.pins[(uint64_t)e * pool.g.pin_stride], 0);
	}
	cr_expect_eq(store(&pool, i, 10000), OK);
	EXPECT_SOUND(&pool);
}

Test(reclaim, a_shard_above_its_share_gives_to_one_below)
{
	struct pool pool = test_pool_four_shards();
	uint64_t number = 0;
	uint32_t share = geometry_fair_share(&pool.g);
	char text[TEST_KEY_BYTES];

	/* Shard 0 alone takes the pool. */
	for (unsigned i = 0; i < 6000; number++) {
		if (pool_shard_of(&pool, test_pool_number_key(&pool, text,
		    number).hash) == 0) {
			cr_assert_eq(store(&pool, number, 2000), OK);
			i++;
		}
	}
	cr_expect_gt(pool.shards_private[0].owned, 3 * share);
	for (unsigned i = 0; i < 30000; i++) {
		enum result result = store(&pool, number++, 2000);

		cr_assert_eq(result, OK, "set %u: %s", i,
		    result_name(result));
	}
	for (uint32_t s = 0; s < 4; s++) {
		uint32_t all = pool.shards_private[s].owned +
		    pool.shards_private[s].index_pages;

		cr_expect(all >= share - share / 8 && all <= share +
		    share / 8, "shard %u has %u of %u", s, all, share);
	}
	cr_expect_gt(test_pool_stat(&pool, STAT_extents_given), 0);
	EXPECT_SOUND(&pool);
}

Test(reclaim, an_idle_worker_keeps_an_extent_to_a_shard_free)
{
	struct pool pool = test_pool_four_shards();

	for (unsigned i = 0; i < 20000; i++) {
		cr_assert_eq(store(&pool, i, 500), OK);
	}
	cr_assert_lt(extent_free_count(&pool), 4);
	for (unsigned i = 0; i < 64; i++) {
		(void)reclaim_ahead(&pool, i % 4, now);
	}
	cr_expect_geq(extent_free_count(&pool), 4);
	cr_expect_not(reclaim_ahead(&pool, 0, now), "enough is enough");
	EXPECT_SOUND(&pool);
}

Test(reclaim, an_entry_whose_length_lies_leaves_no_slot_behind)
{
	struct pool pool = test_pool_one_shard();
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(&pool, text, 0);
	struct entry *entry;

	for (unsigned i = 0; i < 20; i++) {
		cr_assert_eq(store(&pool, i, 100), OK);
	}
	/* The walk ends at the first entry: the others are behind it. */
	entry = test_pool_entry(&pool, &key);
	atomic_store(&entry->word[0], UINT64_MAX);
	cr_assert_eq(test_pool_reclaim(&pool, 0, slot_extent(atomic_load(
	    index_find_place(&pool, 0, key.hash, pool.shards_private[0].
	    open_small, 0))), now), OK);
	for (unsigned i = 0; i < 20; i++) {
		cr_expect_not(present(&pool, i), "entry %u", i);
	}
	cr_expect_eq(test_pool_faults(&pool) & (1u << 3), 0,
	    "no slot dangles");
}
