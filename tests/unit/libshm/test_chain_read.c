/* SPDX-License-Identifier: ISC */

#include "chain.h"

#include "pin.h"
#include "point.h"
#include "reclaim.h"
#include "shard.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <stdlib.h>
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

Test(chain_read, a_view_shows_the_parts_from_any_offset_on)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	struct read_view view;

	store(&pool, &key, VALUE_MAX, 11);
	for (uint64_t from = 0; from <= VALUE_MAX; from += 4093) {
		uint64_t at = from;

		cr_assert_eq(read_view(&pool, &key, now, from, &view, &hit),
		    OK);
		cr_assert_eq(view.bytes, VALUE_MAX - from);
		for (unsigned i = 0; i < view.part_count; i++) {
			cr_assert_arr_eq(view.part[i].iov_base, value + at,
			    view.part[i].iov_len);
			at += view.part[i].iov_len;
		}
		cr_expect_eq(at, VALUE_MAX);
		cr_expect(read_view_valid(&pool, &view));
	}
	cr_expect_eq(read_view(&pool, &key, now, VALUE_MAX + 1, &view, &hit),
	    INVALID);
	cr_assert_eq(read_view(&pool, &key, now, 0, &view, &hit), OK);
	cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
	cr_expect_not(read_view_valid(&pool, &view));
}

Test(chain_read, views_of_64_parts_follow_each_other)
{
	struct pool pool = test_pool_make(80u << 20, EXTENT_BYTES, 1);
	struct key key = test_pool_key(&pool, "k");
	uint64_t bytes = geometry_value_max_bytes(&pool.g);
	uint8_t *large = malloc(bytes);
	struct entry_spec spec = test_pool_spec(&pool, &key, large, bytes);
	struct read_view view;
	struct read_hit hit;
	uint64_t version, at = 0;
	unsigned views = 0;

	cr_assert_gt(bytes >> 14, READ_VIEW_PARTS);
	test_pool_fill(large, bytes, 12);
	cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	while (at < bytes) {
		cr_assert_eq(read_view(&pool, &key, now, at, &view, &hit),
		    OK);
		cr_assert_gt(view.bytes, 0);
		for (unsigned i = 0; i < view.part_count; i++) {
			cr_assert_arr_eq(view.part[i].iov_base, large + at,
			    view.part[i].iov_len);
			at += view.part[i].iov_len;
		}
		views++;
	}
	cr_expect_eq(at, bytes);
	cr_expect_eq(views, 2);
	free(large);
}

Test(chain_read, pinned_parts_stand_while_the_rest_is_reused)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	struct read_view view;

	store(&pool, &key, VALUE_MAX, 13);
	cr_assert_eq(read_view(&pool, &key, now, 0, &view, &hit), OK);
	for (unsigned i = 0; i < view.part_count; i++) {
		cr_assert(pin_acquire(&pool, view.extent[i],
		    view.generation[i]));
	}
	cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
	for (uint64_t i = 0; i < 40; i++) {
		char text[TEST_KEY_BYTES];
		struct key other = test_pool_number_key(&pool, text, i);

		store(&pool, &other, VALUE_MAX, 1000 + i);
	}
	test_pool_fill(value, VALUE_MAX, 13);
	for (unsigned i = 0, at = 0; i < view.part_count; i++) {
		cr_expect_arr_eq(view.part[i].iov_base, value + at,
		    view.part[i].iov_len);
		at += (unsigned)view.part[i].iov_len;
		pin_release(&pool, view.extent[i]);
	}
	EXPECT_SOUND(&pool);
}

Test(chain_read, a_part_of_another_chain_is_not_read)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct key other = test_pool_key(&pool, "o");
	struct read_hit hit, foreign;
	size_t copied;

	store(&pool, &other, VALUE_MAX, 14);
	foreign = expect_value(&pool, &other, VALUE_MAX, 14);
	store(&pool, &key, VALUE_MAX, 15);
	hit = expect_value(&pool, &key, VALUE_MAX, 15);
	/* As a reader finds it whose second part was reused meanwhile. */
	atomic_store(&chain_part_of(&pool, hit.extent)->next,
	    atomic_load(&chain_part_of(&pool, foreign.extent)->next));
	cr_expect_eq(read_chain(&pool, &hit, 0, out, sizeof(out), &copied),
	    MISS);
	cr_expect_eq(read_copy(&pool, &key, now, out, sizeof(out), &hit),
	    MISS);
	cr_expect_eq(test_pool_faults(&pool), 1u << 12);
}

Test(chain_read, links_that_lead_astray_are_a_miss)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct chain_part *part;
	struct read_hit hit;
	static const uint32_t links[] = { 0, UINT32_MAX, 1025, 1 };

	store(&pool, &key, VALUE_MAX, 16);
	hit = expect_value(&pool, &key, VALUE_MAX, 16);
	part = chain_part_of(&pool, hit.extent);
	for (unsigned i = 0; i < 5; i++) {
		uint32_t link = i < 4 ? links[i] : hit.extent;	/* a ring */

		atomic_store(&part->next, link);
		cr_expect_eq(read_copy(&pool, &key, now, out, sizeof(out),
		    &hit), MISS, "link %u", link);
	}
	atomic_store(&part->published_bytes, UINT64_MAX - 1);
	cr_expect_eq(read_copy(&pool, &key, now, out, sizeof(out), &hit),
	    MISS);
}

Test(chain_read, verify_finds_a_changed_byte_in_any_part)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	uint32_t extent;

	store(&pool, &key, VALUE_MAX, 17);
	hit = expect_value(&pool, &key, VALUE_MAX, 17);
	EXPECT_SOUND(&pool);
	for (extent = hit.extent; extent != 0;
	    extent = atomic_load(&chain_part_of(&pool, extent)->next)) {
		uint8_t *byte = (uint8_t *)pool_extent(&pool, extent) + 120;

		*byte ^= 0x10;
		cr_expect_eq(test_pool_faults(&pool), 1u << 12);
		*byte ^= 0x10;
	}
	EXPECT_SOUND(&pool);
}

Test(chain_read, a_read_into_a_short_buffer_says_how_long_it_is)
{
	struct pool pool = make();
	struct key key = test_pool_key(&pool, "k");
	struct read_hit hit;
	size_t copied;

	store(&pool, &key, 50000, 18);
	out[49999] = 0x77;
	cr_expect_eq(read_copy(&pool, &key, now, out, 49999, &hit),
	    TOO_LARGE);
	cr_expect_eq(hit.value_bytes, 50000);
	cr_expect_eq(out[49999], 0x77);
	cr_expect_eq(read_chain(&pool, &hit, 49990, out, 100, &copied), OK);
	cr_expect_eq(copied, 10);
	cr_expect_arr_eq(out, value + 49990, 10);
	cr_expect_eq(read_chain(&pool, &hit, 50001, out, 1, &copied),
	    INVALID);
}

#ifdef SHM_TEST_POINTS
static struct pool *hooked_pool;
static struct key hooked_key;
static unsigned replaced;

/* Between the parts of a reader the whole value is replaced. */
static void
replace_between_parts(const char *name)
{
	if (strcmp(name, "chain_read_next") == 0 && replaced < 3) {
		shm_point_hook = NULL;
		replaced++;
		store(hooked_pool, &hooked_key, VALUE_MAX, 100 + replaced);
		shm_point_hook = replace_between_parts;
	}
}

Test(chain_read, a_value_replaced_between_two_parts_never_mixes)
{
	struct pool pool = make();
	struct read_hit hit;

	hooked_pool = &pool;
	hooked_key = test_pool_key(&pool, "k");
	store(&pool, &hooked_key, VALUE_MAX, 100);
	shm_point_hook = replace_between_parts;
	cr_assert_eq(read_copy(&pool, &hooked_key, now, out, sizeof(out),
	    &hit), OK);
	shm_point_hook = NULL;
	cr_expect_eq(replaced, 3);
	cr_expect(test_pool_filled(out, VALUE_MAX, 103));
}

/*
 * A writer between opening the extent that was the second part for small
 * entries, and writing the first one: the part's old id still lies there.
 */
static void
reuse_part_for_entries(const char *name)
{
	uint32_t shard = pool_shard_of(hooked_pool, hooked_key.hash);
	bool moved;

	shm_point_hook = NULL;
	if (strcmp(name, "chain_read_next") == 0 && replaced++ == 0) {
		cr_assert_eq(write_delete(hooked_pool, &hooked_key, 0, now),
		    OK);
		cr_assert_eq(shard_enter(hooked_pool, shard), OK);
		cr_assert_eq(reclaim_make_room(hooked_pool, shard,
		    EVICT_SMALL, EXTENT_BYTES, now, &moved), OK);
		shard_leave(hooked_pool, shard);
	} else if (strcmp(name, "chain_read_part") == 0) {
		for (uint64_t i = 0; i < 200; i++) {
			char text[TEST_KEY_BYTES];
			struct key key = test_pool_number_key(hooked_pool,
			    text, i);

			if (pool_shard_of(hooked_pool, key.hash) == shard) {
				store(hooked_pool, &key, 2000, 300 + i);
			}
		}
	}
	shm_point_hook = reuse_part_for_entries;
}

Test(chain_read, a_part_reused_for_small_entries_is_not_read)
{
	struct pool pool = make();
	struct read_hit hit;
	uint32_t second;

	hooked_pool = &pool;
	hooked_key = test_pool_key(&pool, "k");
	/* The open extent is no empty one: the next is a fresh one. */
	store(&pool, &hooked_key, 8, 199);
	store(&pool, &hooked_key, 20000, 200);
	hit = expect_value(&pool, &hooked_key, 20000, 200);
	second = atomic_load(&chain_part_of(&pool, hit.extent)->next);
	replaced = 0;
	shm_point_hook = reuse_part_for_entries;
	cr_expect_eq(read_copy(&pool, &hooked_key, now, out, sizeof(out),
	    &hit), MISS);
	shm_point_hook = NULL;
	cr_expect_eq(replaced, 1);
	/* It was reused as the case wants it. */
	cr_expect_eq(atomic_load(&pool.generations[second]) & 1, 0);
	EXPECT_SOUND(&pool);
}
#endif
