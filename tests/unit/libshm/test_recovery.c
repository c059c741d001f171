/* SPDX-License-Identifier: ISC */

/*
 * A process dies while it holds a shard, and leaves damage of each kind; the
 * next one to come finds a sound shard with what was linked.
 */
#include "recovery.h"

#include "extent.h"
#include "index.h"
#include "shard.h"
#include "test_pool.h"

#include <criterion/criterion.h>

#include <string.h>
#include <unistd.h>

#define KEYS	300u

static const struct boot_ms now = { 5000 };

static struct pool pool;
static struct shard_private *sp;
static char texts[KEYS][TEST_KEY_BYTES];

static struct key
key_of(unsigned i)
{
	return test_pool_number_key(&pool, texts[i], i);
}

static _Atomic uint64_t *
slot_of(unsigned i)
{
	struct key key = key_of(i);

	return test_pool_slot(&pool, &key);
}

static void
begin(void)
{
	pool = test_pool_one_shard();
	sp = &pool.shards_private[0];
	for (unsigned i = 0; i < KEYS; i++) {
		struct key key = key_of(i);

		cr_assert_eq(test_pool_set(&pool, &key, texts[i], now), OK);
	}
}

static void
die_after(void (*damage)(void))
{
	cr_assert(test_pool_die_holding(&pool, 0, damage));
}

static unsigned
present(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		struct key key = key_of(i);
		const char *got = test_pool_get(&pool, &key, now);

		cr_expect(strcmp(got, texts[i]) == 0 ||
		    strcmp(got, "MISS") == 0, "%s is %s", texts[i], got);
		count += strcmp(got, texts[i]) == 0;
	}
	return count;
}

/* The next holder repairs; that many entries are left, and all works. */
static void
expect_recovered(unsigned left)
{
	uint64_t before = test_pool_stat(&pool, STAT_recoveries);

	cr_assert_eq(shard_enter(&pool, 0), OK);
	shard_leave(&pool, 0);
	cr_expect_eq(test_pool_stat(&pool, STAT_recoveries), before + 1);
	EXPECT_SOUND(&pool);
	cr_expect_eq(present(), left, "%u of %u", present(), left);
	for (unsigned i = 0; i < KEYS; i++) {
		struct key key = key_of(i);

		cr_assert_eq(test_pool_set(&pool, &key, texts[i], now), OK);
	}
	cr_expect_eq(present(), KEYS);
	EXPECT_SOUND(&pool);
}

static void
damage_slots(void)
{
	uint64_t word = atomic_load(slot_of(5));

	atomic_store(slot_of(1), word | SLOT_OFFSET_MASK);
	atomic_store(slot_of(2), word | SLOT_EXTENT_MASK);
	atomic_store(slot_of(3), slot_make(0, 0, pool.priv->free_head, 0));
	atomic_store(slot_of(4), atomic_load(slot_of(4)) ^ 1ull << 50);
}

Test(recovery, slots_that_lead_nowhere_are_dropped)
{
	begin();
	die_after(damage_slots);
	expect_recovered(KEYS - 4);
	cr_expect_eq(test_pool_stat(&pool, STAT_recovery_slots_dropped), 4);
}

static void
damage_buckets(void)
{
	uint64_t word = atomic_load(slot_of(9));
	uint64_t own = index_bucket(key_of(9).hash, index_bucket_count(
	    &pool, 0));

	/* The same place in every bucket with room, its own as well. */
	for (uint64_t b = 0; b < index_bucket_count(&pool, 0); b++) {
		struct index_walk walk;
		_Atomic uint64_t *slot = index_walk_bucket(&walk, &pool, 0,
		    b);

		for (; slot != NULL; slot = index_walk_next(&walk)) {
			if (atomic_load(slot) == 0) {
				atomic_store(slot, b == own ?
				    word | SLOT_REFRESH : word);
				break;
			}
		}
	}
}

Test(recovery, slots_in_the_wrong_bucket_and_double_ones_are_dropped)
{
	begin();
	die_after(damage_buckets);
	expect_recovered(KEYS);
}

static void
damage_links(void)
{
	struct index_line *full = NULL;
	uint64_t link;

	/* One line's link leads nowhere, another's to a line in use. */
	for (uint64_t b = 0; full == NULL; b++) {
		full = index_line(&pool, 0, DIR_PRIMARY, b);
		if (!slot_is_link(atomic_load(&full->word[7]))) {
			full = NULL;
		}
	}
	link = atomic_load(&full->word[7]);
	for (uint64_t b = 0, made = 0; made < 3; b++) {
		struct index_line *line = index_line(&pool, 0, DIR_PRIMARY,
		    b);

		if (atomic_load(&line->word[7]) == 0) {
			static const uint32_t lines[] = {
				LINK_LINES_MAX, 1023, 0,
			};

			atomic_store(&line->word[7], lines[made] == 0 ?
			    link : link_make(lines[made], 9));
			made++;
		}
	}
	memset(pool.marks, 0xff, pool.g.mark_words * sizeof(uint64_t));
	sp->overflow_used = 12345;
}

Test(recovery, links_that_lead_nowhere_or_twice_are_cut)
{
	unsigned left;

	begin();
	die_after(damage_links);
	cr_assert_eq(shard_enter(&pool, 0), OK);
	shard_leave(&pool, 0);
	EXPECT_SOUND(&pool);
	left = present();
	cr_expect_geq(left, KEYS - 8, "one line may have lost its bucket: %u",
	    left);
}

static void
damage_books_and_lists(void)
{
	for (uint32_t e = 1; e <= pool.g.extent_count; e++) {
		struct extent_info *info = &pool.infos[e];

		if (extent_role_of(extent_state(&pool, e)) != EXTENT_FREE) {
			info->live_bytes = 77;
			info->live_entries = UINT32_MAX;
			info->next = e;
			info->earliest_ms = 0;
		}
	}
	sp->small = (struct extent_list){ 9999999, 1, 5 };
	sp->main = (struct extent_list){ UINT32_MAX, 0, 0 };
	sp->limbo = (struct extent_list){ 1, 1, 1 };
	sp->spare = UINT32_MAX;
	sp->open_small = UINT32_MAX;
	sp->open_main = 1;
	sp->owned = 0;
	sp->index_pages = 500;
	sp->main_entries = UINT64_MAX;
	sp->reclaim_extent = 3;
	sp->sweep_extent = UINT32_MAX - 1;
	atomic_store(&pool.shards[0].entry_count, 123456789);
}

Test(recovery, books_and_lists_are_made_from_the_states)
{
	begin();
	die_after(damage_books_and_lists);
	expect_recovered(KEYS);
}

static void
damage_roles(void)
{
	uint32_t spare = extent_take(&pool, 0, EXTENT_SPARE);
	uint32_t part = extent_take(&pool, 0, EXTENT_CHAIN_PART);
	uint32_t head = extent_take(&pool, 0, EXTENT_CHAIN_HEAD);
	uint32_t page = extent_take(&pool, 0, EXTENT_INDEX);
	uint32_t odd = extent_take(&pool, 0, EXTENT_MAIN);
	uint32_t none = extent_take(&pool, 0, (enum extent_role)200);

	if (spare == 0 || part == 0 || head == 0 || page == 0 || odd == 0 ||
	    none == 0) {
		_exit(2);
	}
	pool.infos[part].chain_head = UINT32_MAX;
}

Test(recovery, extents_taken_and_not_used_are_given_back_or_adopted)
{
	uint32_t free_before, pages;

	begin();
	free_before = extent_free_count(&pool);
	pages = sp->index_pages;
	die_after(damage_roles);
	cr_assert_eq(extent_free_count(&pool), free_before - 6);
	cr_assert_eq(shard_enter(&pool, 0), OK);
	shard_leave(&pool, 0);
	cr_expect_eq(extent_free_count(&pool), free_before - 1,
	    "but the page, which stays one");
	cr_expect_eq(sp->index_pages, pages + 1);
	cr_expect_eq(atomic_load(&pool.shards[0].dir_pages[DIR_OVERFLOW]),
	    2);
	EXPECT_SOUND(&pool);
	cr_expect_eq(present(), KEYS);
}

/* An entry appended and committed, never linked. */
static void
append_without_a_link(void)
{
	struct key key = test_pool_key(&pool, "never linked");
	struct entry_head head = {
		.value_bytes = 1, .hash = key.hash, .soft = EXPIRY_NEVER,
		.hard = EXPIRY_NEVER, .key_bytes = (uint16_t)key.length,
		.epoch = 1, .created_ms = now.ms,
		.sequence = ++sp->sequence,
	};
	uint32_t bytes = (uint32_t)entry_bytes(&head), offset;
	struct entry *entry = extent_reserve(&pool, sp->open_small, bytes,
	    &offset);

	entry_write(entry, &head, NULL, key.bytes, "x");
	extent_commit(&pool, sp->open_small, offset + bytes);
}

Test(recovery, what_was_not_linked_is_not_linked_by_it)
{
	struct key deleted, overwritten, unlinked;

	begin();
	deleted = key_of(10);
	overwritten = key_of(11);
	unlinked = test_pool_key(&pool, "never linked");
	cr_assert_eq(write_delete(&pool, &deleted, 0, now), OK);
	cr_assert_eq(test_pool_set(&pool, &overwritten, "new", now), OK);
	die_after(append_without_a_link);
	cr_assert_eq(shard_enter(&pool, 0), OK);
	shard_leave(&pool, 0);
	cr_expect_str_eq(test_pool_get(&pool, &deleted, now), "MISS");
	cr_expect_str_eq(test_pool_get(&pool, &overwritten, now), "new");
	cr_expect_str_eq(test_pool_get(&pool, &unlinked, now), "MISS");
	cr_expect_eq(test_pool_entries(&pool), KEYS - 1);
	EXPECT_SOUND(&pool);
}

/* s2 without s3: copies in a bucket that is not counted. */
static void
split_without_the_count(void)
{
	uint64_t count = index_bucket_count(&pool, 0);
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY, count);

	for (unsigned w = 0; w < LINE_SLOTS; w++) {
		atomic_store(&line->word[w], atomic_load(slot_of(w)));
	}
}

/* s3 without s4: the old bucket still holds what moved. */
static void
split_without_the_clearing(void)
{
	uint64_t count = index_bucket_count(&pool, 0);
	struct index_line *new = index_line(&pool, 0, DIR_PRIMARY, count);
	struct index_line *old = index_line(&pool, 0, DIR_PRIMARY, 0);
	unsigned moved = 0;

	for (unsigned w = 0; w < LINE_SLOTS; w++) {
		uint64_t word = atomic_load(&old->word[w]), hash;

		if (word != 0 && !slot_is_link(word) &&
		    index_hash_of(&pool, word, &hash) &&
		    index_bucket(hash, count + 1) == count) {
			atomic_store(&new->word[moved++], word);
		}
	}
	atomic_store(&pool.shards[0].bucket_count, count + 1);
}

Test(recovery, a_split_is_undone_or_finished)
{
	begin();
	die_after(split_without_the_count);
	expect_recovered(KEYS);
	begin();
	cr_assert_eq(index_bucket_count(&pool, 0), 64);
	die_after(split_without_the_clearing);
	expect_recovered(KEYS);
	cr_expect_eq(index_bucket_count(&pool, 0), 65);
}

static void
damage_count(void)
{
	atomic_store(&pool.shards[0].bucket_count, 1ull << 50);
}

static void
damage_count_to_none(void)
{
	atomic_store(&pool.shards[0].bucket_count, 0);
}

Test(recovery, an_absurd_bucket_count_empties_the_shard)
{
	begin();
	die_after(damage_count);
	expect_recovered(0);
	begin();
	die_after(damage_count_to_none);
	expect_recovered(0);
	cr_expect_eq(test_pool_stat(&pool, STAT_recovery_shard_emptied), 1);
}

static void
die_in_a_recovery(void)
{
	sp->recovering = 1;
	damage_slots();
}

Test(recovery, the_second_try_empties_the_shard)
{
	begin();
	die_after(die_in_a_recovery);
	expect_recovered(0);
	cr_expect_eq(test_pool_stat(&pool, STAT_recovery_shard_emptied), 1);
	cr_expect_eq(sp->recovering, 0);
	/* The next one is a first try again. */
	die_after(damage_slots);
	expect_recovered(KEYS - 4);
}

static void
do_nothing(void)
{
}

Test(recovery, run_again_it_changes_nothing)
{
	struct extent_list small;
	uint64_t words[64 * LINE_SLOTS];
	struct index_line *line;

	begin();
	die_after(damage_slots);
	expect_recovered(KEYS - 4);
	line = index_line(&pool, 0, DIR_PRIMARY, 0);
	memcpy(words, line, sizeof(words));
	small = sp->small;
	for (unsigned i = 0; i < 3; i++) {
		die_after(do_nothing);
		cr_assert_eq(shard_enter(&pool, 0), OK);
		recovery_run(&pool, 0);
		shard_leave(&pool, 0);
		cr_expect_arr_eq(words, line, sizeof(words));
		cr_expect_arr_eq(&small, &sp->small, sizeof(small));
		EXPECT_SOUND(&pool);
	}
	cr_expect_eq(present(), KEYS);
}

Test(recovery, readers_look_on_while_the_lock_is_a_dead_ones)
{
	begin();
	die_after(do_nothing);
	cr_expect_eq(present(), KEYS);
}
