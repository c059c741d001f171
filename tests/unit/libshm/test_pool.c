/* SPDX-License-Identifier: ISC */

#include "pool.h"

#include "test_pool.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct boot_ms now = { 5000 };

/* A sealed copy of a pool's first page, with one word changed. */
static int
copy_with(const struct pool *pool, size_t at, uint32_t flip, uint64_t bytes)
{
	struct segment seg;
	uint32_t word;

	cr_assert_eq(segment_create(&seg, "copy", bytes), OK);
	memcpy(seg.base, pool->segment.base, bytes < PAGE_BYTES ? bytes :
	    PAGE_BYTES);
	if (at + sizeof(word) <= bytes) {
		memcpy(&word, (uint8_t *)seg.base + at, sizeof(word));
		word ^= flip;
		memcpy((uint8_t *)seg.base + at, &word, sizeof(word));
	}
	cr_assert_eq(segment_seal(&seg), OK);
	return seg.fd;
}

static enum result
attach_to(int fd)
{
	struct stats_block stats;
	struct pool view;
	enum result result = pool_attach(&view, fd, &stats);

	if (result == OK) {
		pool_destroy(&view);
	} else {
		cr_expect_neq(fcntl(fd, F_GETFD), -1, "stays the caller's");
		close(fd);
	}
	return result;
}

Test(pool, a_client_sees_what_a_worker_stored)
{
	struct pool pool = test_pool_four_shards();
	struct stats_block stats = { .value = { 0 } };
	struct pool view = test_pool_attach(&pool, &stats);
	struct key key = test_pool_key(&pool, "greeting");

	cr_assert_eq(test_pool_set(&pool, &key, "hello", now), OK);
	cr_assert_str_eq(test_pool_get(&view, &key, now), "hello");
	cr_assert_neq(view.segment.base, pool.segment.base);
	cr_assert_null(view.priv);
	cr_assert_eq(stats.value[STAT_get_hits], 1, "in the client's block");
	cr_assert_eq(test_pool_stat(&pool, STAT_get_hits), 0);
	EXPECT_SOUND(&pool);
}

Test(pool, a_copy_with_nothing_changed_is_attached)
{
	struct pool pool = test_pool_one_shard();

	cr_assert_eq(attach_to(copy_with(&pool, 0, 0,
	    pool.g.segment_bytes)), OK);
}

Test(pool, wrong_magic_version_or_layout_is_refused)
{
	struct pool pool = test_pool_one_shard();
	uint64_t bytes = pool.g.segment_bytes;

	cr_expect_eq(attach_to(copy_with(&pool, offsetof(struct pool_header,
	    magic), 1, bytes)), LAYOUT_MISMATCH);
	cr_expect_eq(attach_to(copy_with(&pool, offsetof(struct pool_header,
	    version), 1, bytes)), LAYOUT_MISMATCH);
	cr_expect_eq(attach_to(copy_with(&pool, offsetof(struct pool_header,
	    layout_hash) + 4, 0x80000000u, bytes)), LAYOUT_MISMATCH);
}

Test(pool, each_word_of_the_geometry_is_checked)
{
	struct pool pool = test_pool_one_shard();
	size_t from = offsetof(struct pool_header, geometry);

	for (size_t at = 0; at < sizeof(struct geometry); at += 4) {
		cr_expect_eq(attach_to(copy_with(&pool, from + at, 4,
		    pool.g.segment_bytes)), LAYOUT_MISMATCH, "word at %zu",
		    at);
	}
}

Test(pool, a_segment_of_another_length_is_refused)
{
	struct pool pool = test_pool_one_shard();
	uint64_t bytes = pool.g.segment_bytes;

	cr_expect_eq(attach_to(copy_with(&pool, 0, 0, 16)), LAYOUT_MISMATCH);
	cr_expect_eq(attach_to(copy_with(&pool, 0, 0, PAGE_BYTES)),
	    LAYOUT_MISMATCH);
	cr_expect_eq(attach_to(copy_with(&pool, 0, 0, bytes - PAGE_BYTES)),
	    LAYOUT_MISMATCH);
	cr_expect_eq(attach_to(copy_with(&pool, 0, 0, bytes + PAGE_BYTES)),
	    LAYOUT_MISMATCH);
}

Test(pool, an_unsealed_copy_is_refused)
{
	struct pool pool = test_pool_one_shard();
	struct segment seg;

	cr_assert_eq(segment_create(&seg, "copy", pool.g.segment_bytes), OK);
	memcpy(seg.base, pool.segment.base, PAGE_BYTES);
	cr_assert_eq(attach_to(seg.fd), NOT_SEALED);
}

Test(pool, the_text_of_a_mismatch_names_both_sides)
{
	struct pool pool = test_pool_one_shard();
	char text[256], own[32], other[32];
	int fd = copy_with(&pool, offsetof(struct pool_header, version), 6,
	    pool.g.segment_bytes);

	(void)pool_mismatch_text(fd, text, sizeof(text));
	(void)snprintf(own, sizeof(own), "version %u", LAYOUT_VERSION);
	(void)snprintf(other, sizeof(other), "version %u",
	    LAYOUT_VERSION ^ 6u);
	cr_assert_not_null(strstr(text, own), "%s", text);
	cr_assert_not_null(strstr(text, other), "%s", text);
	fd = copy_with(&pool, 0, 1, pool.g.segment_bytes);
	(void)pool_mismatch_text(fd, text, sizeof(text));
	cr_assert_str_eq(text, "not a pool of weir");
	cr_assert_str_eq(pool_mismatch_text(-1, text, sizeof(text)),
	    "not a pool of weir");
}

Test(pool, create_refuses_what_it_cannot_make)
{
	struct pool pool;
	char name[POOL_NAME_BYTES + 1];
	struct pool_params params = {
		.name = name, .pool_bytes = 4u << 20, .worker_count = 1,
	};

	memset(name, 'n', sizeof(name) - 1);
	name[POOL_NAME_BYTES] = '\0';
	cr_expect_eq(pool_create(&pool, &params), INVALID, "64 bytes of name");
	name[POOL_NAME_BYTES - 1] = '\0';
	params.worker_count = 0;
	cr_expect_eq(pool_create(&pool, &params), INVALID);
	params.worker_count = 1;
	cr_assert_eq(pool_create(&pool, &params), OK);
	cr_expect_str_eq(pool.header->name, name);
	pool_destroy(&pool);
	cr_expect_null(pool.header);
}

Test(pool, keys_have_1_to_1024_bytes)
{
	struct pool pool = test_pool_one_shard();
	static const char bytes[KEY_MAX_BYTES + 1];
	struct key key;

	cr_expect_eq(key_init(&key, &pool, bytes, 0), KEY_INVALID);
	cr_expect_eq(key_init(&key, &pool, bytes, 1), OK);
	cr_expect_eq(key_init(&key, &pool, bytes, KEY_MAX_BYTES), OK);
	cr_expect_eq(key.length, KEY_MAX_BYTES);
	cr_expect_eq(key_init(&key, &pool, bytes, KEY_MAX_BYTES + 1),
	    KEY_INVALID);
	cr_expect_eq(key_init(&key, &pool, bytes, SIZE_MAX), KEY_INVALID);
}

Test(pool, a_new_pool_is_sound_and_empty_in_every_shape)
{
	static const struct {
		uint64_t	bytes;
		uint64_t	extent;
		uint32_t	workers;
	} shapes[] = {
		{ 4u << 20, 0, 1 }, { 4u << 20, 256u << 10, 64 },
		{ 16u << 20, 16u << 10, 64 }, { (5u << 20) + 777, 0, 3 },
	};

	for (unsigned i = 0; i < 4; i++) {
		struct pool pool = test_pool_make(shapes[i].bytes,
		    shapes[i].extent, shapes[i].workers);

		struct stats_block stats;
		struct pool view = test_pool_attach(&pool, &stats);

		EXPECT_SOUND(&pool);
		cr_expect_eq(test_pool_entries(&pool), 0);
		pool_destroy(&view);
		pool_destroy(&pool);
	}
}

Test(pool, who_is_no_worker_counts_in_a_spare_block)
{
	struct pool pool = test_pool_one_shard();

	pool_become_worker(&pool, 1);
	cr_expect_eq(pool.stats, &pool.all_stats[1]);
	pool_become_worker(&pool, pool.g.worker_count);
	cr_expect_eq(pool.stats, &pool.all_stats[2]);
	pool_become_worker(&pool, UINT32_MAX);
	cr_expect_eq(pool.stats, &pool.all_stats[pool.g.stats_blocks - 1]);
}
