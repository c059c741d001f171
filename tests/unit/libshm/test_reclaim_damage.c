/* SPDX-License-Identifier: ISC */

/*
 * Reclaim of an extent with an entry whose header lies: what the walk cannot
 * reach goes all the same, and leaves neither slot nor count.
 */
#include "reclaim.h"

#include "test_pool.h"

#include <criterion/criterion.h>

#define LARGE_BYTES	20000u

static const struct boot_ms now = { 5000 };

static uint8_t value[LARGE_BYTES];

static void
store(const struct pool *pool, const char *text, uint64_t bytes)
{
	struct key key = test_pool_key(pool, text);
	struct entry_spec spec = test_pool_spec(pool, &key, value, bytes);
	uint64_t version;

	cr_assert_eq(write_set(pool, &spec, now, &version), OK);
}

/* No lengths, so no next entry either. */
static uint32_t
damage(const struct pool *pool, const char *text)
{
	struct key key = test_pool_key(pool, text);
	struct entry *entry = test_pool_entry(pool, &key);
	uint32_t extent = test_pool_extent_of(pool, &key);

	atomic_store(&entry->word[3], 0);
	return extent;
}

Test(reclaim_damage, entries_behind_a_bad_header_leave_nothing)
{
	struct pool pool = test_pool_one_shard();
	uint32_t extent;

	store(&pool, "a", 100);
	store(&pool, "b", 100);
	store(&pool, "c", 100);
	extent = damage(&pool, "b");
	cr_assert_eq(test_pool_reclaim(&pool, 0, extent, now), OK);
	cr_expect_eq(test_pool_entries(&pool), 0);
	cr_expect_eq(test_pool_stat(&pool, STAT_recovery_slots_dropped), 2);
	EXPECT_SOUND(&pool);
}

Test(reclaim_damage, a_chain_with_a_bad_header_leaves_nothing)
{
	struct pool pool = test_pool_make(16u << 20, 16u << 10, 1);
	struct key key = test_pool_key(&pool, "k");
	uint32_t extent;

	store(&pool, "k", LARGE_BYTES);
	extent = damage(&pool, "k");
	cr_assert_eq(test_pool_reclaim(&pool, pool_shard_of(&pool, key.hash),
	    extent, now), OK);
	cr_expect_eq(test_pool_entries(&pool), 0);
	cr_expect_eq(pool.shards_private[pool_shard_of(&pool,
	    key.hash)].main_entries, 0);
	EXPECT_SOUND(&pool);
}
