/* SPDX-License-Identifier: ISC */

#include "scan.h"

#include "epoch.h"
#include "extent.h"
#include "index.h"
#include "point.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS	3000u

static const struct boot_ms now = { 5000 };

/* How often each number was met. */
static unsigned met[2 * KEYS];
static unsigned foreign;

static bool
note(const struct scan_item *item, void *arg)
{
	char text[TEST_KEY_BYTES] = "";
	unsigned long number;

	(void)arg;
	if (item->head.key_bytes >= sizeof(text)) {
		foreign++;
		return true;
	}
	memcpy(text, item->key, item->head.key_bytes);
	if (sscanf(text, "key-%lu", &number) != 1 || number >= 2 * KEYS) {
		foreign++;
		return true;
	}
	met[number]++;
	return true;
}

static void
store(const struct pool *pool, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		char text[TEST_KEY_BYTES];
		struct key key = test_pool_number_key(pool, text, i);

		cr_assert_eq(test_pool_set(pool, &key, text, now), OK);
	}
}

static unsigned
scan_all(const struct pool *pool, unsigned items, struct boot_ms at)
{
	uint64_t cursor = 0;
	unsigned calls = 0;

	do {
		cursor = scan_next(pool, cursor, items, at, note, NULL);
		calls++;
	} while (cursor != 0);
	return calls;
}

Test(scan, meets_every_key_once_when_nothing_changes)
{
	struct pool pool = test_pool_four_shards();
	struct stats_block stats;
	struct pool view = test_pool_attach(&pool, &stats);

	store(&pool, 0, KEYS);
	(void)scan_all(&view, 100, now);
	for (unsigned i = 0; i < KEYS; i++) {
		cr_assert_eq(met[i], 1, "key %u: %u times", i, met[i]);
	}
	cr_expect_eq(foreign, 0);
}

Test(scan, an_empty_pool_ends_at_once)
{
	struct pool pool = test_pool_four_shards();

	cr_expect_eq(scan_all(&pool, 10, now), 1);
	cr_expect_eq(met[0] + foreign, 0);
}

static bool
stop(const struct scan_item *item, void *arg)
{
	(void)item;
	++*(unsigned *)arg;
	return false;
}

Test(scan, stops_after_the_bucket_when_told_or_when_items_were_met)
{
	struct pool pool = test_pool_one_shard();
	unsigned count = 0;
	uint64_t cursor;

	store(&pool, 0, 400);
	cursor = scan_next(&pool, 0, UINT32_MAX, now, stop, &count);
	cr_expect_eq(cursor, 1, "one bucket");
	cr_expect(count >= 1 && count <= BUCKET_SLOTS_MAX, "%u", count);
	cr_expect_gt(scan_all(&pool, 10, now), 20);
	cr_expect_eq(scan_next(&pool, UINT64_MAX, 10, now, stop, &count), 0,
	    "a cursor from nowhere");
}

static bool
expect_item(const struct scan_item *item, void *arg)
{
	const struct read_hit *hit = arg;

	cr_expect_eq(item->head.key_bytes, 5);
	cr_expect_arr_eq(item->key, "key-7", 5);
	cr_expect_eq(item->version, hit->version);
	cr_expect_eq(item->extent, hit->extent);
	cr_expect_eq(item->offset, hit->offset);
	cr_expect_eq(item->count, 2);
	cr_expect_eq(item->head.value_bytes, 5);
	foreign++;
	return true;
}

Test(scan, tells_what_an_entry_is_and_where)
{
	struct pool pool = test_pool_four_shards();
	struct key key = test_pool_key(&pool, "key-7");
	struct read_hit hit;
	uint64_t cursor = 0;

	store(&pool, 7, 8);
	atomic_fetch_add(test_pool_slot(&pool, &key),
	    2ull << SLOT_COUNT_SHIFT);
	cr_assert_eq(read_peek(&pool, &key, now, &hit), OK);
	do {
		cursor = scan_next(&pool, cursor, 1, now, expect_item, &hit);
	} while (cursor != 0);
	cr_expect_eq(foreign, 1);
}

Test(scan, leaves_out_the_expired_and_the_purged)
{
	struct pool pool = test_pool_one_shard();
	uint64_t tag = epoch_tag_hash(&pool, "t", 1), number, version;

	for (unsigned i = 0; i < 30; i++) {
		char text[TEST_KEY_BYTES];
		struct key key = test_pool_number_key(&pool, text, i);
		struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);

		spec.tags = &tag;
		spec.tag_count = i % 3 == 1;
		spec.hard_ms = i % 3 == 2 ? now.ms + 10 : UINT64_MAX;
		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	}
	cr_assert_eq(epoch_purge_tag(&pool, tag, EPOCH_KIND_HARD, &number),
	    OK);
	(void)scan_all(&pool, 10, (struct boot_ms){ now.ms + 10 });
	for (unsigned i = 0; i < 30; i++) {
		cr_expect_eq(met[i], i % 3 == 0, "key %u", i);
	}
}

Test(scan, what_stays_is_met_though_buckets_split_and_lines_go)
{
	struct pool pool = test_pool_four_shards();
	uint64_t cursor = 0;
	unsigned step = 0;

	store(&pool, 0, 1000);
	store(&pool, KEYS, KEYS + 600);
	do {
		cursor = scan_next(&pool, cursor, 20, now, note, NULL);
		/* Others come, go and are overwritten meanwhile. */
		store(&pool, 1000 + step * 20, 1020 + step * 20);
		for (unsigned i = 0; i < 8 && step * 8 + i < 600; i++) {
			char text[TEST_KEY_BYTES];
			struct key key = test_pool_number_key(&pool, text,
			    KEYS + step * 8 + i);

			cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
		}
		step = step < 99 ? step + 1 : step;
	} while (cursor != 0);
	for (unsigned i = 0; i < 1000; i++) {
		cr_expect_geq(met[i], 1, "key %u", i);
	}
	cr_expect_eq(test_pool_stat(&pool, STAT_evicted_small), 0);
	EXPECT_SOUND(&pool);
}

static const struct pool *scanned;
static bool absorbed;
static char texts[12][TEST_KEY_BYTES];

/* Twelve keys of one bucket: 7 in its line, 5 in an overflow line. */
static struct key
crowd(unsigned i)
{
	(void)snprintf(texts[i], sizeof(texts[i]), "key-%u", i);
	return test_pool_key_of_hash(texts[i], (uint64_t)(i + 1) <<
	    SLOT_TAG_SHIFT | 3);
}

/* At the fifth word: the words before it become free and are refilled. */
static bool
delete_the_first(const struct scan_item *item, void *arg)
{
	if (!absorbed && met[4] != 0) {
		absorbed = true;
		for (unsigned i = 0; i < 5; i++) {
			struct key key = crowd(i);

			cr_assert_eq(write_delete(scanned, &key, 0, now), OK);
		}
	}
	return note(item, arg);
}

Test(scan, slots_pulled_to_words_it_has_passed_are_met)
{
	struct pool pool = test_pool_one_shard();

	scanned = &pool;
	for (unsigned i = 0; i < 12; i++) {
		struct key key = crowd(i);

		cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	}
	cr_assert_neq(scan_next(&pool, 3, 1, now, delete_the_first, NULL), 0);
	cr_expect(absorbed);
	for (unsigned i = 5; i < 12; i++) {
		cr_expect_geq(met[i], 1, "key %u", i);
	}
	EXPECT_SOUND(&pool);
}

Test(scan, an_absurd_bucket_count_ends)
{
	struct pool pool = test_pool_one_shard();
	unsigned calls;

	store(&pool, 0, 50);
	atomic_store(&pool.shards[0].bucket_count, UINT64_MAX);
	calls = scan_all(&pool, 10, now);
	cr_expect_leq(calls, 100 + pool.g.dir_capacity);
	atomic_store(&pool.shards[0].bucket_count, 0);
	cr_expect_eq(scan_all(&pool, 10, now), 1);
}

Test(scan, random_index_words_do_no_harm)
{
	struct pool pool = test_pool_one_shard();
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY, 0);
	uint64_t words[64 * LINE_SLOTS];

	store(&pool, 0, 300);
	for (unsigned round = 0; round < 100; round++) {
		test_pool_fill(words, sizeof(words), round);
		for (unsigned i = 0; i < 64 * LINE_SLOTS; i++) {
			atomic_store(&line[i / LINE_SLOTS].word[i %
			    LINE_SLOTS], i % 2 == 0 ? words[i] &
			    ~SLOT_EXTENT_MASK : words[i] &
			    ~(0xffffull << 29));
		}
		(void)scan_all(&pool, 100, now);
	}
	cr_expect_eq(foreign, 0, "only keys that were stored");
}
