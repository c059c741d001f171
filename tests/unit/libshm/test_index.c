/* SPDX-License-Identifier: ISC */

#include "index.h"

#include "extent.h"
#include "read.h"
#include "shard.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define CROWD		BUCKET_SLOTS_MAX
#define SOME_BUCKET	0x15ull

static const struct boot_ms now = { 5000 };

static char texts[2 * CROWD][TEST_KEY_BYTES];

/* Keys that share a bucket for ever and have tags of their own. */
static struct key
crowd_key(unsigned i)
{
	(void)snprintf(texts[i], sizeof(texts[i]), "crowd-%u", i);
	return test_pool_key_of_hash(texts[i], SOME_BUCKET |
	    (uint64_t)(i + 1) << SLOT_TAG_SHIFT);
}

static void
store_crowd(const struct pool *pool, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		struct key key = crowd_key(i);

		cr_assert_eq(test_pool_set(pool, &key, texts[i], now), OK);
	}
}

static unsigned
crowd_present(const struct pool *pool, unsigned count)
{
	unsigned present = 0;

	for (unsigned i = 0; i < count; i++) {
		struct key key = crowd_key(i);
		const char *got = test_pool_get(pool, &key, now);

		cr_expect(strcmp(got, texts[i]) == 0 ||
		    strcmp(got, "MISS") == 0, "%s for %s", got, texts[i]);
		present += strcmp(got, texts[i]) == 0;
	}
	return present;
}

Test(index, a_bucket_holds_57_entries_in_8_lines)
{
	struct pool pool = test_pool_one_shard();

	cr_assert_eq(CROWD, 57);
	store_crowd(&pool, 0, CROWD);
	cr_expect_eq(crowd_present(&pool, CROWD), CROWD);
	cr_expect_eq(test_pool_stat(&pool, STAT_index_bucket_full), 0);
	cr_expect_eq(test_pool_stat(&pool, STAT_index_overflow_lines), 7);
	EXPECT_SOUND(&pool);
}

Test(index, past_that_an_insert_replaces_the_oldest_and_counts_it)
{
	struct pool pool = test_pool_one_shard();
	struct key first = crowd_key(0), second = crowd_key(1);

	store_crowd(&pool, 0, CROWD);
	/* The first stored is younger by an overwrite: the second goes. */
	cr_assert_eq(test_pool_set(&pool, &first, texts[0], now), OK);
	store_crowd(&pool, CROWD, CROWD + 1);
	cr_expect_str_eq(test_pool_get(&pool, &second, now), "MISS");
	cr_expect_eq(crowd_present(&pool, CROWD + 1), CROWD);
	cr_expect_eq(test_pool_stat(&pool, STAT_index_bucket_full), 1);
	cr_expect_eq(test_pool_entries(&pool), CROWD);
	EXPECT_SOUND(&pool);
	store_crowd(&pool, CROWD + 1, 2 * CROWD);
	cr_expect_eq(test_pool_entries(&pool), CROWD);
	cr_expect_eq(crowd_present(&pool, 2 * CROWD), CROWD);
	EXPECT_SOUND(&pool);
}

Test(index, deletes_give_the_overflow_lines_back)
{
	struct pool pool = test_pool_one_shard();
	struct shard_private *sp = &pool.shards_private[0];
	uint32_t pages = sp->index_pages;

	store_crowd(&pool, 0, CROWD);
	cr_expect_eq(sp->overflow_used, 8);
	for (unsigned i = 0; i < CROWD; i++) {
		struct key key = crowd_key(i * 2 % CROWD);

		cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
		cr_assert_eq(crowd_present(&pool, CROWD), CROWD - 1 - i);
		EXPECT_SOUND(&pool);
	}
	cr_expect_eq(sp->overflow_used, 1, "%u lines left",
	    sp->overflow_used);
	cr_expect_geq(sp->index_pages, pages);
}

Test(index, a_page_of_lines_that_are_all_free_stays_a_page)
{
	struct pool pool = test_pool_one_shard();
	uint32_t page;

	store_crowd(&pool, 0, CROWD);
	page = atomic_load(&index_dir(&pool, 0, DIR_OVERFLOW)[0]);
	for (unsigned i = 0; i < CROWD; i++) {
		struct key key = crowd_key(i);

		cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
	}
	cr_expect_eq(atomic_load(&index_dir(&pool, 0, DIR_OVERFLOW)[0]),
	    page);
	cr_expect_eq(extent_role_of(extent_state(&pool, page)),
	    EXTENT_INDEX);
	cr_expect_eq(atomic_load(&pool.generations[page]) & 1, 1);
	EXPECT_SOUND(&pool);
}

Test(index, each_link_has_another_version_also_over_their_end)
{
	struct pool pool = test_pool_one_shard();
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY,
	    SOME_BUCKET);
	uint64_t last = 0;

	pool.shards_private[0].link_version = LINK_VERSION_MASK - 3;
	for (unsigned round = 0; round < 8; round++) {
		struct key key = crowd_key(8), other = crowd_key(7);
		uint64_t link;

		store_crowd(&pool, 0, 9);
		link = atomic_load(&line->word[LINE_SLOTS - 1]);
		cr_assert(slot_is_link(link), "round %u", round);
		cr_expect_neq(link, last, "round %u", round);
		cr_expect_eq(crowd_present(&pool, 9), 9);
		last = link;
		cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
		cr_assert_eq(write_delete(&pool, &other, 0, now), OK);
		cr_expect_not(slot_is_link(atomic_load(
		    &line->word[LINE_SLOTS - 1])), "round %u", round);
		EXPECT_SOUND(&pool);
	}
}

Test(index, without_an_overflow_page_the_first_line_is_all)
{
	struct pool pool = test_pool_one_shard();

	store_crowd(&pool, 0, 8);
	/* As if the pool had had no extent for the page. */
	atomic_store(&pool.shards[0].dir_pages[DIR_OVERFLOW], 0);
	for (unsigned i = 8; i < 12; i++) {
		struct key key = crowd_key(i);
		uint64_t word = slot_make(key.hash, 0, 1, 0);
		uint64_t replaced;

		index_insert(&pool, 0, key.hash, word, &replaced);
		cr_expect_neq(replaced, 0);
		cr_expect_neq(replaced, word);
	}
	cr_expect_eq(test_pool_stat(&pool, STAT_index_bucket_full), 4);
}

/* --- hostile mappings: a reader ends with a miss inside its bounds --- */

Test(index, absurd_bucket_counts_are_a_miss)
{
	struct pool pool = test_pool_one_shard();
	static const uint64_t counts[] = {
		0, 1ull << 63, UINT64_MAX, 1ull << 40, (1ull << 40) - 1,
		1ull << 32, 1025,
	};
	struct key key = test_pool_key_of_hash("k", UINT64_MAX);
	uint64_t sound = index_bucket_count(&pool, 0);

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	for (unsigned i = 0; i < 7; i++) {
		atomic_store(&pool.shards[0].bucket_count, counts[i]);
		cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS",
		    "count %llx", (unsigned long long)counts[i]);
		cr_expect_null(index_find(&pool, 0, &key));
	}
	atomic_store(&pool.shards[0].bucket_count, sound);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "v");
}

Test(index, writers_survive_absurd_bucket_counts_too)
{
	static const uint64_t counts[] = { 0, 1ull << 63, 1ull << 40 };

	for (unsigned i = 0; i < 3; i++) {
		struct pool pool = test_pool_one_shard();
		struct key key = test_pool_key(&pool, "k");

		atomic_store(&pool.shards[0].bucket_count, counts[i]);
		cr_expect_eq(test_pool_set(&pool, &key, "v", now), OK);
		(void)write_delete(&pool, &key, 0, now);
		cr_expect_eq(index_unlink_extent(&pool, 0, 1), 0);
		cr_expect_neq(test_pool_faults(&pool) & 1u << 2, 0,
		    "verify tells: count %u", i);
		pool_destroy(&pool);
	}
}

Test(index, directory_numbers_that_do_not_exist_are_a_miss)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	_Atomic uint32_t *page = &index_dir(&pool, 0, DIR_PRIMARY)[0];
	static const uint32_t numbers[] = { 0, 65, 1u << 22, UINT32_MAX };
	uint32_t sound = atomic_load(page);

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	for (unsigned i = 0; i < 4; i++) {
		atomic_store(page, numbers[i]);
		cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
		cr_expect_null(index_line(&pool, 0, DIR_PRIMARY, 0));
	}
	atomic_store(page, sound);
	cr_expect_null(index_line(&pool, 0, DIR_PRIMARY, UINT64_MAX));
	cr_expect_null(index_line(&pool, 0, DIR_PRIMARY, 1024 *
	    (uint64_t)pool.g.dir_capacity));
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "v");
}

Test(index, links_in_a_ring_end)
{
	struct pool pool = test_pool_one_shard();
	struct key absent = crowd_key(30);
	struct index_line *line;
	uint64_t link;

	store_crowd(&pool, 0, 9);
	line = index_line(&pool, 0, DIR_PRIMARY, SOME_BUCKET);
	link = atomic_load(&line->word[LINE_SLOTS - 1]);
	line = index_line(&pool, 0, DIR_OVERFLOW, link_line(link));
	atomic_store(&line->word[LINE_SLOTS - 1], link);
	cr_expect_str_eq(test_pool_get(&pool, &absent, now), "MISS");
	cr_expect_null(index_find(&pool, 0, &absent));
	cr_expect_eq(crowd_present(&pool, 9), 9);
	store_crowd(&pool, 9, 30);	/* a writer ends as well */
	cr_expect_neq(test_pool_faults(&pool) & 1u << 6, 0);
}

Test(index, links_to_lines_that_do_not_exist_are_a_miss)
{
	struct pool pool = test_pool_one_shard();
	struct key absent = crowd_key(30);
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY,
	    SOME_BUCKET);
	static const uint32_t lines[] = { 1u << 22, LINK_LINES_MAX, 70000 };

	for (unsigned i = 0; i < 3; i++) {
		atomic_store(&line->word[LINE_SLOTS - 1],
		    link_make(lines[i], 7));
		cr_expect_str_eq(test_pool_get(&pool, &absent, now), "MISS");
		cr_expect_null(index_find(&pool, 0, &absent));
	}
}

Test(index, forged_slot_words_stay_inside_the_mapping)
{
	struct pool pool = test_pool_one_shard();
	struct key victim = test_pool_key_of_hash("victim", SOME_BUCKET |
	    0xbeefull << SLOT_TAG_SHIFT);
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY,
	    SOME_BUCKET);
	uint32_t last = pool.g.extent_count;
	const uint64_t words[] = {
		slot_make(victim.hash, 0, last, (64u << 10) - 8),
		slot_make(victim.hash, 0, last, (64u << 10) - 48),
		slot_make(victim.hash, 0, last, 64u << 10),
		slot_make(victim.hash, 0, last + 1, 0),
		slot_make(victim.hash, 3, (1u << 22) - 1, (64u << 20) - 8),
		slot_make(victim.hash, 0, 1, 0),	/* an index page */
		(UINT64_MAX >> 16) | 0xbeefull << 48,
	};

	/* Even generations everywhere, so that only the bounds protect. */
	for (uint32_t e = 1; e <= last; e++) {
		atomic_store(&pool.generations[e], 2);
	}
	memset(pool_extent(&pool, last), 0xff, 64u << 10);
	for (unsigned i = 0; i < 7; i++) {
		atomic_store(&line->word[3], words[i]);
		cr_expect_str_eq(test_pool_get(&pool, &victim, now), "MISS",
		    "word %u", i);
		cr_expect_null(index_find(&pool, 0, &victim));
		cr_expect_neq(test_pool_faults(&pool) & 1u << 3, 0,
		    "verify tells: word %u", i);
	}
	cr_expect_geq(test_pool_stat(&pool, STAT_get_corrupt), 2);
}

/* A header at the end of an extent whose lengths reach beyond it. */
Test(index, lengths_that_reach_beyond_the_extent_are_a_miss)
{
	struct pool pool = test_pool_one_shard();
	struct key victim = test_pool_key_of_hash("victim", SOME_BUCKET |
	    0xbeefull << SLOT_TAG_SHIFT);
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY,
	    SOME_BUCKET);
	uint32_t extent = pool.g.extent_count;
	uint32_t offset = (64u << 10) - 56;
	struct entry *entry = (struct entry *)(void *)((uint8_t *)
	    pool_extent(&pool, extent) + offset);

	atomic_store(&pool.generations[extent], 2);
	atomic_store(&line->word[0], slot_make(victim.hash, 0, extent,
	    offset));
	for (unsigned bytes = 0; bytes < 70; bytes++) {
		atomic_store(&entry->word[0], (uint64_t)bytes << 32);
		atomic_store(&entry->word[1], victim.hash);
		atomic_store(&entry->word[3], 6ull << ENTRY_KEY_SHIFT);
		atomic_store(&entry->word[4], UINT64_MAX);
		atomic_store(&entry->word[5], 1);
		memcpy((uint8_t *)entry + 48, "victim", 6);
		(void)test_pool_get(&pool, &victim, now);
		cr_expect((strcmp(test_pool_get(&pool, &victim, now),
		    "MISS") == 0) == (bytes > 2), "%u bytes", bytes);
	}
}

Test(index, random_index_words_never_harm_a_reader)
{
	struct pool pool = test_pool_one_shard();
	struct stats_block stats;
	struct pool view = test_pool_attach(&pool, &stats);
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY, 0);
	struct key key = test_pool_key(&pool, "k");
	uint64_t words[64 * LINE_SLOTS];

	store_crowd(&pool, 0, CROWD);
	for (unsigned round = 0; round < 300; round++) {
		test_pool_fill(words, sizeof(words), round);
		for (unsigned i = 0; i < 64 * LINE_SLOTS; i++) {
			/* Half of them links, half at extents that exist. */
			uint64_t word = i % 2 == 0 ? words[i] &
			    ~SLOT_EXTENT_MASK : words[i] &
			    ~(0xffffull << 29);

			atomic_store(&line[i / LINE_SLOTS].word[i %
			    LINE_SLOTS], word);
		}
		for (unsigned k = 0; k < 64; k++) {
			key.hash = words[k];
			(void)test_pool_get(&view, &key, now);
		}
	}
	cr_expect_gt(stats.value[STAT_get_misses], 0);
}
