/* SPDX-License-Identifier: ISC */

#include "write.h"

#include "epoch.h"
#include "extent.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct boot_ms now = { 5000 };

/* Add to a counter that is made with the initial number if need be. */
static enum result
add(const struct pool *pool, const struct key *key, int64_t delta,
    int64_t initial, int64_t *number)
{
	struct entry_spec spec = test_pool_spec(pool, key, NULL, 0);

	return write_counter_add(pool, key, delta, initial, &spec, now,
	    number);
}

static int64_t
read_number(const struct pool *pool, const struct key *key)
{
	struct read_hit hit;
	int64_t number = 0;

	cr_assert_eq(read_copy(pool, key, now, &number, sizeof(number), &hit),
	    OK);
	cr_assert_eq(hit.value_bytes, sizeof(number));
	cr_assert_neq(hit.head.flags & ENTRY_COUNTER, 0);
	return number;
}

Test(counter, a_missing_one_is_made_from_the_spec_or_is_a_miss)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "n");
	int64_t number = 0;

	cr_expect_eq(write_counter_add(&pool, &key, 5, 100, NULL, now,
	    &number), MISS);
	cr_expect_eq(test_pool_entries(&pool), 0);
	cr_expect_eq(add(&pool, &key, 5, 100, &number), OK);
	cr_expect_eq(number, 105);
	cr_expect_eq(add(&pool, &key, 5, 100, &number), OK);
	cr_expect_eq(number, 110, "the initial number is for a new one");
	cr_expect_eq(write_counter_add(&pool, &key, -11, 0, NULL, now,
	    &number), OK);
	cr_expect_eq(number, 99);
	cr_expect_eq(read_number(&pool, &key), 99);
	EXPECT_SOUND(&pool);
}

Test(counter, numbers_go_below_zero)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "n");
	int64_t number;

	cr_expect_eq(add(&pool, &key, -7, 0, &number), OK);
	cr_expect_eq(number, -7);
	cr_expect_eq(add(&pool, &key, -1, 0, &number), OK);
	cr_expect_eq(read_number(&pool, &key), -8);
}

Test(counter, at_either_end_an_addition_is_refused_and_changes_nothing)
{
	struct pool pool = test_pool_one_shard();
	struct key high = test_pool_key(&pool, "high");
	struct key low = test_pool_key(&pool, "low");
	int64_t number;

	cr_expect_eq(add(&pool, &high, 1, INT64_MAX, &number), COUNTER_RANGE);
	cr_expect_eq(test_pool_entries(&pool), 0);
	cr_assert_eq(add(&pool, &high, 0, INT64_MAX, &number), OK);
	cr_expect_eq(add(&pool, &high, 1, 0, &number), COUNTER_RANGE);
	cr_expect_eq(read_number(&pool, &high), INT64_MAX);
	cr_expect_eq(add(&pool, &high, INT64_MIN, 0, &number), OK);
	cr_expect_eq(number, -1);
	cr_assert_eq(add(&pool, &low, -1, INT64_MIN + 1, &number), OK);
	cr_expect_eq(add(&pool, &low, -1, 0, &number), COUNTER_RANGE);
	cr_expect_eq(add(&pool, &low, INT64_MIN, 0, &number), COUNTER_RANGE);
	cr_expect_eq(read_number(&pool, &low), INT64_MIN);
	EXPECT_SOUND(&pool);
}

Test(counter, a_value_is_no_counter_even_with_8_bytes)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	int64_t number;

	cr_assert_eq(test_pool_set(&pool, &key, "8 bytes!", now), OK);
	cr_expect_eq(add(&pool, &key, 1, 0, &number), WRONG_TYPE);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "8 bytes!");
	cr_expect_eq(write_delete(&pool, &key, 0, now), OK);
	cr_expect_eq(add(&pool, &key, 1, 0, &number), OK);
	cr_assert_eq(test_pool_set(&pool, &key, "a value", now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "a value");
	EXPECT_SOUND(&pool);
}

Test(counter, an_expired_or_purged_one_begins_anew)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "n");
	struct entry_spec spec = test_pool_spec(&pool, &key, NULL, 0);
	struct boot_ms late = { now.ms + 10 };
	uint64_t epoch;
	int64_t number;

	spec.hard_ms = late.ms;
	cr_assert_eq(write_counter_add(&pool, &key, 3, 0, &spec, now,
	    &number), OK);
	cr_expect_eq(write_counter_add(&pool, &key, 3, 0, NULL, late,
	    &number), MISS);
	spec.hard_ms = UINT64_MAX;
	cr_expect_eq(write_counter_add(&pool, &key, 3, 50, &spec, late,
	    &number), OK);
	cr_expect_eq(number, 53);
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &epoch), OK);
	spec.epoch = epoch;
	cr_expect_eq(write_counter_add(&pool, &key, 3, 0, &spec, late,
	    &number), OK);
	cr_expect_eq(number, 3);
	cr_expect_eq(test_pool_entries(&pool), 1);
	EXPECT_SOUND(&pool);
}

Test(counter, adding_does_not_move_its_expiry)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "n");
	struct entry_spec spec = test_pool_spec(&pool, &key, NULL, 0);
	struct boot_ms late = { now.ms + 99 };
	int64_t number;

	spec.hard_ms = now.ms + 100;
	cr_assert_eq(write_counter_add(&pool, &key, 1, 0, &spec, now,
	    &number), OK);
	spec.hard_ms = UINT64_MAX;
	cr_assert_eq(write_counter_add(&pool, &key, 1, 0, &spec, late,
	    &number), OK);
	cr_expect_eq(number, 2);
	late.ms++;
	cr_expect_str_eq(test_pool_get(&pool, &key, late), "MISS");
}

Test(counter, a_thousand_additions_append_nothing)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "n");
	uint32_t extent, committed;
	int64_t number;

	cr_assert_eq(add(&pool, &key, 1, 0, &number), OK);
	extent = test_pool_extent_of(&pool, &key);
	committed = extent_committed(&pool, extent);
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert_eq(add(&pool, &key, 1, 0, &number), OK);
	}
	cr_expect_eq(number, 1001);
	cr_expect_eq(test_pool_extent_of(&pool, &key), extent);
	cr_expect_eq(extent_committed(&pool, extent), committed);
	cr_expect_eq(test_pool_stat(&pool, STAT_counter_adds), 1001);
	EXPECT_SOUND(&pool);
}

Test(counter, it_keeps_its_number_when_it_is_moved)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "hot");
	static const char value[3000];
	int64_t number;

	for (unsigned i = 1; i <= 4000; i++) {
		char text[TEST_KEY_BYTES];
		struct key other = test_pool_number_key(&pool, text, i);
		struct entry_spec spec = test_pool_spec(&pool, &other, value,
		    sizeof(value));
		uint64_t version;

		cr_assert_eq(add(&pool, &key, 1, 0, &number), OK);
		cr_assert_eq(number, i, "after %u sets", i);
		atomic_fetch_or(test_pool_slot(&pool, &key),
		    SLOT_COUNT_MASK);
		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	}
	cr_expect_eq(extent_role_of(extent_state(&pool, test_pool_extent_of(
	    &pool, &key))), EXTENT_MAIN);
	EXPECT_SOUND(&pool);
}

Test(counter, tags_and_key_of_the_spec_are_kept)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "odd length");
	uint64_t tag = epoch_tag_hash(&pool, "t", 1);
	struct entry_spec spec = test_pool_spec(&pool, &key, NULL, 0);
	uint64_t epoch;
	int64_t number;

	spec.tags = &tag;
	spec.tag_count = 1;
	cr_assert_eq(write_counter_add(&pool, &key, 1, 0, &spec, now,
	    &number), OK);
	cr_assert_eq(read_number(&pool, &key), 1);
	cr_assert_eq(epoch_purge_tag(&pool, tag, EPOCH_KIND_HARD, &epoch),
	    OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
}
