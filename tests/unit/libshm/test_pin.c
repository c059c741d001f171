/* SPDX-License-Identifier: ISC */

#include "pin.h"

#include "extent.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct boot_ms now = { 5000 };

/* A stored key and the hit on it, as a worker pins it. */
static struct read_hit
hit_on(const struct pool *pool, const char *text)
{
	struct key key = test_pool_key(pool, text);
	struct read_hit hit;

	cr_assert_eq(test_pool_set(pool, &key, "pinned bytes", now), OK);
	cr_assert_eq(read_peek(pool, &key, now, &hit), OK);
	return hit;
}

Test(pin, the_bytes_stand_until_the_release)
{
	struct pool pool = test_pool_one_shard();
	struct read_hit hit = hit_on(&pool, "k");
	struct key key = test_pool_key(&pool, "k");
	struct read_view view;

	cr_assert_eq(read_view(&pool, &key, now, 0, &view, &hit), OK);
	cr_assert(pin_acquire(&pool, hit.extent, hit.generation));
	cr_assert_eq(test_pool_reclaim(&pool, 0, hit.extent, now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
	cr_expect_eq(pool.shards_private[0].limbo.count, 1);
	/* Sets that turn the whole pool over do not touch it. */
	for (unsigned i = 0; i < 4000; i++) {
		char text[TEST_KEY_BYTES];
		struct key other = test_pool_number_key(&pool, text, i);
		static const char value[3000];
		struct entry_spec spec = test_pool_spec(&pool, &other, value,
		    sizeof(value));
		uint64_t version;

		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	}
	cr_expect_arr_eq(view.part[0].iov_base, "pinned bytes", 12);
	EXPECT_SOUND(&pool);
	pin_release(&pool, hit.extent);
	(void)extent_settle_limbo(&pool, 0);
	cr_expect_eq(pool.shards_private[0].limbo.count, 0);
	EXPECT_SOUND(&pool);
}

Test(pin, another_generation_is_refused_and_leaves_no_pin)
{
	struct pool pool = test_pool_one_shard();
	struct read_hit hit = hit_on(&pool, "k");

	cr_expect_not(pin_acquire(&pool, hit.extent, hit.generation + 2));
	cr_expect_not(pin_any(&pool, hit.extent));
	cr_expect_eq(test_pool_reclaim(&pool, 0, hit.extent, now), OK);
	cr_expect_not(pin_acquire(&pool, hit.extent, hit.generation));
	cr_expect_not(pin_any(&pool, hit.extent));
	cr_expect_eq(test_pool_stat(&pool, STAT_pins_refused), 2);
}

Test(pin, pins_of_one_worker_add_up)
{
	struct pool pool = test_pool_one_shard();
	struct read_hit hit = hit_on(&pool, "k");

	cr_assert(pin_acquire(&pool, hit.extent, hit.generation));
	cr_assert(pin_acquire(&pool, hit.extent, hit.generation));
	pin_release(&pool, hit.extent);
	cr_expect(pin_any(&pool, hit.extent));
	pin_release(&pool, hit.extent);
	cr_expect_not(pin_any(&pool, hit.extent));
}

Test(pin, the_65536th_on_one_extent_is_refused)
{
	struct pool pool = test_pool_one_shard();
	struct read_hit hit = hit_on(&pool, "k");

	for (unsigned i = 0; i < UINT16_MAX; i++) {
		cr_assert(pin_acquire(&pool, hit.extent, hit.generation),
		    "pin %u", i);
	}
	cr_expect_not(pin_acquire(&pool, hit.extent, hit.generation));
	for (unsigned i = 0; i < UINT16_MAX; i++) {
		cr_assert(pin_any(&pool, hit.extent), "pin %u", i);
		pin_release(&pool, hit.extent);
	}
	cr_expect_not(pin_any(&pool, hit.extent));
}

Test(pin, who_is_no_worker_cannot_pin)
{
	struct pool pool = test_pool_one_shard();
	struct read_hit hit = hit_on(&pool, "k");
	struct stats_block stats;
	struct pool view = test_pool_attach(&pool, &stats);

	cr_expect_not(pin_acquire(&view, hit.extent, hit.generation));
	pool_become_worker(&pool, pool.g.worker_count);
	cr_expect_not(pin_acquire(&pool, hit.extent, hit.generation));
	cr_expect_not(pin_hold_begin(&pool, 0));
	pool_become_worker(&pool, 0);
	cr_expect_not(pin_acquire(&pool, 0, 1));
	cr_expect_not(pin_acquire(&pool, pool.g.extent_count + 1, 1));
	cr_expect_not(pin_acquire(&pool, UINT32_MAX, 1));
}

Test(pin, long_holds_end_at_a_16th_of_the_fair_share)
{
	struct pool pool = test_pool_one_shard();
	struct pool other = pool;
	uint32_t most = geometry_fair_share(&pool.g) / 16;

	pool_become_worker(&other, 1);
	cr_assert_eq(most, 4);
	for (uint32_t i = 0; i < most; i++) {
		cr_expect(pin_hold_begin(i % 2 == 0 ? &pool : &other, 0),
		    "hold %u", i);
	}
	cr_expect_not(pin_hold_begin(&pool, 0));
	cr_expect_not(pin_hold_begin(&other, 0), "all workers together");
	pin_hold_end(&other, 0);
	cr_expect(pin_hold_begin(&pool, 0));
	cr_expect_not(pin_hold_begin(&other, 0));
}

Test(pin, a_dead_workers_pins_and_holds_are_given_back)
{
	struct pool pool = test_pool_one_shard();
	struct read_hit hit = hit_on(&pool, "k");
	struct pool dead = pool;

	pool_become_worker(&dead, 1);
	cr_assert(pin_acquire(&dead, hit.extent, hit.generation));
	cr_assert(pin_acquire(&pool, hit.extent, hit.generation));
	for (unsigned i = 0; i < 4; i++) {
		cr_assert(pin_hold_begin(&dead, 0));
	}
	pin_clear_worker(&pool, 1);
	cr_expect(pin_any(&pool, hit.extent), "the living one's stays");
	cr_expect(pin_hold_begin(&pool, 0));
	pin_release(&pool, hit.extent);
	cr_expect_not(pin_any(&pool, hit.extent));
	pin_clear_worker(&pool, UINT32_MAX);
	EXPECT_SOUND(&pool);
}

Test(pin, an_extent_that_a_dead_worker_held_comes_back)
{
	struct pool pool = test_pool_one_shard();
	struct read_hit hit = hit_on(&pool, "k");
	struct pool dead = pool;

	pool_become_worker(&dead, 1);
	cr_assert(pin_acquire(&dead, hit.extent, hit.generation));
	cr_assert_eq(test_pool_reclaim(&pool, 0, hit.extent, now), OK);
	cr_expect_eq(extent_settle_limbo(&pool, 0), 0);
	pin_clear_worker(&pool, 1);
	cr_expect_eq(extent_settle_limbo(&pool, 0), 1);
	EXPECT_SOUND(&pool);
}
