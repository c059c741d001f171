/* SPDX-License-Identifier: ISC */

#include "write.h"

#include "epoch.h"
#include "extent.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct boot_ms now = { 5000 };

static struct boot_ms
after_ms(uint64_t ms)
{
	return (struct boot_ms){ now.ms + ms };
}

static void
expect_key_works(const struct pool *pool, const void *bytes, size_t length)
{
	struct key key;

	cr_assert_eq(key_init(&key, pool, bytes, length), OK);
	cr_expect_str_eq(test_pool_get(pool, &key, now), "MISS");
	cr_expect_eq(test_pool_set(pool, &key, "value", now), OK);
	cr_expect_str_eq(test_pool_get(pool, &key, now), "value",
	    "key of %zu bytes", length);
}

Test(write, keys_of_1_and_1024_bytes_with_any_byte_in_them)
{
	struct pool pool = test_pool_one_shard();
	char key[KEY_MAX_BYTES];

	memset(key, 'k', sizeof(key));
	expect_key_works(&pool, key, 1);
	expect_key_works(&pool, key, KEY_MAX_BYTES);
	expect_key_works(&pool, key, KEY_MAX_BYTES - 1);
	expect_key_works(&pool, "\0", 1);
	expect_key_works(&pool, "\0\0", 2);
	expect_key_works(&pool, "a\0b", 3);
	expect_key_works(&pool, "a\0c", 3);
	expect_key_works(&pool, "a\nb\r\n", 5);
	cr_expect_eq(test_pool_entries(&pool), 8);
	EXPECT_SOUND(&pool);
}

Test(write, keys_of_0_and_1025_bytes_are_refused)
{
	struct pool pool = test_pool_one_shard();
	static const char bytes[KEY_MAX_BYTES + 1];
	struct key key = { bytes, 0, 77 };
	struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);
	uint64_t version;
	int64_t number;

	cr_expect_eq(write_set(&pool, &spec, now, &version), KEY_INVALID);
	key.length = KEY_MAX_BYTES + 1;
	cr_expect_eq(write_set(&pool, &spec, now, &version), KEY_INVALID);
	key.length = UINT32_MAX;
	cr_expect_eq(write_set(&pool, &spec, now, &version), KEY_INVALID);
	cr_expect_eq(write_counter_add(&pool, &key, 1, 0, &spec, now,
	    &number), KEY_INVALID);
	cr_expect_eq(test_pool_entries(&pool), 0);
	EXPECT_SOUND(&pool);
}

Test(write, entries_have_0_to_32_tags)
{
	struct pool pool = test_pool_one_shard();
	uint64_t tags[TAGS_MAX + 1];
	uint64_t version;

	for (unsigned i = 0; i <= TAGS_MAX; i++) {
		tags[i] = i + 1;
	}
	for (unsigned count = 0; count <= TAGS_MAX + 1; count++) {
		struct key key = test_pool_key(&pool, "tagged");
		struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);

		spec.tags = tags;
		spec.tag_count = count;
		cr_expect_eq(write_set(&pool, &spec, now, &version),
		    count <= TAGS_MAX ? OK : TOO_MANY_TAGS, "%u tags", count);
		cr_expect_str_eq(test_pool_get(&pool, &key, now), "v");
	}
	EXPECT_SOUND(&pool);
}

Test(write, flags_of_the_library_are_refused_those_of_the_caller_kept)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);
	struct read_hit hit;
	uint64_t version;

	spec.flags = ENTRY_COUNTER;
	cr_expect_eq(write_set(&pool, &spec, now, &version), INVALID);
	spec.flags = ENTRY_CHAIN;
	cr_expect_eq(write_set(&pool, &spec, now, &version), INVALID);
	spec.flags = 0xa0;
	cr_expect_eq(write_set(&pool, &spec, now, &version), OK);
	cr_expect_eq(read_peek(&pool, &key, now, &hit), OK);
	cr_expect_eq(hit.head.flags, 0xa0);
}

static void
expect_length_works(const struct pool *pool, uint64_t bytes)
{
	struct key key = test_pool_key(pool, "sized");
	uint8_t *value = malloc(bytes + 1);
	struct entry_spec spec = test_pool_spec(pool, &key, value, bytes);
	struct read_hit hit;
	uint64_t version;

	cr_assert_not_null(value);
	test_pool_fill(value, bytes, bytes);
	cr_expect_eq(write_set(pool, &spec, now, &version), OK, "%llu bytes",
	    (unsigned long long)bytes);
	memset(value, 0, bytes);
	value[bytes] = 0x5a;
	cr_expect_eq(read_copy(pool, &key, now, value, bytes, &hit), OK,
	    "%llu bytes", (unsigned long long)bytes);
	cr_expect_eq(hit.value_bytes, bytes);
	cr_expect_eq(hit.version, version);
	cr_expect(test_pool_filled(value, bytes, bytes), "%llu bytes",
	    (unsigned long long)bytes);
	cr_expect_eq(value[bytes], 0x5a, "nothing behind the end");
	free(value);
}

Test(write, values_of_every_length_up_to_the_largest)
{
	struct pool pool = test_pool_make(16u << 20, 64u << 10, 1);
	uint64_t inside = geometry_inline_max_bytes(&pool.g);
	uint64_t most = geometry_value_max_bytes(&pool.g);

	for (uint64_t bytes = 0; bytes <= 20; bytes++) {
		expect_length_works(&pool, bytes);
	}
	expect_length_works(&pool, inside - 1);
	expect_length_works(&pool, inside);
	expect_length_works(&pool, inside + 1);
	/* Around the ends of the first, second and last part. */
	for (int64_t by = -8; by <= 8; by++) {
		expect_length_works(&pool, (uint64_t)(65536 - 64 - 53 + by));
		expect_length_works(&pool, (uint64_t)(2 * 65536 - 128 - 53 +
		    by));
	}
	expect_length_works(&pool, most - 1);
	expect_length_works(&pool, most);
	EXPECT_SOUND(&pool);
}

Test(write, a_value_above_the_largest_is_refused_and_the_old_one_stays)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	static uint8_t value[128 << 10];
	struct entry_spec spec = test_pool_spec(&pool, &key, value,
	    pool.g.chain_max_bytes);
	uint64_t version = 1;

	cr_assert_eq(test_pool_set(&pool, &key, "old", now), OK);
	cr_expect_eq(write_set(&pool, &spec, now, &version), TOO_LARGE);
	spec.value_bytes = UINT64_MAX;
	cr_expect_eq(write_set(&pool, &spec, now, &version), TOO_LARGE);
	spec.value_bytes = (1ull << 32) + 1;
	cr_expect_eq(write_set(&pool, &spec, now, &version), TOO_LARGE);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "old");
	cr_expect_eq(test_pool_stat(&pool, STAT_set_refused_too_large), 3);
	EXPECT_SOUND(&pool);
}

Test(write, the_largest_value_fits_with_the_largest_key_and_tags)
{
	struct pool pool = test_pool_one_shard();
	static char bytes[KEY_MAX_BYTES];
	static uint8_t value[64 << 10];
	uint64_t tags[TAGS_MAX] = { 1 };
	struct key key;
	struct entry_spec spec;
	uint64_t version;

	cr_assert_eq(key_init(&key, &pool, bytes, sizeof(bytes)), OK);
	spec = test_pool_spec(&pool, &key, value,
	    geometry_value_max_bytes(&pool.g));
	spec.tags = tags;
	spec.tag_count = TAGS_MAX;
	cr_expect_eq(write_set(&pool, &spec, now, &version), OK);
	spec.value_bytes++;
	cr_expect_eq(write_set(&pool, &spec, now, &version), TOO_LARGE);
	EXPECT_SOUND(&pool);
}

static enum result
set_when(const struct pool *pool, const struct key *key, const char *text,
    enum set_when when, uint64_t version, struct boot_ms at)
{
	struct entry_spec spec = test_pool_spec(pool, key, text,
	    strlen(text));

	spec.when = when;
	spec.version = version;
	spec.hard_ms = at.ms + 100;
	return write_set(pool, &spec, at, &version);
}

Test(write, if_absent_stores_only_where_nothing_lives)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");

	cr_expect_eq(set_when(&pool, &key, "one", SET_IF_ABSENT, 0, now), OK);
	cr_expect_eq(set_when(&pool, &key, "two", SET_IF_ABSENT, 0,
	    after_ms(99)), EXISTS);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "one");
	cr_expect_eq(set_when(&pool, &key, "three", SET_IF_ABSENT, 0,
	    after_ms(100)), OK, "the first has expired");
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(100)), "three");
	cr_expect_eq(test_pool_entries(&pool), 1);
	EXPECT_SOUND(&pool);
}

Test(write, if_absent_takes_the_place_of_what_was_purged)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	uint64_t number;

	cr_assert_eq(test_pool_set(&pool, &key, "one", now), OK);
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	cr_expect_eq(set_when(&pool, &key, "two", SET_IF_ABSENT, 0, now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "two");
}

static uint64_t
version_of(const struct pool *pool, const struct key *key)
{
	struct read_hit hit;

	cr_assert_eq(read_peek(pool, key, now, &hit), OK);
	return hit.version;
}

Test(write, if_version_stores_only_over_that_version)
{
	struct pool pool = test_pool_four_shards();
	struct key key = test_pool_key(&pool, "k");
	uint64_t first;

	cr_expect_eq(set_when(&pool, &key, "x", SET_IF_VERSION, 1, now),
	    CHANGED, "nothing there");
	cr_expect_eq(set_when(&pool, &key, "x", SET_IF_VERSION, 0, now),
	    CHANGED, "nothing there has no version");
	cr_assert_eq(test_pool_set(&pool, &key, "one", now), OK);
	first = version_of(&pool, &key);
	cr_expect_eq(set_when(&pool, &key, "two", SET_IF_VERSION, first,
	    now), OK);
	cr_expect_neq(version_of(&pool, &key), first);
	cr_expect_eq(set_when(&pool, &key, "three", SET_IF_VERSION, first,
	    now), CHANGED);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "two");
	cr_expect_eq(set_when(&pool, &key, "late", SET_IF_VERSION,
	    version_of(&pool, &key), after_ms(100)), CHANGED, "expired");
	EXPECT_SOUND(&pool);
}

Test(write, delete_asks_for_the_version_if_one_is_given)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	uint64_t version;

	cr_expect_eq(write_delete(&pool, &key, 0, now), MISS);
	cr_assert_eq(test_pool_set(&pool, &key, "one", now), OK);
	version = version_of(&pool, &key);
	cr_expect_eq(write_delete(&pool, &key, version + 1, now), CHANGED);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "one");
	cr_expect_eq(write_delete(&pool, &key, version, now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
	cr_expect_eq(write_delete(&pool, &key, version, now), MISS);
	cr_assert_eq(test_pool_set(&pool, &key, "two", now), OK);
	cr_expect_eq(write_delete(&pool, &key, 0, now), OK);
	cr_expect_eq(test_pool_entries(&pool), 0);
	EXPECT_SOUND(&pool);
}

Test(write, delete_of_an_expired_entry_is_a_miss_and_unlinks_it)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");

	cr_assert_eq(set_when(&pool, &key, "one", SET_ALWAYS, 0, now), OK);
	cr_expect_eq(write_delete(&pool, &key, 0, after_ms(100)), MISS);
	cr_expect_eq(test_pool_entries(&pool), 0);
	EXPECT_SOUND(&pool);
}

Test(write, touch_makes_an_expiry_longer_and_shorter)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	uint64_t version;

	cr_assert_eq(set_when(&pool, &key, "v", SET_ALWAYS, 0, now), OK);
	version = version_of(&pool, &key);
	cr_expect_eq(write_touch(&pool, &key, UINT64_MAX, now.ms + 5000, 0,
	    after_ms(50)), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(4999)), "v");
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(5000)), "MISS");
	cr_expect_eq(write_touch(&pool, &key, now.ms + 20, now.ms + 60, 0,
	    after_ms(50)), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(55)), "STALE");
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(60)), "MISS");
	cr_expect_eq(write_touch(&pool, &key, UINT64_MAX, UINT64_MAX, 0,
	    after_ms(60)), MISS, "the dead are not woken");
	cr_expect_eq(version_of(&pool, &key), version);
	EXPECT_SOUND(&pool);
}

Test(write, touch_raises_the_epoch_to_the_newest_at_most)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	uint64_t number;

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_INVALID, &number), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "STALE");
	cr_expect_eq(write_touch(&pool, &key, UINT64_MAX, UINT64_MAX,
	    UINT64_MAX, now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "v", "validated");
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS",
	    "a claim from the future was lowered");
}

Test(write, an_overwrite_keeps_queue_and_count)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	_Atomic uint64_t *slot;

	cr_assert_eq(test_pool_set(&pool, &key, "one", now), OK);
	slot = test_pool_slot(&pool, &key);
	atomic_fetch_add(slot, 2ull << SLOT_COUNT_SHIFT);
	cr_assert_eq(test_pool_set(&pool, &key, "two", now), OK);
	slot = test_pool_slot(&pool, &key);
	cr_expect_eq(slot_count(atomic_load(slot)), 2);
	cr_expect_eq(extent_role_of(extent_state(&pool, test_pool_extent_of(
	    &pool, &key))), EXTENT_SMALL);
	/* A touched entry goes to main when its extent is reclaimed. */
	for (unsigned i = 0; i < 3000 && extent_role_of(extent_state(&pool,
	    test_pool_extent_of(&pool, &key))) != EXTENT_MAIN; i++) {
		char text[TEST_KEY_BYTES];
		static const char value[3000];
		struct key other = test_pool_number_key(&pool, text, i);
		struct entry_spec spec = test_pool_spec(&pool, &other, value,
		    sizeof(value));
		uint64_t version;

		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	}
	cr_assert_eq(test_pool_set(&pool, &key, "three", now), OK);
	cr_expect_eq(extent_role_of(extent_state(&pool, test_pool_extent_of(
	    &pool, &key))), EXTENT_MAIN);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "three");
	cr_expect_eq(test_pool_stat(&pool, STAT_overwrites), 2);
	EXPECT_SOUND(&pool);
}

Test(write, versions_rise_and_name_the_shard)
{
	struct pool pool = test_pool_four_shards();
	char text[TEST_KEY_BYTES];
	uint64_t last[4] = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		struct key key = test_pool_number_key(&pool, text, i);
		struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);
		uint32_t shard = pool_shard_of(&pool, key.hash);
		uint64_t version;

		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
		cr_expect_eq(version >> ENTRY_SEQUENCE_BITS, shard);
		cr_expect_gt(version, last[shard]);
		last[shard] = version;
	}
}

Test(write, sequences_go_on_over_the_end_of_56_bits)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	uint64_t most = (1ull << ENTRY_SEQUENCE_BITS) - 1;

	pool.shards_private[0].sequence = most - 3;
	for (unsigned i = 0; i < 8; i++) {
		struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);
		uint64_t version;

		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
		cr_expect_neq(version, 0, "0 means no version");
		cr_expect_eq(version >> ENTRY_SEQUENCE_BITS, 0, "set %u", i);
		cr_expect_eq(version_of(&pool, &key), version, "set %u", i);
		cr_expect_eq(set_when(&pool, &key, "w", SET_IF_ABSENT, 0,
		    now), EXISTS, "set %u", i);
		EXPECT_SOUND(&pool);
	}
	cr_expect_eq(write_delete(&pool, &key, 0, now), OK);
}
