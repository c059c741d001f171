/* SPDX-License-Identifier: ISC */

#include "epoch.h"

#include "point.h"
#include "prng.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct boot_ms now = { 5000 };

static uint64_t
tag_of(const struct pool *pool, unsigned number)
{
	return epoch_tag_hash(pool, &number, sizeof(number));
}

static void
store_at(const struct pool *pool, const char *text, uint64_t tag,
    uint64_t epoch)
{
	struct key key = test_pool_key(pool, text);
	struct entry_spec spec = test_pool_spec(pool, &key, text,
	    strlen(text));
	uint64_t version;

	spec.tags = &tag;
	spec.tag_count = tag != 0;
	spec.epoch = epoch;
	cr_assert_eq(write_set(pool, &spec, now, &version), OK);
}

static void
store(const struct pool *pool, const char *text, uint64_t tag)
{
	store_at(pool, text, tag, epoch_now(pool));
}

static const char *
get(const struct pool *pool, const char *text)
{
	struct key key = test_pool_key(pool, text);

	return test_pool_get(pool, &key, now);
}

static enum epoch_verdict
freshness(const struct pool *pool, const char *text)
{
	struct key key = test_pool_key(pool, text);
	struct read_hit hit;
	enum result result = read_peek(pool, &key, now, &hit);

	cr_assert(result == OK || result == STALE, "%s",
	    result_name(result));
	return hit.freshness;
}

Test(epoch, a_hard_purge_of_a_tag_kills_what_carries_it)
{
	struct pool pool = test_pool_one_shard();
	uint64_t number;

	store(&pool, "a", tag_of(&pool, 1));
	store(&pool, "b", tag_of(&pool, 2));
	store(&pool, "c", 0);
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 1),
	    EPOCH_KIND_HARD, &number), OK);
	cr_expect_eq(number, epoch_now(&pool));
	cr_expect_str_eq(get(&pool, "a"), "MISS");
	cr_expect_str_eq(get(&pool, "b"), "b");
	cr_expect_str_eq(get(&pool, "c"), "c");
	EXPECT_SOUND(&pool);
}

Test(epoch, any_of_32_tags_is_enough)
{
	struct pool pool = test_pool_one_shard();
	uint64_t tags[TAGS_MAX];
	struct key key = test_pool_key(&pool, "k");
	uint64_t number, version;

	for (unsigned i = 0; i < TAGS_MAX; i++) {
		tags[i] = tag_of(&pool, i);
	}
	for (unsigned i = 0; i < TAGS_MAX; i++) {
		struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);

		spec.tags = tags;
		spec.tag_count = TAGS_MAX;
		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
		cr_expect_str_eq(test_pool_get(&pool, &key, now), "v");
		cr_assert_eq(epoch_purge_tag(&pool, tags[i], EPOCH_KIND_HARD,
		    &number), OK);
		cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS",
		    "tag %u", i);
	}
}

Test(epoch, soft_is_stale_and_invalid_asks_for_validation)
{
	struct pool pool = test_pool_one_shard();
	uint64_t number;

	store(&pool, "soft", tag_of(&pool, 1));
	store(&pool, "invalid", tag_of(&pool, 2));
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 1),
	    EPOCH_KIND_SOFT, &number), OK);
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 2),
	    EPOCH_KIND_INVALID, &number), OK);
	cr_expect_str_eq(get(&pool, "soft"), "STALE");
	cr_expect_eq(freshness(&pool, "soft"), EPOCH_SOFT);
	cr_expect_eq(freshness(&pool, "invalid"), EPOCH_INVALID);
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 1),
	    EPOCH_KIND_INVALID, &number), OK);
	cr_expect_eq(freshness(&pool, "soft"), EPOCH_INVALID,
	    "the stronger one counts");
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 1),
	    EPOCH_KIND_HARD, &number), OK);
	cr_expect_str_eq(get(&pool, "soft"), "MISS");
	EXPECT_SOUND(&pool);
}

Test(epoch, a_purge_of_all_has_the_three_kinds_too)
{
	struct pool pool = test_pool_four_shards();
	uint64_t number;

	store(&pool, "plain", 0);
	store(&pool, "tagged", tag_of(&pool, 1));
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_SOFT, &number), OK);
	cr_expect_eq(freshness(&pool, "plain"), EPOCH_SOFT);
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_INVALID, &number), OK);
	cr_expect_eq(freshness(&pool, "tagged"), EPOCH_INVALID);
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	cr_expect_str_eq(get(&pool, "plain"), "MISS");
	cr_expect_str_eq(get(&pool, "tagged"), "MISS");
	cr_expect_eq(number, 4);
	store(&pool, "plain", 0);
	cr_expect_eq(freshness(&pool, "plain"), EPOCH_ALIVE);
	EXPECT_SOUND(&pool);
}

Test(epoch, a_fill_from_before_a_purge_is_dead_one_after_it_lives)
{
	struct pool pool = test_pool_one_shard();
	uint64_t tag = tag_of(&pool, 1);
	uint64_t asked = epoch_now(&pool);
	uint64_t number;

	cr_assert_eq(epoch_purge_tag(&pool, tag, EPOCH_KIND_HARD, &number),
	    OK);
	store_at(&pool, "slow fill", tag, asked);
	cr_expect_str_eq(get(&pool, "slow fill"), "MISS");
	store(&pool, "same ms", tag);
	cr_expect_str_eq(get(&pool, "same ms"), "same ms");
	store_at(&pool, "slow, of no tag", 0, asked);
	cr_expect_str_eq(get(&pool, "slow, of no tag"), "slow, of no tag");
}

Test(epoch, an_entry_one_number_older_than_the_purge_is_dead)
{
	struct pool pool = test_pool_one_shard();
	uint64_t tag = tag_of(&pool, 1);
	uint64_t number;

	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 2),
		    EPOCH_KIND_SOFT, &number), OK);
	}
	store(&pool, "k", tag);
	cr_assert_eq(epoch_purge_tag(&pool, tag, EPOCH_KIND_HARD, &number),
	    OK);
	cr_expect_eq(epoch_judge(&pool, number - 1, &tag, 1), EPOCH_DEAD);
	cr_expect_eq(epoch_judge(&pool, number, &tag, 1), EPOCH_ALIVE);
	cr_expect_str_eq(get(&pool, "k"), "MISS");
}

Test(epoch, ten_thousand_hard_rows_are_exact_and_the_next_is_for_all)
{
	struct pool pool = test_pool_one_shard();
	uint64_t number, all;

	store(&pool, "untouched", tag_of(&pool, 99999));
	for (unsigned i = 0; i < EPOCH_ROWS_MAX; i++) {
		cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, i),
		    EPOCH_KIND_HARD, &number), OK);
	}
	/* A second purge of a tag takes no second row. */
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 7),
	    EPOCH_KIND_HARD, &number), OK);
	for (unsigned i = 0; i < EPOCH_ROWS_MAX; i++) {
		uint64_t tag = tag_of(&pool, i);
		uint64_t own = i == 7 ? number : 2 + i;

		cr_assert_eq(epoch_judge(&pool, own - 1, &tag, 1),
		    EPOCH_DEAD, "row %u", i);
		cr_assert_eq(epoch_judge(&pool, own, &tag, 1), EPOCH_ALIVE,
		    "row %u", i);
	}
	cr_expect_str_eq(get(&pool, "untouched"), "untouched");
	cr_expect_eq(test_pool_stat(&pool, STAT_epoch_rows_full), 0);

	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, EPOCH_ROWS_MAX),
	    EPOCH_KIND_HARD, &all), OK);
	cr_expect_eq(test_pool_stat(&pool, STAT_epoch_rows_full), 1);
	cr_expect_str_eq(get(&pool, "untouched"), "MISS");
	for (unsigned i = 0; i <= EPOCH_ROWS_MAX; i += 500) {
		uint64_t tag = tag_of(&pool, i);

		cr_expect_eq(epoch_judge(&pool, all - 1, &tag, 1),
		    EPOCH_DEAD, "row %u", i);
	}
	store(&pool, "afterwards", tag_of(&pool, 3));
	cr_expect_str_eq(get(&pool, "afterwards"), "afterwards");
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 4),
	    EPOCH_KIND_HARD, &number), OK);
	cr_expect_eq(test_pool_stat(&pool, STAT_epoch_rows_full), 1,
	    "there is room again");
	cr_expect_str_eq(get(&pool, "afterwards"), "afterwards");
	EXPECT_SOUND(&pool);
}

#define MODEL_TAGS	3000u

Test(epoch, the_sketch_may_say_more_than_was_asked_but_never_less)
{
	struct pool pool = test_pool_one_shard();
	static uint64_t purged[MODEL_TAGS][3];
	struct prng prng;
	unsigned alive = 0, judged = 0;

	prng_init(&prng, 1);
	for (unsigned i = 0; i < 6000; i++) {
		unsigned tag = prng_below(&prng, MODEL_TAGS);
		enum epoch_kind kind = (enum epoch_kind)prng_below(&prng, 3);

		cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, tag), kind,
		    &purged[tag][kind]), OK);
	}
	for (unsigned i = 0; i < 60000; i++) {
		unsigned tag = prng_below(&prng, MODEL_TAGS);
		uint64_t hash = tag_of(&pool, tag);
		uint64_t epoch = 1 + prng_below(&prng, 6001);
		enum epoch_verdict told = epoch_judge(&pool, epoch, &hash, 1);
		enum epoch_verdict least =
		    purged[tag][EPOCH_KIND_HARD] > epoch ? EPOCH_DEAD :
		    purged[tag][EPOCH_KIND_INVALID] > epoch ? EPOCH_INVALID :
		    purged[tag][EPOCH_KIND_SOFT] > epoch ? EPOCH_SOFT :
		    EPOCH_ALIVE;

		cr_assert_geq((int)told, (int)least, "tag %u at %llu", tag,
		    (unsigned long long)epoch);
		cr_assert((told == EPOCH_DEAD) == (least == EPOCH_DEAD),
		    "hard rows are exact: tag %u", tag);
		judged += least == EPOCH_ALIVE;
		alive += least == EPOCH_ALIVE && told == EPOCH_ALIVE;
	}
	cr_expect_gt(alive, judged / 4, "%u of %u", alive, judged);
	EXPECT_SOUND(&pool);
}

Test(epoch, a_claim_above_the_newest_number_is_lowered)
{
	struct pool pool = test_pool_one_shard();
	uint64_t number;

	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_SOFT, &number), OK);
	cr_expect_eq(epoch_clamp(&pool, UINT64_MAX), number);
	cr_expect_eq(epoch_clamp(&pool, number + 1), number);
	cr_expect_eq(epoch_clamp(&pool, number), number);
	cr_expect_eq(epoch_clamp(&pool, number - 1), number - 1);
	cr_expect_eq(epoch_clamp(&pool, 0), 0);
}

Test(epoch, tag_hashes_are_never_0_and_0_cannot_be_purged)
{
	struct pool pool = test_pool_one_shard();
	uint64_t number;

	cr_expect_neq(epoch_tag_hash(&pool, "", 0), 0);
	cr_expect_eq(epoch_tag_hash(&pool, "t", 1),
	    epoch_tag_hash(&pool, "t", 1));
	cr_expect_eq(epoch_purge_tag(&pool, 0, EPOCH_KIND_HARD, &number),
	    INVALID);
	cr_expect_eq(epoch_now(&pool), 1);
	/* The lock is free: the next purge has it. */
	cr_expect_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
}

Test(epoch, past_the_end_of_48_bits_nothing_purged_comes_back)
{
	struct pool pool = test_pool_one_shard();
	uint64_t tag = tag_of(&pool, 1);
	uint64_t end = 1ull << ENTRY_EPOCH_BITS;
	uint64_t number;

	atomic_store(&pool.header->epoch_newest, end - 4);
	for (unsigned i = 0; i < 8; i++) {
		store(&pool, "k", tag);
		store(&pool, "other", tag_of(&pool, 2));
		if (epoch_now(&pool) < end) {
			cr_expect_str_eq(get(&pool, "k"), "k", "purge %u", i);
		}
		cr_expect_str_eq(get(&pool, "other"), "other", "purge %u", i);
		cr_assert_eq(epoch_purge_tag(&pool, tag, EPOCH_KIND_HARD,
		    &number), OK);
		cr_expect_eq(number, end - 3 + i);
		cr_expect_str_eq(get(&pool, "k"), "MISS", "purge %u", i);
		EXPECT_SOUND(&pool);
	}
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	cr_expect_str_eq(get(&pool, "other"), "MISS");
}

Test(epoch, a_reader_without_the_private_part_judges_the_same)
{
	struct pool pool = test_pool_one_shard();
	struct stats_block stats;
	struct pool view = test_pool_attach(&pool, &stats);
	uint64_t number;

	store(&pool, "k", tag_of(&pool, 1));
	cr_expect_str_eq(get(&view, "k"), "k");
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 1),
	    EPOCH_KIND_HARD, &number), OK);
	cr_expect_str_eq(get(&view, "k"), "MISS");
	cr_expect_eq(epoch_tag_hash(&view, "t", 1),
	    epoch_tag_hash(&pool, "t", 1));
}

#ifdef SHM_TEST_POINTS
static const struct pool *hooked_pool;
static uint64_t number_before;
static unsigned looks;

/* Whoever sees the new number sees the purge. */
static void
look_during_the_purge(const char *name)
{
	if (strncmp(name, "epoch_", 6) == 0 &&
	    epoch_now(hooked_pool) > number_before) {
		looks++;
		cr_expect_str_eq(get(hooked_pool, "k"), "MISS", "at %s",
		    name);
	}
}

Test(epoch, the_number_is_raised_after_what_it_stands_for)
{
	struct pool pool = test_pool_one_shard();
	uint64_t number;

	hooked_pool = &pool;
	store(&pool, "k", tag_of(&pool, 1));
	number_before = epoch_now(&pool);
	shm_point_hook = look_during_the_purge;
	cr_assert_eq(epoch_purge_tag(&pool, tag_of(&pool, 1),
	    EPOCH_KIND_HARD, &number), OK);
	shm_point_hook = NULL;
	cr_expect_geq(looks, 1, "a point after the raise was passed");
	store(&pool, "k", 0);
	number_before = number;
	shm_point_hook = look_during_the_purge;
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	shm_point_hook = NULL;
	cr_expect_geq(looks, 2);
}
#endif

Test(epoch, a_number_from_the_future_does_not_outlive_a_purge)
{
	struct pool pool = test_pool_one_shard();
	uint64_t number;

	store_at(&pool, "a", 0, epoch_now(&pool) + 1000);
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	cr_expect_str_eq(get(&pool, "a"), "MISS");
	EXPECT_SOUND(&pool);
}
