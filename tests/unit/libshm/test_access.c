/* SPDX-License-Identifier: ISC */

#include "access.h"

#include "prng.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct boot_ms now = { 5000 };

static struct read_hit
hit_on(const struct pool *pool, const struct key *key)
{
	struct read_hit hit;

	cr_assert_eq(read_peek(pool, key, now, &hit), OK);
	return hit;
}

static unsigned
count_of(const struct pool *pool, const struct key *key)
{
	return slot_count(atomic_load(test_pool_slot(pool, key)));
}

Test(access, a_hit_adds_one_to_the_slot_up_to_three)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	for (unsigned i = 0; i < 6; i++) {
		struct read_hit hit = hit_on(&pool, &key);

		cr_expect_eq(count_of(&pool, &key), i < 3 ? i : 3);
		access_touch(&pool, &hit);
	}
	cr_expect_eq(count_of(&pool, &key), SLOT_COUNT_MAX);
}

Test(access, a_hit_stores_nothing_outside_the_index)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	uint8_t before[64];

	cr_assert_eq(test_pool_set(&pool, &key, "value", now), OK);
	hit = hit_on(&pool, &key);
	memcpy(before, test_pool_entry(&pool, &key), sizeof(before));
	access_touch(&pool, &hit);
	cr_expect_arr_eq(before, test_pool_entry(&pool, &key),
	    sizeof(before));
	cr_expect_eq(count_of(&pool, &key), 1);
}

Test(access, a_hit_on_what_was_replaced_is_dropped)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	uint64_t word;

	cr_assert_eq(test_pool_set(&pool, &key, "old", now), OK);
	hit = hit_on(&pool, &key);
	cr_assert_eq(test_pool_set(&pool, &key, "new", now), OK);
	word = atomic_load(test_pool_slot(&pool, &key));
	access_touch(&pool, &hit);
	cr_expect_eq(atomic_load(test_pool_slot(&pool, &key)), word);
}

Test(access, a_hit_that_slides_puts_expiries_off_and_never_forward)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);
	struct read_hit hit;
	uint64_t version;

	spec.soft_ms = now.ms + 100;
	spec.hard_ms = now.ms + 200;
	cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	hit = hit_on(&pool, &key);
	cr_expect_eq(access_slide(&pool, key.hash, hit.extent, hit.offset,
	    now.ms + 150, now.ms + 400, now), OK);
	hit = hit_on(&pool, &key);
	cr_expect_eq(entry_expiry_ms(&hit.head, hit.head.soft), now.ms + 150);
	cr_expect_eq(entry_expiry_ms(&hit.head, hit.head.hard), now.ms + 400);
	cr_expect_eq(access_slide(&pool, key.hash, hit.extent, hit.offset,
	    now.ms + 1, now.ms + 401, now), OK);
	hit = hit_on(&pool, &key);
	cr_expect_eq(entry_expiry_ms(&hit.head, hit.head.soft), now.ms + 150);
	cr_expect_eq(entry_expiry_ms(&hit.head, hit.head.hard), now.ms + 401);
	cr_expect_eq(access_slide(&pool, key.hash, hit.extent, hit.offset,
	    UINT64_MAX, UINT64_MAX, now), OK);
	hit = hit_on(&pool, &key);
	cr_expect_eq(hit.head.hard, EXPIRY_NEVER);
	cr_expect_eq(hit.version, version);
	cr_expect_eq(test_pool_stat(&pool, STAT_slides), 3);
	EXPECT_SOUND(&pool);
}

Test(access, a_slide_of_what_is_not_there_or_dead_is_a_miss)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);
	struct boot_ms then = { now.ms + 10 };
	struct read_hit hit;
	uint64_t version, number;

	spec.hard_ms = then.ms;
	cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	hit = hit_on(&pool, &key);
	cr_expect_eq(access_slide(&pool, key.hash, 0, hit.offset, then.ms,
	    then.ms + 9, now), MISS);
	cr_expect_eq(access_slide(&pool, key.hash, UINT32_MAX, 0, then.ms,
	    then.ms + 9, now), MISS);
	cr_expect_eq(access_slide(&pool, key.hash, hit.extent, UINT32_MAX,
	    then.ms, then.ms + 9, now), MISS);
	cr_expect_eq(access_slide(&pool, key.hash, hit.extent, hit.offset + 8,
	    then.ms, then.ms + 9, now), MISS);
	/* Tag and bucket are the same, the hash is not. */
	cr_expect_eq(access_slide(&pool, key.hash ^ (1ull << 30), hit.extent,
	    hit.offset, then.ms, then.ms + 9, now), MISS);
	cr_expect_eq(access_slide(&pool, key.hash, hit.extent, hit.offset,
	    then.ms, then.ms + 9, then), MISS, "it is over");
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	cr_expect_eq(access_slide(&pool, key.hash, hit.extent, hit.offset,
	    then.ms, then.ms + 9, now), MISS, "it is purged");
	hit.head = entry_load(test_pool_entry(&pool, &key));
	cr_expect_eq(entry_expiry_ms(&hit.head, hit.head.hard), then.ms);
	cr_expect_eq(test_pool_stat(&pool, STAT_slides), 0);
	EXPECT_SOUND(&pool);
}

Test(access, a_hint_counts_for_the_place_it_names)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	hit = hit_on(&pool, &key);
	for (unsigned i = 0; i < 5; i++) {
		access_hint(&pool, key.hash, hit.extent, hit.offset);
	}
	cr_expect_eq(count_of(&pool, &key), SLOT_COUNT_MAX);
	cr_expect_eq(test_pool_stat(&pool, STAT_hints_applied), 3);
	cr_expect_eq(test_pool_stat(&pool, STAT_hints_dropped), 2);
}

Test(access, a_hint_that_names_nothing_linked_changes_nothing)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	uint64_t word;

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	hit = hit_on(&pool, &key);
	word = atomic_load(test_pool_slot(&pool, &key));
	access_hint(&pool, key.hash, 0, 0);
	access_hint(&pool, key.hash, UINT32_MAX, hit.offset);
	access_hint(&pool, key.hash, hit.extent, UINT32_MAX);
	access_hint(&pool, key.hash, hit.extent, hit.offset + 8);
	access_hint(&pool, key.hash, hit.extent + 1, hit.offset);
	access_hint(&pool, key.hash ^ (1ull << 63), hit.extent, hit.offset);
	access_hint(&pool, 0, hit.extent, hit.offset);
	cr_expect_eq(atomic_load(test_pool_slot(&pool, &key)), word);
	cr_expect_eq(test_pool_stat(&pool, STAT_hints_dropped), 7);
	EXPECT_SOUND(&pool);
}

Test(access, random_hints_raise_counts_and_nothing_else)
{
	struct pool pool = test_pool_four_shards();
	char text[TEST_KEY_BYTES];
	struct prng prng;

	prng_init(&prng, 5);
	for (unsigned i = 0; i < 200; i++) {
		struct key key = test_pool_number_key(&pool, text, i);

		cr_assert_eq(test_pool_set(&pool, &key, text, now), OK);
	}
	for (unsigned i = 0; i < 100000; i++) {
		access_hint(&pool, prng_next(&prng),
		    prng_below(&prng, pool.g.extent_count + 2),
		    prng_below(&prng, 17u << 10));
	}
	for (unsigned i = 0; i < 200; i++) {
		struct key key = test_pool_number_key(&pool, text, i);

		cr_expect_str_eq(test_pool_get(&pool, &key, now), text);
	}
	EXPECT_SOUND(&pool);
}
