/* SPDX-License-Identifier: ISC */

/*
 * The read protocol, step by step: at a named point between two steps of a
 * reader another process does its worst.  One thread plays both.
 */
#include "read.h"

#include "extent.h"
#include "index.h"
#include "point.h"
#include "shard.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

#ifdef SHM_TEST_POINTS

static const struct boot_ms now = { 5000 };

/* What happens at the point, once. */
static const char *at_point;
static void (*happens)(void);
static unsigned happened;

static struct pool pool;
static struct key key;
static char texts[16][TEST_KEY_BYTES];

static void
interfere(const char *name)
{
	if (at_point != NULL && strcmp(name, at_point) == 0) {
		at_point = NULL;
		happened++;
		happens();
	}
}

/* The value as a reader finds it who is disturbed at that point. */
static const char *
get_disturbed(const char *point, void (*fn)(void))
{
	const char *got;

	at_point = point;
	happens = fn;
	happened = 0;
	shm_point_hook = interfere;
	got = test_pool_get(&pool, &key, now);
	shm_point_hook = NULL;
	cr_assert_eq(happened, 1, "the point %s was not passed", point);
	return got;
}

static void
begin(void)
{
	pool = test_pool_one_shard();
	key = test_pool_key(&pool, "the key");
	cr_assert_eq(test_pool_set(&pool, &key, "true", now), OK);
}

/*
 * Drops the extent that holds the key and has it reused, with an entry of
 * another's making at the very same place.
 */
static void
recycle(uint32_t extent, uint32_t offset, const char *key_text)
{
	struct key forged = test_pool_key_of_hash(key_text, key.hash);
	struct entry_head head = {
		.value_bytes = 4,
		.hash = forged.hash,
		.sequence = 1000,
		.created_ms = now.ms,
		.epoch = epoch_now(&pool),
		.soft = EXPIRY_NEVER,
		.hard = EXPIRY_NEVER,
		.key_bytes = (uint16_t)forged.length,
	};

	cr_assert_eq(test_pool_reclaim(&pool, 0, extent, now), OK);
	cr_assert_eq(shard_enter(&pool, 0), OK);
	cr_assert_eq(extent_take(&pool, 0, EXTENT_SPARE), extent);
	extent_open(&pool, 0, extent, EXTENT_MAIN);
	entry_write((struct entry *)(void *)
	    ((uint8_t *)pool_extent(&pool, extent) + offset), &head, NULL,
	    forged.bytes, "EVIL");
	extent_commit(&pool, extent, offset +
	    (uint32_t)entry_bytes(&head));
	shard_leave(&pool, 0);
}

static void
recycle_with_a_forgery(void)
{
	uint64_t word = atomic_load(test_pool_slot(&pool, &key));

	recycle(slot_extent(word), slot_offset(word), "the key");
}

Test(read_steps, a_slot_from_before_a_recycle_is_not_paired_with_it)
{
	begin();
	cr_expect_str_eq(get_disturbed("read_step1", recycle_with_a_forgery),
	    "MISS");
}

Test(read_steps, a_recycle_between_generation_and_slot_is_noticed)
{
	begin();
	cr_expect_str_eq(get_disturbed("read_step2", recycle_with_a_forgery),
	    "MISS");
}

Test(read_steps, a_recycle_during_the_copy_is_noticed)
{
	begin();
	cr_expect_str_eq(get_disturbed("read_step4", recycle_with_a_forgery),
	    "MISS");
	begin();
	cr_expect_str_eq(get_disturbed("read_step6", recycle_with_a_forgery),
	    "MISS");
}

Test(read_steps, a_recycle_right_before_the_last_look_is_noticed)
{
	begin();
	cr_expect_str_eq(get_disturbed("read_step7", recycle_with_a_forgery),
	    "MISS");
}

/* The key is stored anew elsewhere, its old place is somebody else's. */
static void
overwrite_and_recycle(void)
{
	uint64_t word = atomic_load(test_pool_slot(&pool, &key));
	struct shard_private *sp = &pool.shards_private[0];

	sp->open_small = 0;
	cr_assert_eq(test_pool_set(&pool, &key, "new", now), OK);
	recycle(slot_extent(word), slot_offset(word), "foreign");
}

Test(read_steps, a_failed_check_of_bytes_that_changed_is_no_miss)
{
	static const char *const points[] = {
		"read_step1", "read_step2", "read_step4",
	};

	for (unsigned i = 0; i < 3; i++) {
		begin();
		cr_expect_str_eq(get_disturbed(points[i],
		    overwrite_and_recycle), "new", "at %s", points[i]);
		EXPECT_SOUND(&pool);
	}
}

static void
overwrite(void)
{
	cr_assert_eq(test_pool_set(&pool, &key, "new", now), OK);
}

Test(read_steps, an_overwrite_is_seen_whole_or_not_at_all)
{
	static const struct {
		const char	*point;
		const char	*want;
	} cases[] = {
		{ "read_step1", "new" }, { "read_step2", "new" },
		{ "read_step4", "true" }, { "read_step6", "true" },
		{ "read_step7", "true" },
	};

	for (unsigned i = 0; i < 5; i++) {
		begin();
		cr_expect_str_eq(get_disturbed(cases[i].point, overwrite),
		    cases[i].want, "at %s", cases[i].point);
	}
}

/* A key with the same tag, which a scan of the bucket stops at first. */
static void
begin_behind_a_decoy(uint64_t decoy_hash, uint64_t hash)
{
	static struct key decoy;

	pool = test_pool_one_shard();
	decoy = test_pool_key_of_hash("a decoy", decoy_hash);
	cr_assert_eq(test_pool_set(&pool, &decoy, "decoy", now), OK);
	key = test_pool_key_of_hash("the key", hash);
	cr_assert_eq(test_pool_set(&pool, &key, "true", now), OK);
}

/* Buckets 0 to 5 and no more: nothing else changes but their count. */
static void
split_six_buckets(void)
{
	uint64_t moves = index_moves(&pool, 0);

	cr_assert_eq(shard_enter(&pool, 0), OK);
	atomic_store(&pool.shards[0].entry_count, 1000);
	for (unsigned i = 0; i < 6; i++) {
		index_split_if_due(&pool, 0);
	}
	atomic_store(&pool.shards[0].entry_count, 2);
	shard_leave(&pool, 0);
	cr_assert_eq(index_bucket_count(&pool, 0), 70);
	cr_assert_eq(index_moves(&pool, 0), moves);
}

Test(read_steps, a_split_in_the_middle_of_a_scan_is_no_miss)
{
	/* Bit 6 set: it moves away from the decoy's bucket. */
	begin_behind_a_decoy(0x7777000000000005ull, 0x7777000000000045ull);
	cr_expect_str_eq(get_disturbed("read_step0", split_six_buckets),
	    "true");
	EXPECT_SOUND(&pool);
}

/*
 * A bucket of three words, the decoy and so on up to a second line, which
 * holds the key; deletes then pull the key to the front.
 */
static struct key crowd[16];

static void
delete_the_crowd(void)
{
	for (unsigned i = 0; i < 10; i++) {
		cr_assert_eq(write_delete(&pool, &crowd[i], 0, now), OK);
	}
}

static void
begin_in_an_overflow_line(unsigned decoy_at)
{
	uint64_t low = 0x0000000000000009ull;

	pool = test_pool_one_shard();
	for (unsigned i = 0; i < 11; i++) {
		uint64_t tag = i == decoy_at ? 0x7777 : 0x1000 + i;
		struct key other;

		(void)test_pool_number_key(&pool, texts[i], i);
		other = test_pool_key_of_hash(texts[i], tag << 48 | low);
		cr_assert_eq(test_pool_set(&pool, &other, "x", now), OK);
		if (i != decoy_at) {
			crowd[i - (i > decoy_at)] = other;
		}
	}
	key = test_pool_key_of_hash("the key", 0x7777ull << 48 | low);
	cr_assert_eq(test_pool_set(&pool, &key, "true", now), OK);
}

Test(read_steps, an_absorbed_line_that_was_not_reached_yet_is_no_miss)
{
	/* The words that take its entries were read, the link was not. */
	begin_in_an_overflow_line(5);
	cr_expect_str_eq(get_disturbed("read_last_word", delete_the_crowd),
	    "true");
	EXPECT_SOUND(&pool);
}

Test(read_steps, an_absorbed_line_that_is_being_read_is_no_miss)
{
	/* The scan stops in the second line, which is zeroed meanwhile. */
	begin_in_an_overflow_line(9);
	cr_expect_str_eq(get_disturbed("read_step1", delete_the_crowd),
	    "true");
	EXPECT_SOUND(&pool);
}

static unsigned looks;

/* The extent's committed length covers what was just linked. */
static void
look_at_the_link(const char *name)
{
	if (strcmp(name, "link_after") == 0) {
		struct entry_head head;
		uint64_t word = atomic_load(test_pool_slot(&pool, &key));

		looks++;
		cr_expect_not_null(shard_entry(&pool, word, &head));
		cr_expect_eq(head.hash, key.hash);
	}
}

Test(read_steps, an_entry_is_committed_before_it_is_linked)
{
	begin();
	shm_point_hook = look_at_the_link;
	cr_assert_eq(test_pool_set(&pool, &key, "new", now), OK);
	shm_point_hook = NULL;
	cr_expect_eq(looks, 1);
}

static void
delete_it(void)
{
	cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
}

Test(read_steps, a_delete_is_seen_or_came_too_late)
{
	begin();
	cr_expect_str_eq(get_disturbed("read_step1", delete_it), "MISS");
	begin();
	cr_expect_str_eq(get_disturbed("read_step2", delete_it), "MISS");
	begin();
	cr_expect_str_eq(get_disturbed("read_step4", delete_it), "true");
}

static void
overwrite_at_every_point(const char *name)
{
	if (strcmp(name, "read_step1") == 0) {
		happened++;
		overwrite();
	}
}

Test(read_steps, a_reader_that_always_loses_ends_with_a_counted_miss)
{
	begin();
	shm_point_hook = overwrite_at_every_point;
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
	shm_point_hook = NULL;
	cr_expect_eq(happened, 8);
	cr_expect_eq(test_pool_stat(&pool, STAT_get_retries_exhausted), 1);
}

#endif
