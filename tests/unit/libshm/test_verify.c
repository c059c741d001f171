/* SPDX-License-Identifier: ISC */

/*
 * For each invariant of verify.h: damage that breaks it is told as that one,
 * and what was put right again is sound.
 */
#include "verify.h"

#include "extent.h"
#include "index.h"
#include "shard.h"
#include "verify_fixture.h"

#include <criterion/criterion.h>

#include <string.h>

static struct pool pool;
static struct shard_private *sp;

static void
begin(void)
{
	pool = verify_fixture_make();
	sp = &pool.shards_private[0];
	EXPECT_SOUND(&pool);
}

static struct key
key_of(unsigned i)
{
	return test_pool_key(&pool, verify_fixture_texts[i]);
}

static _Atomic uint64_t *
slot_of(unsigned i)
{
	struct key key = key_of(i);

	return test_pool_slot(&pool, &key);
}

Test(verify, i1_headers_are_ours)
{
	begin();
	pool.header->magic ^= 1;
	EXPECT_FAULTS(1);
	pool.header->magic ^= 1;
	pool.priv->magic ^= 1;
	EXPECT_FAULTS(1);
	pool.priv->magic ^= 1;
	pool.header->version++;
	EXPECT_FAULTS(1);
	pool.header->version--;
	pool.priv->layout_hash++;
	EXPECT_FAULTS(1);
	pool.priv->layout_hash--;
	pool.header->geometry.extent_shift++;
	EXPECT_FAULTS(1);
	pool.header->geometry.extent_shift--;
	pool.priv->boot_id[15]++;
	EXPECT_FAULTS(1);
	pool.priv->boot_id[15]--;
	EXPECT_SOUND(&pool);
}

Test(verify, i2_index_pages_are_pages_of_this_shard)
{
	_Atomic uint32_t *overflow;
	uint32_t page;

	begin();
	overflow = &index_dir(&pool, 0, DIR_OVERFLOW)[0];
	page = atomic_load(overflow);
	atomic_store(&pool.shards[0].dir_pages[DIR_PRIMARY],
	    pool.g.dir_capacity + 1);
	cr_expect_neq(test_pool_faults(&pool) & 1u << 2, 0);
	atomic_store(&pool.shards[0].dir_pages[DIR_PRIMARY], 1);
	EXPECT_SOUND(&pool);
	atomic_store(overflow, pool.g.extent_count + 1);
	cr_expect_neq(test_pool_faults(&pool) & 1u << 2, 0);
	atomic_store(overflow, sp->open_small);
	cr_expect_neq(test_pool_faults(&pool) & 1u << 2, 0);
	atomic_store(overflow, page);
	atomic_store(&pool.generations[page], 2);
	EXPECT_FAULTS(10);
	atomic_store(&pool.generations[page], 1);
	EXPECT_SOUND(&pool);
}

Test(verify, i3_slots_lead_to_whole_entries_of_the_shard)
{
	_Atomic uint64_t *slot;
	uint64_t word, state;
	uint32_t extent;

	begin();
	slot = slot_of(7);
	word = atomic_load(slot);
	extent = slot_extent(word);
	state = extent_state(&pool, extent);
	atomic_store(slot, word + (extent_committed(&pool, extent) -
	    slot_offset(word)) / 8);
	EXPECT_FAULTS(3, 8);
	atomic_store(slot, word | SLOT_EXTENT_MASK);
	EXPECT_FAULTS(3, 8);
	atomic_store(slot, word);
	atomic_store(&pool.generations[extent],
	    atomic_load(&pool.generations[extent]) + 1);
	EXPECT_FAULTS(3, 10);
	atomic_store(&pool.generations[extent],
	    atomic_load(&pool.generations[extent]) - 1);
	atomic_store(&pool.infos[extent].state, state + (1ull <<
	    STATE_OWNER_SHIFT));
	cr_expect_neq(test_pool_faults(&pool) & 1u << 3, 0);
	atomic_store(&pool.infos[extent].state, state);
	EXPECT_SOUND(&pool);
}

Test(verify, i4_slots_lie_in_their_bucket_under_their_tag)
{
	_Atomic uint64_t *slot, *other = NULL;
	struct index_line *line;
	uint64_t word;

	begin();
	slot = slot_of(7);
	word = atomic_load(slot);
	atomic_store(slot, word ^ 1ull << 63);
	EXPECT_FAULTS(4);
	atomic_store(slot, 0);
	for (uint64_t b = 0; other == NULL; b++) {
		line = index_line(&pool, 0, DIR_PRIMARY, b);
		if (b != index_bucket(key_of(7).hash, index_bucket_count(
		    &pool, 0)) && atomic_load(&line->word[6]) == 0) {
			other = &line->word[6];
		}
	}
	atomic_store(other, word);
	EXPECT_FAULTS(4);
	atomic_store(other, 0);
	atomic_store(slot, word);
	EXPECT_SOUND(&pool);
}

Test(verify, i5_no_place_is_linked_twice)
{
	struct index_walk walk;
	_Atomic uint64_t *slot;
	uint64_t word;

	begin();
	word = atomic_load(slot_of(7));
	slot = index_walk_bucket(&walk, &pool, 0, index_bucket(
	    key_of(7).hash, index_bucket_count(&pool, 0)));
	while (atomic_load(slot) != 0) {
		slot = index_walk_next(&walk);
		cr_assert_not_null(slot);
	}
	atomic_store(slot, word ^ 1ull << SLOT_COUNT_SHIFT);
	EXPECT_FAULTS(5, 8);
	atomic_store(slot, 0);
	EXPECT_SOUND(&pool);
}

Test(verify, i5_no_key_is_linked_twice)
{
	struct key key;
	struct entry_head head;
	uint32_t offset, extent;
	struct entry *copy;
	uint32_t bytes;

	begin();
	key = key_of(7);
	extent = sp->open_small;
	head = entry_load(test_pool_entry(&pool, &key));
	bytes = (uint32_t)entry_bytes(&head);
	copy = extent_reserve(&pool, extent, bytes, &offset);
	memcpy(copy, test_pool_entry(&pool, &key), bytes);
	extent_commit(&pool, extent, offset + bytes);
	EXPECT_SOUND(&pool);
	cr_assert_eq(shard_enter(&pool, 0), OK);
	shard_link(&pool, 0, NULL, slot_make(key.hash, 0, extent, offset),
	    &head);
	shard_leave(&pool, 0);
	EXPECT_FAULTS(5);
}

Test(verify, i6_lines_belong_to_one_bucket_and_are_marked)
{
	struct index_line *line, *other;
	uint64_t link;

	begin();
	line = index_line(&pool, 0, DIR_PRIMARY, 5);
	link = atomic_load(&line->word[LINE_SLOTS - 1]);
	cr_assert(slot_is_link(link));
	pool.marks[0] ^= 1ull << link_line(link);
	EXPECT_FAULTS(6);
	pool.marks[0] ^= 1ull << link_line(link);
	pool.marks[3] ^= 2;
	EXPECT_FAULTS(6);
	pool.marks[3] ^= 2;
	sp->overflow_used++;
	EXPECT_FAULTS(6);
	sp->overflow_used--;
	other = index_line(&pool, 0, DIR_PRIMARY, 6);
	cr_assert_eq(atomic_load(&other->word[LINE_SLOTS - 1]), 0);
	atomic_store(&other->word[LINE_SLOTS - 1], link);
	EXPECT_FAULTS(6);
	atomic_store(&other->word[LINE_SLOTS - 1], link_make(
	    LINK_LINES_MAX, 1));
	EXPECT_FAULTS(6);
	atomic_store(&other->word[LINE_SLOTS - 1], 0);
	EXPECT_SOUND(&pool);
}

Test(verify, i7_checksums_are_right)
{
	struct key key;
	uint8_t *byte;

	begin();
	key = key_of(7);
	byte = (uint8_t *)test_pool_entry(&pool, &key) + 48;
	byte[0] ^= 1;
	EXPECT_FAULTS(7);
	byte[0] ^= 1;
	byte[5] ^= 0x80;
	EXPECT_FAULTS(7);
	byte[5] ^= 0x80;
	EXPECT_SOUND(&pool);
}

Test(verify, i8_the_books_are_what_the_index_says)
{
	struct extent_info *info;

	begin();
	info = &pool.infos[sp->open_small];
	info->live_bytes += 8;
	EXPECT_FAULTS(8);
	info->live_bytes -= 8;
	info->live_entries--;
	EXPECT_FAULTS(8);
	info->live_entries++;
	sp->main_entries++;
	EXPECT_FAULTS(8);
	sp->main_entries--;
	atomic_fetch_add(&pool.shards[0].entry_count, 1);
	EXPECT_FAULTS(8);
	atomic_fetch_sub(&pool.shards[0].entry_count, 1);
	EXPECT_SOUND(&pool);
}

Test(verify, i14_flights_are_in_their_lists)
{
	struct flight_table table;

	begin();
	table = pool_flights(&pool, 0);
	table.state->used++;
	EXPECT_FAULTS(14);
	table.state->used--;
	table.flights[1].state = FLIGHT_LEADING;
	EXPECT_FAULTS(14);
	table.flights[1].state = FLIGHT_FREE;
	EXPECT_SOUND(&pool);
}

Test(verify, i15_a_refresh_bit_has_a_flight)
{
	begin();
	atomic_fetch_or(slot_of(7), SLOT_REFRESH);
	EXPECT_FAULTS(15);
	atomic_fetch_and(slot_of(7), ~SLOT_REFRESH);
	EXPECT_SOUND(&pool);
}
