/* SPDX-License-Identifier: ISC */

#include "chain.h"

#include "chain_write.h"
#include "extent.h"
#include "sweep.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

#define EXTENT_BYTES	(16u << 10)
#define VALUE_MAX	(64u << 10)

static const struct boot_ms now = { 5000 };

static uint8_t value[VALUE_MAX];
static uint8_t out[VALUE_MAX + 8];

/* 16 MiB of 16 KiB extents: a chain has up to 16 parts. */
static struct pool
make(void)
{
	struct pool pool = test_pool_make(16u << 20, EXTENT_BYTES, 2);

	cr_assert_geq(pool.g.chain_max_bytes, VALUE_MAX + EXTENT_BYTES);
	return pool;
}

static struct entry_spec
spec_of(const struct pool *pool, const struct key *key, uint64_t bytes,
    uint64_t seed)
{
	test_pool_fill(value, bytes, seed);
	return test_pool_spec(pool, key, value, bytes);
}

static void
store(const struct pool *pool, const struct key *key, uint64_t bytes,
    uint64_t seed)
{
	struct entry_spec spec = spec_of(pool, key, bytes, seed);
	uint64_t version;

	cr_assert_eq(write_set(pool, &spec, now, &version), OK);
}

static struct read_hit
expect_value(const struct pool *pool, const struct key *key, uint64_t bytes,
    uint64_t seed)
{
	struct read_hit hit = { .value_bytes = 0 };

	cr_assert_eq(read_copy(pool, key, now, out, sizeof(out), &hit), OK);
	cr_expect_eq(hit.value_bytes, bytes);
	cr_expect(test_pool_filled(out, bytes, seed));
	return hit;
}

static uint32_t
parts_of(const struct pool *pool, uint32_t head)
{
	return atomic_load(&chain_part_of(pool, head)->parts);
}

Test(chain, a_value_lies_in_as_many_extents_as_it_needs)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	uint64_t first = EXTENT_BYTES - 64 - 49;

	for (unsigned i = 0; i < 3; i++) {
		uint64_t bytes = first + i * (EXTENT_BYTES - 64);

		store(&pool, &key, bytes, i);
		cr_expect_eq(parts_of(&pool, expect_value(&pool, &key, bytes,
		    i).extent), i + 1);
		store(&pool, &key, bytes + 1, i);
		cr_expect_eq(parts_of(&pool, expect_value(&pool, &key,
		    bytes + 1, i).extent), i + 2);
		EXPECT_SOUND(&pool);
	}
}

Test(chain, every_part_carries_id_index_and_sum)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	uint32_t extent;

	store(&pool, &key, VALUE_MAX, 1);
	hit = expect_value(&pool, &key, VALUE_MAX, 1);
	extent = hit.extent;
	for (uint32_t i = 0; i < 5; i++) {
		struct chain_part *part = chain_part_of(&pool, extent);

		cr_expect_eq(atomic_load(&part->id), hit.version);
		cr_expect_eq(atomic_load(&part->index), i);
		extent = atomic_load(&part->next);
	}
	cr_expect_eq(extent, 0);
}

Test(chain, an_overwrite_or_delete_gives_all_parts_back)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	uint32_t before;

	/* The shard's index has its pages now. */
	cr_assert_eq(test_pool_set(&pool, &key, "short", now), OK);
	before = extent_free_count(&pool);
	store(&pool, &key, VALUE_MAX, 1);
	cr_expect_leq(extent_free_count(&pool), before - 5);
	store(&pool, &key, VALUE_MAX, 2);
	(void)expect_value(&pool, &key, VALUE_MAX, 2);
	EXPECT_SOUND(&pool);
	before = extent_free_count(&pool);
	/* The short one stays in main, which opens an extent for it. */
	cr_assert_eq(test_pool_set(&pool, &key, "short", now), OK);
	cr_expect_eq(extent_free_count(&pool), before + 5 - 1);
	store(&pool, &key, VALUE_MAX, 3);
	cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
	cr_expect_eq(extent_free_count(&pool), before + 5 - 1);
	EXPECT_SOUND(&pool);
}

Test(chain, an_early_value_is_seen_growing_and_then_whole)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = spec_of(&pool, &key, VALUE_MAX, 4);
	struct chain_writer writer;
	struct read_hit hit;
	uint64_t version, done = 0;

	cr_assert_eq(test_pool_set(&pool, &key, "old", now), OK);
	cr_assert_eq(chain_begin(&pool, &spec, true, now, &writer), OK);
	while (done < VALUE_MAX) {
		size_t copied;

		cr_assert_eq(read_copy(&pool, &key, now, out, sizeof(out),
		    &hit), GROWING);
		cr_assert_eq(hit.value_bytes, done);
		cr_assert_eq(read_chain(&pool, &hit, 0, out, sizeof(out),
		    &copied), OK);
		cr_assert_eq(copied, done);
		cr_assert_arr_eq(out, value, done);
		EXPECT_SOUND(&pool);
		cr_assert_eq(chain_append(&pool, &writer, value + done,
		    VALUE_MAX / 16, now), OK);
		done += VALUE_MAX / 16;
	}
	cr_expect_eq(read_peek(&pool, &key, now, &hit), GROWING);
	cr_assert_eq(chain_finish(&pool, &writer, now, &version), OK);
	cr_expect_eq(expect_value(&pool, &key, VALUE_MAX, 4).version,
	    version);
	EXPECT_SOUND(&pool);
}

Test(chain, a_late_value_leaves_the_old_one_until_it_is_whole)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = spec_of(&pool, &key, VALUE_MAX, 5);
	struct chain_writer writer;
	uint64_t version;

	cr_assert_eq(test_pool_set(&pool, &key, "old", now), OK);
	cr_assert_eq(chain_begin(&pool, &spec, false, now, &writer), OK);
	cr_assert_eq(chain_append(&pool, &writer, value, VALUE_MAX, now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "old");
	EXPECT_SOUND(&pool);
	cr_assert_eq(chain_finish(&pool, &writer, now, &version), OK);
	(void)expect_value(&pool, &key, VALUE_MAX, 5);
	EXPECT_SOUND(&pool);
}

Test(chain, an_empty_value_can_be_one_too)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = spec_of(&pool, &key, 0, 0);
	struct chain_writer writer;
	uint64_t version;

	cr_assert_eq(chain_begin(&pool, &spec, true, now, &writer), OK);
	cr_assert_eq(chain_finish(&pool, &writer, now, &version), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "");
	EXPECT_SOUND(&pool);
}

Test(chain, an_aborted_one_is_a_miss_and_its_extents_come_back)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = spec_of(&pool, &key, VALUE_MAX, 6);
	struct chain_writer writer;
	uint32_t before;

	cr_assert_eq(test_pool_set(&pool, &key, "old", now), OK);
	before = extent_free_count(&pool);
	for (int early = 1; early >= 0; early--) {
		cr_assert_eq(chain_begin(&pool, &spec, early == 1, now,
		    &writer), OK);
		cr_assert_eq(chain_append(&pool, &writer, value, 40000, now),
		    OK);
		chain_abort(&pool, &writer);
		cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
		cr_expect_eq(extent_free_count(&pool), before);
		EXPECT_SOUND(&pool);
	}
	chain_abort(&pool, &writer);	/* a second time: nothing */
	cr_expect_eq(test_pool_stat(&pool, STAT_chain_aborts), 2);
}

Test(chain, overwritten_while_it_is_written_the_writer_gets_full)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = spec_of(&pool, &key, VALUE_MAX, 7);
	struct chain_writer writer;
	uint64_t version;

	cr_assert_eq(chain_begin(&pool, &spec, true, now, &writer), OK);
	cr_assert_eq(chain_append(&pool, &writer, value, 30000, now), OK);
	cr_assert_eq(test_pool_set(&pool, &key, "newer", now), OK);
	cr_expect_eq(chain_append(&pool, &writer, value, 30000, now), FULL);
	cr_expect_eq(chain_finish(&pool, &writer, now, &version), FULL);
	chain_abort(&pool, &writer);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "newer");
	EXPECT_SOUND(&pool);
}

Test(chain, a_writer_whose_head_is_anothers_by_now_harms_nothing)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = spec_of(&pool, &key, VALUE_MAX, 8);
	struct chain_writer first, second;
	uint64_t version;

	cr_assert_eq(chain_begin(&pool, &spec, true, now, &first), OK);
	cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
	cr_assert_eq(chain_begin(&pool, &spec, true, now, &second), OK);
	cr_assert_eq(second.head, first.head, "the same extent again");
	cr_expect_eq(chain_append(&pool, &first, "foreign", 7, now), FULL);
	cr_expect_eq(chain_finish(&pool, &first, now, &version), FULL);
	chain_abort(&pool, &first);
	cr_assert_eq(chain_append(&pool, &second, value, VALUE_MAX, now), OK);
	cr_assert_eq(chain_finish(&pool, &second, now, &version), OK);
	(void)expect_value(&pool, &key, VALUE_MAX, 8);
	EXPECT_SOUND(&pool);
}

Test(chain, one_that_stands_still_is_swept_after_its_time)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = spec_of(&pool, &key, VALUE_MAX, 9);
	struct chain_writer writer;
	struct boot_ms late = { now.ms + 1000 + CHAIN_STALL_MS };
	struct read_hit hit;
	uint32_t shard = pool_shard_of(&pool, key.hash);

	cr_assert_eq(chain_begin(&pool, &spec, true, now, &writer), OK);
	cr_assert_eq(chain_append(&pool, &writer, value, 20000,
	    (struct boot_ms){ now.ms + 1000 }), OK);
	(void)sweep_shard(&pool, shard, 10000, late);
	cr_expect_eq(read_peek(&pool, &key, late, &hit), GROWING);
	late.ms++;
	(void)sweep_shard(&pool, shard, 10000, late);
	cr_expect_eq(read_peek(&pool, &key, late, &hit), MISS);
	cr_expect_eq(chain_append(&pool, &writer, value, 1, late), FULL);
	EXPECT_SOUND(&pool);
}

Test(chain, conditions_are_looked_at_again_at_the_end)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = spec_of(&pool, &key, VALUE_MAX, 10);
	struct chain_writer writer;
	uint64_t version;

	spec.when = SET_IF_ABSENT;
	cr_assert_eq(chain_begin(&pool, &spec, false, now, &writer), OK);
	cr_assert_eq(chain_append(&pool, &writer, value, VALUE_MAX, now), OK);
	cr_assert_eq(test_pool_set(&pool, &key, "first", now), OK);
	cr_expect_eq(chain_finish(&pool, &writer, now, &version), EXISTS);
	chain_abort(&pool, &writer);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "first");
	cr_expect_eq(chain_begin(&pool, &spec, true, now, &writer), EXISTS);
	spec.when = SET_IF_VERSION;
	spec.version = 12345;
	cr_expect_eq(chain_begin(&pool, &spec, true, now, &writer), CHANGED);
	EXPECT_SOUND(&pool);
}

Test(chain, more_than_the_largest_is_refused_at_once_or_on_the_way)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = test_pool_spec(&pool, &key, NULL,
	    pool.g.chain_max_bytes);
	struct chain_writer writer;
	uint64_t most = geometry_value_max_bytes(&pool.g);
	uint64_t done = 0, version;

	cr_expect_eq(chain_begin(&pool, &spec, true, now, &writer),
	    TOO_LARGE);
	spec.value_bytes = 0;	/* not known */
	cr_assert_eq(chain_begin(&pool, &spec, false, now, &writer), OK);
	while (chain_append(&pool, &writer, value, 10000, now) == OK) {
		done += 10000;
		cr_assert_leq(done, pool.g.chain_max_bytes);
	}
	cr_expect_gt(done + 10000, most);
	cr_expect_eq(chain_append(&pool, &writer, value, SIZE_MAX, now),
	    TOO_LARGE);
	cr_assert_eq(chain_finish(&pool, &writer, now, &version), OK,
	    "what was taken is whole");
	EXPECT_SOUND(&pool);
}
