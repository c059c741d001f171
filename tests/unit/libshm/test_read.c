/* SPDX-License-Identifier: ISC */

#include "read.h"

#include "extent.h"
#include "reclaim.h"
#include "recovery.h"
#include "shard.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct boot_ms now = { 5000 };

static struct boot_ms
after_ms(uint64_t ms)
{
	return (struct boot_ms){ now.ms + ms };
}

static void
store_until(const struct pool *pool, const struct key *key, uint64_t soft_ms,
    uint64_t hard_ms)
{
	struct entry_spec spec = test_pool_spec(pool, key, "v", 1);
	uint64_t version;

	spec.soft_ms = soft_ms;
	spec.hard_ms = hard_ms;
	cr_assert_eq(write_set(pool, &spec, now, &version), OK);
}

Test(read, two_keys_of_one_hash_never_get_each_others_value)
{
	struct pool pool = test_pool_one_shard();
	struct key a = test_pool_key_of_hash("alpha", 0x1234567890abcdefull);
	struct key b = test_pool_key_of_hash("bravo", 0x1234567890abcdefull);
	struct key longer = test_pool_key_of_hash("alphabet", a.hash);
	struct key c = test_pool_key_of_hash("delta", a.hash);

	cr_assert_eq(test_pool_set(&pool, &a, "of alpha", now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &b, now), "MISS");
	cr_assert_eq(test_pool_set(&pool, &b, "of bravo", now), OK);
	cr_assert_eq(test_pool_set(&pool, &longer, "of alphabet", now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &a, now), "of alpha");
	cr_expect_str_eq(test_pool_get(&pool, &b, now), "of bravo");
	cr_expect_str_eq(test_pool_get(&pool, &longer, now), "of alphabet");
	cr_expect_str_eq(test_pool_get(&pool, &c, now), "MISS");
	cr_assert_eq(test_pool_set(&pool, &a, "changed", now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &b, now), "of bravo");
	cr_assert_eq(write_delete(&pool, &b, 0, now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &a, now), "changed");
	cr_expect_str_eq(test_pool_get(&pool, &b, now), "MISS");
	EXPECT_SOUND(&pool);
}

Test(read, keys_of_one_tag_and_one_bucket_are_told_apart)
{
	struct pool pool = test_pool_one_shard();
	char text[40][TEST_KEY_BYTES];
	struct key key[40];

	/* Equal in the low 40 bits and the top 16; then the top 16 alone. */
	for (unsigned i = 0; i < 40; i++) {
		(void)test_pool_number_key(&pool, text[i], i);
		key[i] = test_pool_key_of_hash(text[i], 0xabcd000000000021ull |
		    (uint64_t)(i / 2) << (i % 2 == 0 ? 40 : 20));
		cr_assert_eq(test_pool_set(&pool, &key[i], text[i], now), OK);
	}
	for (unsigned i = 0; i < 40; i++) {
		cr_expect_str_eq(test_pool_get(&pool, &key[i], now), text[i]);
	}
	EXPECT_SOUND(&pool);
}

/* The bytes of an entry as a client could put them into a value or a key. */
static size_t
forge(uint8_t *image, const struct pool *pool, const struct key *victim,
    const char *value)
{
	struct entry_head head = {
		.value_bytes = (uint32_t)strlen(value),
		.hash = victim->hash,
		.sequence = 1ull << 40,
		.created_ms = now.ms,
		.epoch = epoch_now(pool),
		.soft = EXPIRY_NEVER,
		.hard = EXPIRY_NEVER,
		.key_bytes = (uint16_t)victim->length,
	};

	entry_write((struct entry *)(void *)image, &head, NULL,
	    victim->bytes, value);
	return entry_bytes(&head);
}

static void
recover(const struct pool *pool)
{
	cr_assert_eq(shard_enter(pool, 0), OK);
	recovery_run(pool, 0);
	shard_leave(pool, 0);
}

Test(read, bytes_that_look_like_an_entry_are_never_taken_for_one)
{
	struct pool pool = test_pool_one_shard();
	struct key victim = test_pool_key(&pool, "victim");
	_Alignas(8) uint8_t image[1024];
	size_t bytes = forge(image, &pool, &victim, "forged");
	char out[1024];
	struct read_hit hit;
	struct key key;

	/* At all 8 places a value and a key can have to the alignment. */
	for (size_t pad = 1; pad <= 8; pad++) {
		char padded[KEY_MAX_BYTES];
		struct entry_spec spec;
		uint64_t version;

		memset(padded, 'p', pad);
		memcpy(padded + pad, image, bytes);
		cr_assert_eq(key_init(&key, &pool, padded, pad + bytes), OK);
		spec = test_pool_spec(&pool, &key, padded, pad + bytes);
		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
		cr_expect_eq(read_copy(&pool, &key, now, out, sizeof(out),
		    &hit), OK);
		cr_expect_arr_eq(out, padded, pad + bytes);
	}
	cr_expect_str_eq(test_pool_get(&pool, &victim, now), "MISS");
	recover(&pool);
	cr_expect_str_eq(test_pool_get(&pool, &victim, now), "MISS");
	cr_assert_eq(test_pool_set(&pool, &victim, "true", now), OK);
	cr_expect_str_eq(test_pool_get(&pool, &victim, now), "true");
	cr_expect_eq(test_pool_entries(&pool), 9);
	EXPECT_SOUND(&pool);
}

Test(read, a_value_of_slot_words_is_never_taken_for_a_line)
{
	struct pool pool = test_pool_one_shard();
	struct key victim = test_pool_key(&pool, "victim");
	struct key key = test_pool_key(&pool, "attacker");
	uint64_t words[512];
	struct entry_spec spec = test_pool_spec(&pool, &key, words,
	    sizeof(words));
	uint64_t version;

	cr_assert_eq(test_pool_set(&pool, &victim, "true", now), OK);
	for (unsigned i = 0; i < 512; i++) {
		words[i] = atomic_load(test_pool_slot(&pool, &victim));
	}
	cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	cr_assert_eq(write_delete(&pool, &victim, 0, now), OK);
	recover(&pool);
	cr_expect_str_eq(test_pool_get(&pool, &victim, now), "MISS");
	EXPECT_SOUND(&pool);
}

Test(read, hard_expiry_is_exact_to_the_ms)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");

	store_until(&pool, &key, UINT64_MAX, now.ms + 1000);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(999)), "v");
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(1000)), "MISS");
	store_until(&pool, &key, UINT64_MAX, now.ms);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
	store_until(&pool, &key, UINT64_MAX, now.ms + 1);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "v");
}

Test(read, soft_expiry_is_stale_until_the_hard_one)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	char byte;

	store_until(&pool, &key, now.ms + 10, now.ms + 20);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(9)), "v");
	cr_expect_eq(read_copy(&pool, &key, after_ms(10), &byte, 1, &hit),
	    STALE);
	cr_expect_eq(byte, 'v');
	cr_expect_eq(hit.freshness, EPOCH_ALIVE);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(19)), "STALE");
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(20)), "MISS");
	store_until(&pool, &key, now.ms + 30, now.ms + 20);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(20)), "MISS",
	    "hard always wins");
}

Test(read, long_expiries_are_in_seconds_and_68_years_are_never)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	uint64_t edge = 1ull << 31;
	uint64_t years = 68ull * 365 * 24 * 3600 * 1000;

	store_until(&pool, &key, UINT64_MAX, now.ms + edge - 1);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(edge - 2)), "v");
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(edge - 1)),
	    "MISS");
	store_until(&pool, &key, UINT64_MAX, now.ms + edge);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(edge)), "v");
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(edge + 352)),
	    "MISS", "rounded up to the second");
	store_until(&pool, &key, UINT64_MAX, now.ms + 2 * years);
	cr_expect_str_eq(test_pool_get(&pool, &key, after_ms(3 * years)),
	    "v");
}

Test(read, a_short_buffer_is_told_the_length_and_not_overrun)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	char out[8] = "........";

	cr_assert_eq(test_pool_set(&pool, &key, "12345", now), OK);
	cr_expect_eq(read_copy(&pool, &key, now, out, 4, &hit), TOO_LARGE);
	cr_expect_eq(hit.value_bytes, 5);
	cr_expect_arr_eq(out + 4, "....", 4);
	cr_expect_eq(read_copy(&pool, &key, now, out, 0, &hit), TOO_LARGE);
	cr_expect_eq(read_copy(&pool, &key, now, out, 5, &hit), OK);
	cr_expect_arr_eq(out, "12345...", 8);
}

Test(read, answers_are_counted_in_the_readers_own_block)
{
	struct pool pool = test_pool_one_shard();
	struct stats_block stats = { .value = { 0 } };
	struct pool view = test_pool_attach(&pool, &stats);
	struct key key = test_pool_key(&pool, "k");

	(void)test_pool_get(&view, &key, now);
	store_until(&pool, &key, now.ms + 1, UINT64_MAX);
	(void)test_pool_get(&view, &key, now);
	(void)test_pool_get(&view, &key, after_ms(1));
	cr_expect_eq(stats.value[STAT_get_misses], 1);
	cr_expect_eq(stats.value[STAT_get_hits], 2);
	cr_expect_eq(stats.value[STAT_get_stale], 1);
	cr_expect_eq(stats.value[STAT_get_retries], 0);
}

Test(read, a_view_is_the_value_from_any_offset_on)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	struct read_view view;

	cr_assert_eq(test_pool_set(&pool, &key, "0123456789", now), OK);
	for (uint64_t from = 0; from <= 10; from++) {
		cr_assert_eq(read_view(&pool, &key, now, from, &view, &hit),
		    OK);
		cr_expect_eq(view.bytes, 10 - from);
		cr_expect_eq(view.part_count, 1);
		cr_expect_arr_eq(view.part[0].iov_base,
		    &"0123456789"[from], 10 - from);
		cr_expect(read_view_valid(&pool, &view));
	}
	cr_expect_eq(read_view(&pool, &key, now, 11, &view, &hit), INVALID);
	cr_expect_eq(read_view(&pool, &key, now, UINT64_MAX, &view, &hit),
	    INVALID);
	key = test_pool_key(&pool, "absent");
	cr_expect_eq(read_view(&pool, &key, now, 0, &view, &hit), MISS);
	cr_expect_eq(view.part_count, 0);
}

Test(read, a_view_outlives_an_overwrite_but_not_a_reclaim)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	struct read_view view;

	cr_assert_eq(test_pool_set(&pool, &key, "first", now), OK);
	cr_assert_eq(read_view(&pool, &key, now, 0, &view, &hit), OK);
	cr_assert_eq(test_pool_set(&pool, &key, "second", now), OK);
	cr_expect(read_view_valid(&pool, &view));
	cr_expect_arr_eq(view.part[0].iov_base, "first", 5);
	cr_assert_eq(test_pool_reclaim(&pool, 0, hit.extent, now), OK);
	cr_expect_not(read_view_valid(&pool, &view));
}

Test(read, an_entry_with_lengths_that_lie_is_a_miss)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct entry *entry;
	uint64_t word[ENTRY_WORDS];

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	entry = test_pool_entry(&pool, &key);
	for (unsigned i = 0; i < ENTRY_WORDS; i++) {
		word[i] = atomic_load(&entry->word[i]);
	}
	for (unsigned bit = 32; bit < 64; bit++) {
		atomic_store(&entry->word[0], word[0] | 1ull << bit);
		(void)test_pool_get(&pool, &key, now);
		atomic_store(&entry->word[0], word[0]);
	}
	atomic_store(&entry->word[0], UINT64_MAX);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
	atomic_store(&entry->word[0], word[0]);
	atomic_store(&entry->word[2], word[2] | 0xffull << 56);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
	atomic_store(&entry->word[2], word[2]);
	/* A chain that is none. */
	atomic_store(&entry->word[3], word[3] | (uint64_t)ENTRY_CHAIN << 56);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "MISS");
	atomic_store(&entry->word[3], word[3]);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "v");
}

Test(read, generations_that_begin_again_at_0_mislead_nobody)
{
	struct pool pool = test_pool_one_shard();
	char text[TEST_KEY_BYTES];
	unsigned wrapped = 0;

	/* Each extent wraps at its first or second reuse. */
	for (uint32_t e = 1; e <= pool.g.extent_count; e++) {
		uint64_t g = atomic_load(&pool.generations[e]);

		atomic_store(&pool.generations[e], UINT64_MAX - 3 + (g & 1));
	}
	for (unsigned i = 0; i < 60000; i++) {
		struct key key = test_pool_number_key(&pool, text, i % 9000);
		struct entry_spec spec = test_pool_spec(&pool, &key, text,
		    strlen(text));
		const char *got = test_pool_get(&pool, &key, now);
		uint64_t version;

		cr_assert(strcmp(got, text) == 0 || strcmp(got, "MISS") == 0,
		    "%s for %s", got, text);
		spec.tags = (const uint64_t[TAGS_MAX]){ 1 };
		spec.tag_count = TAGS_MAX;
		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
		cr_assert_str_eq(test_pool_get(&pool, &key, now), text);
	}
	for (uint32_t e = 1; e <= pool.g.extent_count; e++) {
		wrapped += atomic_load(&pool.generations[e]) < 1000;
	}
	cr_expect_gt(wrapped, pool.g.extent_count / 2, "%u", wrapped);
	EXPECT_SOUND(&pool);
}
