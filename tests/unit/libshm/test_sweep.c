/* SPDX-License-Identifier: ISC */

#include "sweep.h"

#include "epoch.h"
#include "extent.h"
#include "point.h"
#include "read.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct boot_ms now = { 5000 };
static const struct boot_ms later = { 6000 };

static uint8_t value[20000];

static void
store_until(const struct pool *pool, uint64_t number, uint64_t bytes,
    uint64_t hard_ms)
{
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(pool, text, number);
	struct entry_spec spec = test_pool_spec(pool, &key, value, bytes);
	uint64_t version;

	spec.hard_ms = hard_ms;
	cr_assert_eq(write_set(pool, &spec, now, &version), OK);
}

static bool
present(const struct pool *pool, uint64_t number, struct boot_ms at)
{
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(pool, text, number);
	struct read_hit hit;

	return read_peek(pool, &key, at, &hit) == OK;
}

static void
sweep_all(const struct pool *pool, struct boot_ms at)
{
	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		while (sweep_shard(pool, s, 5000, at) > 0) {
			continue;
		}
	}
}

Test(sweep, nothing_is_looked_at_before_its_time)
{
	struct pool pool = test_pool_one_shard();

	for (unsigned i = 0; i < 1000; i++) {
		store_until(&pool, i, 100, later.ms);
	}
	/* Extents begin as never swept for purges: one round. */
	(void)sweep_shard(&pool, 0, 100000, now);
	cr_expect_eq(sweep_shard(&pool, 0, 100000, (struct boot_ms){
	    later.ms - 1 }), 0);
	cr_expect_eq(test_pool_entries(&pool), 1000);
	cr_expect_eq(sweep_shard(&pool, 0, 100000, later), 1000);
	cr_expect_eq(test_pool_entries(&pool), 0);
	EXPECT_SOUND(&pool);
}

Test(sweep, expired_entries_give_their_extents_back)
{
	struct pool pool = test_pool_four_shards();
	uint32_t before;

	for (unsigned i = 0; i < 8; i++) {
		store_until(&pool, i, 10, UINT64_MAX);
	}
	before = extent_free_count(&pool);
	for (unsigned i = 100; i < 3000; i++) {
		store_until(&pool, i, 900, later.ms);
	}
	cr_assert_lt(extent_free_count(&pool), before / 2);
	sweep_all(&pool, later);
	cr_expect_geq(extent_free_count(&pool), before - 4,
	    "but the open ones: %u of %u", extent_free_count(&pool), before);
	for (unsigned i = 0; i < 8; i++) {
		cr_expect(present(&pool, i, later), "entry %u lives", i);
	}
	cr_expect_eq(test_pool_entries(&pool), 8);
	cr_expect_eq(test_pool_stat(&pool, STAT_expired), 2900);
	EXPECT_SOUND(&pool);
}

Test(sweep, a_million_small_entries_come_back_within_the_budget)
{
	struct pool pool = test_pool_make(64u << 20, 0, 1);
	const uint32_t budget = 10000;
	uint64_t stored = 0;
	uint32_t before, calls = 0;

	before = extent_free_count(&pool);
	while (extent_free_count(&pool) > pool.g.shard_count) {
		store_until(&pool, stored++, 8, later.ms);
	}
	cr_assert_gt(stored, 500000, "%llu", (unsigned long long)stored);
	cr_assert_eq(test_pool_entries(&pool), stored);
	for (uint32_t s = 0; s < pool.g.shard_count; s++) {
		uint32_t looked;

		do {
			looked = sweep_shard(&pool, s, budget, later);
			cr_assert_leq(looked, budget);
			calls++;
		} while (looked > 0);
	}
	cr_expect_leq(calls, stored / budget + 3 * pool.g.shard_count);
	cr_expect_eq(test_pool_entries(&pool), 0);
	cr_expect_eq(test_pool_stat(&pool, STAT_expired), stored);
	cr_expect_geq(extent_free_count(&pool) + 64, before,
	    "but index pages and open extents");
	EXPECT_SOUND(&pool);
}

Test(sweep, it_goes_on_where_the_last_call_stopped)
{
	struct pool pool = test_pool_one_shard();
	uint32_t sum = 0;

	for (unsigned i = 0; i < 1000; i++) {
		store_until(&pool, i, 100, later.ms);
	}
	for (unsigned i = 0; i < 100; i++) {
		uint32_t looked = sweep_shard(&pool, 0, 10, later);

		cr_assert_leq(looked, 10);
		sum += looked;
		EXPECT_SOUND(&pool);
	}
	cr_expect_geq(sum, 900);
	cr_expect_eq(test_pool_entries(&pool), 1000 - sum);
}

Test(sweep, purged_entries_go_too)
{
	struct pool pool = test_pool_one_shard();
	uint64_t tag = epoch_tag_hash(&pool, "t", 1), number, version;

	for (unsigned i = 0; i < 100; i++) {
		char text[TEST_KEY_BYTES];
		struct key key = test_pool_number_key(&pool, text, i);
		struct entry_spec spec = test_pool_spec(&pool, &key, value,
		    100);

		spec.tags = &tag;
		spec.tag_count = i % 2;
		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	}
	sweep_all(&pool, now);
	cr_assert_eq(epoch_purge_tag(&pool, tag, EPOCH_KIND_HARD, &number),
	    OK);
	sweep_all(&pool, now);
	cr_expect_eq(test_pool_entries(&pool), 50);
	cr_expect_eq(test_pool_stat(&pool, STAT_purged_dropped), 50);
	cr_expect_eq(sweep_shard(&pool, 0, 1000, now), 0, "once is enough");
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_SOFT, &number), OK);
	sweep_all(&pool, now);
	cr_expect_eq(test_pool_entries(&pool), 50, "stale is not dead");
	EXPECT_SOUND(&pool);
}

/* Extents where one entry in ten lives on. */
static void
store_mostly_dying(const struct pool *pool, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		store_until(pool, i, 900, i % 10 == 0 ? UINT64_MAX :
		    later.ms);
	}
}

Test(sweep, extents_with_little_alive_are_compacted)
{
	struct pool pool = test_pool_one_shard();
	uint32_t before;

	store_mostly_dying(&pool, 3000);
	before = extent_free_count(&pool);
	sweep_all(&pool, later);
	cr_expect_gt(extent_free_count(&pool), before + 30, "%u, before %u",
	    extent_free_count(&pool), before);
	for (unsigned i = 0; i < 3000; i += 10) {
		cr_expect(present(&pool, i, later), "entry %u", i);
	}
	cr_expect_eq(test_pool_entries(&pool), 300);
	EXPECT_SOUND(&pool);
}

#ifdef SHM_TEST_POINTS
static uint32_t compacted;

static void
count_compacted(const char *name)
{
	compacted += strcmp(name, "reclaim_stepped") == 0;
}

Test(sweep, compaction_is_paid_from_the_budget)
{
	struct pool pool = test_pool_one_shard();
	uint32_t looked, unpaid = 0;

	store_mostly_dying(&pool, 3000);
	shm_point_hook = count_compacted;
	do {
		compacted = 0;
		looked = sweep_shard(&pool, 0, 200, later);
		unpaid += compacted > looked;
		cr_assert_leq(looked, 200);
	} while (looked > 0);
	shm_point_hook = NULL;
	cr_expect_eq(unpaid, 0);
	cr_expect_eq(test_pool_entries(&pool), 300);
	EXPECT_SOUND(&pool);
}
#endif

Test(sweep, an_expiry_shortened_behind_its_back_is_not_forgotten)
{
	struct pool pool = test_pool_one_shard();
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(&pool, text, 0);

	store_until(&pool, 0, 100, UINT64_MAX);
	store_until(&pool, 1, 100, later.ms);
	store_until(&pool, 2, 100, UINT64_MAX);
	/* In the middle of the extent, past the first entry. */
	cr_assert_eq(sweep_shard(&pool, 0, 2, later), 2);
	cr_assert_eq(write_touch(&pool, &key, UINT64_MAX, later.ms + 500, 0,
	    later), OK);
	sweep_all(&pool, later);
	cr_assert_eq(test_pool_entries(&pool), 2);
	sweep_all(&pool, (struct boot_ms){ later.ms + 500 });
	cr_expect_eq(test_pool_entries(&pool), 1);
	EXPECT_SOUND(&pool);
}

Test(sweep, a_touch_makes_an_unexpiring_extent_due)
{
	struct pool pool = test_pool_one_shard();
	char text[TEST_KEY_BYTES];
	struct key key = test_pool_number_key(&pool, text, 7);

	for (unsigned i = 0; i < 20; i++) {
		store_until(&pool, i, 100, UINT64_MAX);
	}
	sweep_all(&pool, now);
	cr_assert_eq(write_touch(&pool, &key, UINT64_MAX, later.ms, 0, now),
	    OK);
	sweep_all(&pool, later);
	cr_expect_eq(test_pool_entries(&pool), 19);
	EXPECT_SOUND(&pool);
}

Test(sweep, chained_values_expire_as_one)
{
	struct pool pool = test_pool_one_shard();
	uint32_t before;

	store_until(&pool, 99, 10, UINT64_MAX);
	before = extent_free_count(&pool);
	for (unsigned i = 0; i < 10; i++) {
		store_until(&pool, i, sizeof(value), later.ms);
	}
	cr_assert_leq(extent_free_count(&pool), before - 10);
	sweep_all(&pool, later);
	cr_expect_eq(extent_free_count(&pool), before);
	cr_expect_eq(test_pool_entries(&pool), 1);
	EXPECT_SOUND(&pool);
}

Test(sweep, a_reclaim_or_an_overwrite_in_between_does_it_no_harm)
{
	struct pool pool = test_pool_one_shard();

	for (unsigned i = 0; i < 2000; i++) {
		store_until(&pool, i, 100, i % 3 == 0 ? later.ms :
		    UINT64_MAX);
	}
	for (unsigned i = 0; i < 400; i++) {
		(void)sweep_shard(&pool, 0, 7, later);
		store_until(&pool, i * 5 % 2000, 100, UINT64_MAX);
		if (i % 50 == 0) {
			(void)test_pool_reclaim(&pool, 0,
			    pool.shards_private[0].small.head, later);
			EXPECT_SOUND(&pool);
		}
	}
	EXPECT_SOUND(&pool);
}
