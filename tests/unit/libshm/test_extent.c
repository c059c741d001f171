/* SPDX-License-Identifier: ISC */

#include "extent.h"

#include "pin.h"
#include "point.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct boot_ms now = { 5000 };

static uint64_t
generation(const struct pool *pool, uint32_t extent)
{
	return atomic_load(&pool->generations[extent]);
}

static enum extent_role
role(const struct pool *pool, uint32_t extent)
{
	return extent_role_of(extent_state(pool, extent));
}

/* A main extent that is in no list, as extent_retire() wants it. */
static uint32_t
opened(const struct pool *pool, uint32_t shard)
{
	uint32_t extent = extent_take(pool, shard, EXTENT_SPARE);

	cr_assert_neq(extent, 0);
	extent_open(pool, shard, extent, EXTENT_MAIN);
	extent_list_remove(pool, &pool->shards_private[shard].main, extent);
	return extent;
}

Test(extent, taken_opened_and_retired_it_comes_back)
{
	struct pool pool = test_pool_one_shard();
	uint32_t before = extent_free_count(&pool);
	uint32_t extent = extent_take(&pool, 0, EXTENT_SPARE);
	uint64_t g = generation(&pool, extent);

	cr_expect_eq(extent_free_count(&pool), before - 1);
	cr_expect_eq(g & 1, 1, "odd while it holds nothing");
	extent_open(&pool, 0, extent, EXTENT_MAIN);
	cr_expect_eq(generation(&pool, extent), g + 1);
	cr_expect_eq(pool.shards_private[0].main.tail, extent);
	extent_list_remove(&pool, &pool.shards_private[0].main, extent);
	cr_expect(extent_retire(&pool, 0, extent));
	cr_expect_eq(role(&pool, extent), EXTENT_FREE);
	cr_expect_eq(generation(&pool, extent), g + 2);
	cr_expect_eq(extent_free_count(&pool), before);
	EXPECT_SOUND(&pool);
}

Test(extent, a_retired_one_is_odd_before_it_is_reused)
{
	struct pool pool = test_pool_one_shard();
	uint32_t extent = opened(&pool, 0);

	(void)extent_retire(&pool, 0, extent);
	cr_assert_eq(generation(&pool, extent) & 1, 1);
	cr_assert_eq(extent_take(&pool, 0, EXTENT_SPARE), extent);
	cr_assert_eq(generation(&pool, extent) & 1, 1);
}

Test(extent, a_pinned_one_waits_in_limbo_until_the_pin_is_gone)
{
	struct pool pool = test_pool_one_shard();
	uint32_t extent = opened(&pool, 0);
	uint32_t before = extent_free_count(&pool);

	cr_assert(pin_acquire(&pool, extent, generation(&pool, extent)));
	cr_expect_not(extent_retire(&pool, 0, extent));
	cr_expect_eq(role(&pool, extent), EXTENT_LIMBO);
	cr_expect_eq(extent_settle_limbo(&pool, 0), 0);
	cr_expect_eq(extent_free_count(&pool), before);
	EXPECT_SOUND(&pool);
	pin_release(&pool, extent);
	cr_expect_eq(extent_settle_limbo(&pool, 0), 1);
	cr_expect_eq(role(&pool, extent), EXTENT_FREE);
	cr_expect_eq(extent_free_count(&pool), before + 1);
	EXPECT_SOUND(&pool);
}

#ifdef SHM_TEST_POINTS
static const struct pool *hooked_pool;
static uint32_t hooked_extent;

/* Another worker's step w2, between the odd store and the look at pins. */
static void
pin_at_the_odd_store(const char *name)
{
	if (strcmp(name, "extent_odd") == 0) {
		atomic_store(&hooked_pool->pins[(uint64_t)hooked_extent *
		    hooked_pool->g.pin_stride + 1], 1);
	}
}

Test(extent, a_pin_stored_before_the_fence_is_seen)
{
	struct pool pool = test_pool_one_shard();

	hooked_pool = &pool;
	hooked_extent = opened(&pool, 0);
	shm_point_hook = pin_at_the_odd_store;
	cr_expect_not(extent_retire(&pool, 0, hooked_extent));
	shm_point_hook = NULL;
	cr_expect_eq(role(&pool, hooked_extent), EXTENT_LIMBO);
}
#endif

Test(extent, generations_go_on_over_the_end_of_64_bits)
{
	struct pool pool = test_pool_one_shard();
	uint32_t extent = opened(&pool, 0);
	static const uint64_t want[] = {
		UINT64_MAX - 2, UINT64_MAX - 1, UINT64_MAX, 0, 1, 2, 3,
	};

	atomic_store(&pool.generations[extent], UINT64_MAX - 3);
	(void)extent_retire(&pool, 0, extent);
	for (unsigned i = 0; i < 7; i += 2) {
		cr_expect_eq(generation(&pool, extent), want[i], "step %u", i);
		cr_assert_eq(extent_take(&pool, 0, EXTENT_SPARE), extent);
		extent_open(&pool, 0, extent, EXTENT_MAIN);
		cr_expect_eq(generation(&pool, extent), want[i] + 1,
		    "step %u", i + 1);
		extent_list_remove(&pool, &pool.shards_private[0].main,
		    extent);
		(void)extent_retire(&pool, 0, extent);
	}
}

Test(extent, births_keep_their_order_over_the_end_of_40_bits)
{
	struct pool pool = test_pool_one_shard();
	char text[TEST_KEY_BYTES];
	static const char value[60000 / 4];

	pool.shards_private[0].birth = STATE_BIRTH_MASK - 6;
	extent_set_role(&pool, 0, pool.shards_private[0].open_small,
	    EXTENT_SMALL);
	for (unsigned i = 0; i < 60; i++) {
		struct key key = test_pool_number_key(&pool, text, i);
		struct entry_spec spec = test_pool_spec(&pool, &key, value,
		    sizeof(value));
		uint64_t version;

		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
		EXPECT_SOUND(&pool);
	}
	cr_assert_gt(pool.shards_private[0].birth, STATE_BIRTH_MASK);
}

Test(extent, room_ends_with_the_extent)
{
	struct pool pool = test_pool_one_shard();
	uint32_t extent = opened(&pool, 0);
	uint32_t bytes = 64u << 10;
	uint32_t offset = 1;

	cr_expect_not_null(extent_reserve(&pool, extent, bytes, &offset));
	cr_expect_eq(offset, 0);
	cr_expect_null(extent_reserve(&pool, extent, bytes + 8, &offset));
	extent_commit(&pool, extent, bytes - 8);
	cr_expect_not_null(extent_reserve(&pool, extent, 8, &offset));
	cr_expect_eq(offset, bytes - 8);
	cr_expect_null(extent_reserve(&pool, extent, 16, &offset));
	extent_commit(&pool, extent, bytes);
	cr_expect_null(extent_reserve(&pool, extent, 8, &offset));
}

Test(extent, a_committed_length_beyond_the_end_gives_no_room)
{
	struct pool pool = test_pool_one_shard();
	uint32_t extent = opened(&pool, 0);
	uint32_t offset;

	extent_commit(&pool, extent, (64u << 10) + 8);
	cr_expect_null(extent_reserve(&pool, extent, 8, &offset));
	extent_commit(&pool, extent, UINT32_MAX - 7);
	cr_expect_null(extent_reserve(&pool, extent, 8, &offset));
}

Test(extent, a_damaged_free_list_is_made_anew_from_the_states)
{
	struct pool pool = test_pool_one_shard();
	uint32_t before = extent_free_count(&pool);
	uint32_t extent;

	pool.priv->free_head = UINT32_MAX;
	extent = extent_take(&pool, 0, EXTENT_SPARE);
	cr_expect_neq(extent, 0);
	cr_expect_eq(extent_free_count(&pool), before - 1);
	cr_expect(extent_retire(&pool, 0, extent));
	EXPECT_SOUND(&pool);
	/* A head that is in use: the state says so. */
	pool.priv->free_head = pool.shards_private[0].open_small;
	extent = extent_take(&pool, 0, EXTENT_SPARE);
	cr_expect_neq(extent, pool.shards_private[0].open_small);
	cr_expect(extent_retire(&pool, 0, extent));
	EXPECT_SOUND(&pool);
}

Test(extent, the_last_ones_are_kept_for_a_shard_below_its_share)
{
	struct pool pool = test_pool_four_shards();
	uint32_t extent;

	while (extent_take(&pool, 0, EXTENT_SPARE) != 0) {
		continue;
	}
	cr_expect_eq(extent_free_count(&pool), 0);
	cr_expect_eq(extent_take(&pool, 1, EXTENT_SPARE), 0);
	cr_expect_eq(atomic_load(&pool.priv->wanted_count), 1);
	cr_expect(extent_should_give(&pool, 0));
	cr_expect_not(extent_should_give(&pool, 1));
	/* One comes back: shard 0 has too many to get it. */
	extent = pool.shards_private[0].spare;
	pool.shards_private[0].spare = 0;
	cr_expect(extent_retire(&pool, 0, extent));
	cr_expect_eq(extent_take(&pool, 0, EXTENT_SPARE), 0);
	cr_expect_eq(extent_take(&pool, 1, EXTENT_SPARE), extent);
	cr_expect_eq(atomic_load(&pool.priv->wanted_count), 1,
	    "one extent is not its share");
	for (uint32_t e = 1, back = 0; back < 2; e++) {
		uint64_t state = extent_state(&pool, e);

		if (extent_owner_of(state) == 0 &&
		    extent_role_of(state) == EXTENT_SPARE) {
			cr_expect(extent_retire(&pool, 0, e));
			back++;
		}
	}
	cr_expect_neq(extent_take(&pool, 1, EXTENT_SPARE), 0);
	cr_expect_eq(atomic_load(&pool.priv->wanted_count), 0,
	    "there is more to be had");
}

Test(extent, lists_append_and_remove_at_both_ends_and_between)
{
	struct pool pool = test_pool_one_shard();
	struct extent_list list = { 0, 0, 0 };

	for (uint32_t e = 10; e <= 13; e++) {
		extent_list_append(&pool, &list, e);
	}
	extent_list_remove(&pool, &list, 12);
	extent_list_remove(&pool, &list, 99);
	cr_expect_eq(list.count, 3);
	extent_list_remove(&pool, &list, 13);
	cr_expect_eq(list.tail, 11);
	extent_list_remove(&pool, &list, 10);
	cr_expect_eq(list.head, 11);
	extent_list_remove(&pool, &list, 11);
	cr_expect_eq(list.head + list.tail + list.count, 0);
}
