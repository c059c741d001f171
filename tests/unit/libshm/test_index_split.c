/* SPDX-License-Identifier: ISC */

#include "index.h"

#include "point.h"
#include "prng.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static const struct boot_ms now = { 5000 };

static char texts[20000][TEST_KEY_BYTES];

static struct key
numbered(const struct pool *pool, unsigned i)
{
	return test_pool_number_key(pool, texts[i], i);
}

static void
store(const struct pool *pool, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		struct key key = numbered(pool, i);

		cr_assert_eq(test_pool_set(pool, &key, texts[i], now), OK);
	}
}

static unsigned
missing(const struct pool *pool, unsigned count)
{
	unsigned missed = 0;

	for (unsigned i = 0; i < count; i++) {
		struct key key = numbered(pool, i);

		missed += strcmp(test_pool_get(pool, &key, now),
		    texts[i]) != 0;
	}
	return missed;
}

Test(index_split, buckets_grow_with_the_entries)
{
	struct pool pool = test_pool_make(16u << 20, 0, 1);
	unsigned shards = pool.g.shard_count;
	uint64_t buckets = 0;

	store(&pool, 0, 20000);
	for (uint32_t s = 0; s < shards; s++) {
		buckets += index_bucket_count(&pool, s);
	}
	cr_expect_geq(buckets * BUCKET_TARGET_ENTRIES + shards, 20000,
	    "%llu buckets", (unsigned long long)buckets);
	cr_expect_leq(buckets * BUCKET_TARGET_ENTRIES, 20000 + shards *
	    64 * BUCKET_TARGET_ENTRIES);
	cr_expect_eq(missing(&pool, 20000), 0);
	cr_expect_eq(test_pool_stat(&pool, STAT_index_bucket_full), 0);
	EXPECT_SOUND(&pool);
}

Test(index_split, after_each_one_every_entry_is_found_once)
{
	struct pool pool = test_pool_one_shard();
	uint64_t before = index_bucket_count(&pool, 0);

	for (unsigned i = 0; i < 900; i++) {
		store(&pool, i, i + 1);
		if (index_bucket_count(&pool, 0) != before) {
			before = index_bucket_count(&pool, 0);
			cr_assert_eq(missing(&pool, i + 1), 0, "%llu buckets",
			    (unsigned long long)before);
			EXPECT_SOUND(&pool);
		}
	}
	cr_expect_eq(before, 129);
	cr_expect_eq(test_pool_stat(&pool, STAT_index_splits), 65);
}

/*
 * A crowd in bucket 0, all of it in overflow lines; bit 6 of the hash, by
 * which the first split divides it, is set in every `period`th.
 */
static void
store_crowd(const struct pool *pool, unsigned count, unsigned period)
{
	for (unsigned i = 0; i < count; i++) {
		struct key key;

		(void)snprintf(texts[i], sizeof(texts[i]), "crowd-%u", i);
		key = test_pool_key_of_hash(texts[i],
		    (uint64_t)(i + 1) << SLOT_TAG_SHIFT |
		    (i % period == 0 ? 64 : 0));
		cr_assert_eq(test_pool_set(pool, &key, texts[i], now), OK);
	}
}

static void
expect_crowd(const struct pool *pool, unsigned count, unsigned period,
    const char *when)
{
	for (unsigned i = 0; i < count; i++) {
		struct key key = test_pool_key_of_hash(texts[i],
		    (uint64_t)(i + 1) << SLOT_TAG_SHIFT |
		    (i % period == 0 ? 64 : 0));

		cr_expect_str_eq(test_pool_get(pool, &key, now), texts[i],
		    "%s", when);
	}
}

/* Others, in buckets 1 to 63, until the first bucket is split. */
static void
split_bucket_0(const struct pool *pool)
{
	for (unsigned i = 10000; index_bucket_count(pool, 0) == 64; i++) {
		struct key key;

		(void)test_pool_number_key(pool, texts[i], i);
		key = test_pool_key_of_hash(texts[i],
		    (uint64_t)i << SLOT_TAG_SHIFT | (1 + i % 63));
		cr_assert_eq(test_pool_set(pool, &key, "x", now), OK);
	}
	cr_assert_eq(index_bucket_count(pool, 0), 65);
}

Test(index_split, overflow_lines_go_with_the_entries)
{
	static const struct {
		unsigned	count;
		unsigned	period;
	} cases[] = {
		{ 57, 1 }, { 57, 2 }, { 57, 57 }, { 57, 8 }, { 9, 1 },
		{ 16, 2 }, { 8, 1 }, { 15, 1 },
	};

	for (unsigned i = 0; i < 8; i++) {
		struct pool pool = test_pool_one_shard();

		store_crowd(&pool, cases[i].count, cases[i].period);
		split_bucket_0(&pool);
		expect_crowd(&pool, cases[i].count, cases[i].period,
		    "after the split");
		EXPECT_SOUND(&pool);
		pool_destroy(&pool);
	}
}

Test(index_split, it_waits_when_there_are_no_lines_to_move_to)
{
	struct pool pool = test_pool_one_shard();
	uint32_t used;

	store_crowd(&pool, 57, 1);
	used = pool.shards_private[0].overflow_used;
	/* As if every line of the page was in use. */
	pool.shards_private[0].overflow_used = 1024;
	atomic_store(&pool.shards[0].entry_count, 64 * 7 + 1);
	index_split_if_due(&pool, 0);
	cr_expect_eq(index_bucket_count(&pool, 0), 64);
	pool.shards_private[0].overflow_used = used;
	atomic_store(&pool.shards[0].entry_count, 57);
	expect_crowd(&pool, 57, 1, "not split");
	EXPECT_SOUND(&pool);
}

Test(index_split, a_slot_that_leads_nowhere_does_not_live_on)
{
	struct pool pool = test_pool_one_shard();
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY, 0);

	atomic_store(&line->word[5], slot_make(1ull << 60, 0, 9, 4096));
	split_bucket_0(&pool);
	cr_expect_eq(atomic_load(&line->word[5]), 0);
	cr_expect_eq(test_pool_stat(&pool, STAT_recovery_slots_dropped), 1);
	EXPECT_SOUND(&pool);
}

#ifdef SHM_TEST_POINTS
static const struct pool *hooked_pool;
static unsigned looks;

static void
look_during_a_split(const char *name)
{
	if (strncmp(name, "split_", 6) == 0) {
		shm_point_hook = NULL;
		expect_crowd(hooked_pool, 20, 2, name);
		looks++;
		shm_point_hook = look_during_a_split;
	}
}

Test(index_split, every_entry_is_found_at_every_step_of_it)
{
	struct pool pool = test_pool_one_shard();

	hooked_pool = &pool;
	store_crowd(&pool, 20, 2);
	shm_point_hook = look_during_a_split;
	split_bucket_0(&pool);
	shm_point_hook = NULL;
	cr_expect_eq(looks, 12, "copied, published, 10 cleared: %u", looks);
	EXPECT_SOUND(&pool);
}
#endif

Test(index_split, random_sets_and_deletes_keep_it_sound)
{
	struct pool pool = test_pool_four_shards();
	static bool stored[3000];
	struct prng prng;

	prng_init(&prng, 11);
	for (unsigned i = 0; i < 60000; i++) {
		unsigned n = prng_below(&prng, 3000);
		struct key key = numbered(&pool, n);

		if (prng_one_in(&prng, 3)) {
			cr_assert_eq(write_delete(&pool, &key, 0, now),
			    stored[n] ? OK : MISS, "step %u", i);
			stored[n] = false;
		} else {
			cr_assert_eq(test_pool_set(&pool, &key, texts[n],
			    now), OK);
			stored[n] = test_pool_stat(&pool,
			    STAT_evicted_small) == 0;
		}
		if (i % 10000 == 0) {
			EXPECT_SOUND(&pool);
		}
	}
	cr_expect_eq(test_pool_stat(&pool, STAT_index_bucket_full), 0);
	EXPECT_SOUND(&pool);
}
