/* SPDX-License-Identifier: ISC */

/*
 * As test_verify.c, for the invariants of extents, chains and purges.
 */
#include "verify.h"

#include "chain.h"
#include "epoch.h"
#include "extent.h"
#include "verify_fixture.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct boot_ms now = { 5000 };

static struct pool pool;
static struct shard_private *sp;

static void
begin(void)
{
	pool = verify_fixture_make();
	sp = &pool.shards_private[0];
	EXPECT_SOUND(&pool);
}

Test(verify_extents, i9_every_extent_is_in_the_list_of_its_state)
{
	struct extent_list saved;
	uint32_t spare, head;

	begin();
	saved = sp->small;
	sp->small.count++;
	EXPECT_FAULTS(9);
	sp->small = (struct extent_list){ 0, 0, 0 };
	EXPECT_FAULTS(9);
	sp->small = saved;
	spare = sp->spare;
	sp->spare = 0;
	EXPECT_FAULTS(9);
	sp->spare = spare;
	sp->owned++;
	EXPECT_FAULTS(9);
	sp->owned--;
	head = pool.priv->free_head;
	pool.priv->free_head = pool.infos[head].next;
	EXPECT_FAULTS(9);
	pool.priv->free_head = sp->open_small;
	cr_expect_neq(test_pool_faults(&pool) & 1u << 9, 0);
	pool.priv->free_head = head;
	EXPECT_SOUND(&pool);
}

Test(verify_extents, i9_births_are_in_order_and_owners_exist)
{
	uint64_t first, second;
	uint32_t a, b;

	begin();
	a = sp->main.head;
	b = pool.infos[a].next;
	cr_assert_neq(b, 0);
	first = extent_state(&pool, a);
	second = extent_state(&pool, b);
	atomic_store(&pool.infos[a].state, (first & ~STATE_BIRTH_MASK) |
	    ((second & STATE_BIRTH_MASK) + 1));
	EXPECT_FAULTS(9);
	atomic_store(&pool.infos[a].state, first);
	EXPECT_SOUND(&pool);
	a = pool.priv->free_head;
	first = extent_state(&pool, a);
	atomic_store(&pool.infos[a].state, 77ull << STATE_OWNER_SHIFT |
	    (uint64_t)EXTENT_SPARE << STATE_ROLE_SHIFT);
	EXPECT_FAULTS(9);
	atomic_store(&pool.infos[a].state, 0xffull << STATE_ROLE_SHIFT);
	EXPECT_FAULTS(9);
	atomic_store(&pool.infos[a].state, first);
	EXPECT_SOUND(&pool);
}

Test(verify_extents, i10_generations_are_odd_where_nothing_is_stored)
{
	uint32_t extent;

	begin();
	extent = pool.priv->free_head;
	atomic_fetch_add(&pool.generations[extent], 1);
	EXPECT_FAULTS(10);
	atomic_fetch_sub(&pool.generations[extent], 1);
	extent = sp->main.tail;
	cr_assert_eq(extent_role_of(extent_state(&pool, extent)),
	    EXTENT_CHAIN_HEAD);
	atomic_fetch_add(&pool.generations[extent], 1);
	EXPECT_FAULTS(3, 10);
	atomic_fetch_sub(&pool.generations[extent], 1);
	EXPECT_SOUND(&pool);
}

Test(verify_extents, i11_entries_follow_each_other_to_the_committed_length)
{
	uint32_t extent, committed;
	struct key key;
	struct entry *entry;
	uint64_t word;

	begin();
	extent = sp->open_small;
	committed = extent_committed(&pool, extent);
	extent_commit(&pool, extent, committed + 8);
	EXPECT_FAULTS(11);
	extent_commit(&pool, extent, (64u << 10) + 8);
	cr_expect_neq(test_pool_faults(&pool) & 1u << 11, 0);
	extent_commit(&pool, extent, committed);
	/* The last entry is made longer than what was committed. */
	key = test_pool_key(&pool, "last");
	cr_assert_eq(test_pool_set(&pool, &key, "value", now), OK);
	entry = test_pool_entry(&pool, &key);
	word = atomic_load(&entry->word[0]);
	atomic_store(&entry->word[0], word + (8ull << 32));
	EXPECT_FAULTS(3, 8, 11);
	atomic_store(&entry->word[0], word);
	EXPECT_SOUND(&pool);
}

Test(verify_extents, i12_parts_of_a_chain_belong_together)
{
	struct chain_part *head, *part;
	struct key key;
	struct entry *entry;
	uint32_t extent;

	begin();
	extent = sp->main.tail;
	head = chain_part_of(&pool, extent);
	part = head;
	atomic_fetch_add(&part->id, 1);
	EXPECT_FAULTS(12);
	atomic_fetch_sub(&part->id, 1);
	atomic_fetch_add(&part->index, 1);
	EXPECT_FAULTS(12);
	atomic_fetch_sub(&part->index, 1);
	atomic_fetch_sub(&part->used_bytes, 1);
	EXPECT_FAULTS(12);
	atomic_fetch_add(&part->used_bytes, 1);
	atomic_fetch_add(&head->total_bytes, 1);
	EXPECT_FAULTS(12);
	atomic_fetch_sub(&head->total_bytes, 1);
	((uint8_t *)head)[30000] ^= 1;
	EXPECT_FAULTS(12);
	((uint8_t *)head)[30000] ^= 1;
	key = test_pool_key(&pool, verify_fixture_texts[7]);
	entry = test_pool_entry(&pool, &key);
	atomic_fetch_or(&entry->word[3], (uint64_t)ENTRY_CHAIN << 56);
	EXPECT_FAULTS(7, 12);
	atomic_fetch_and(&entry->word[3], ~((uint64_t)ENTRY_CHAIN << 56));
	EXPECT_SOUND(&pool);
}

Test(verify_extents, i13_no_purge_is_above_the_newest)
{
	uint64_t newest;

	begin();
	newest = epoch_now(&pool);
	atomic_store(&pool.rows[9].number, newest + 1);
	EXPECT_SOUND(&pool);	/* one may be on its way */
	atomic_store(&pool.rows[9].number, newest + 2);
	EXPECT_FAULTS(13);
	atomic_store(&pool.rows[9].number, 0);
	atomic_store(&pool.sketch[3].soft, newest + 2);
	EXPECT_FAULTS(13);
	atomic_store(&pool.sketch[3].soft, 0);
	atomic_store(&pool.sketch[3].invalid, UINT64_MAX);
	EXPECT_FAULTS(13);
	atomic_store(&pool.sketch[3].invalid, 0);
	EXPECT_SOUND(&pool);
}

Test(verify_extents, random_damage_never_makes_it_crash)
{
	for (uint64_t round = 0; round < 40; round++) {
		uint8_t noise[64];
		uint64_t at;

		begin();
		test_pool_fill(noise, sizeof(noise), round);
		memcpy(&at, noise, sizeof(at));
		at = pool.g.shards_offset + at % (pool.g.generations_offset -
		    pool.g.shards_offset);
		memcpy((uint8_t *)pool.segment.base + at, noise + 8, 8);
		memcpy((uint8_t *)pool_extent(&pool, 1) + at % 4096 * 8,
		    noise + 16, 24);
		(void)test_pool_faults(&pool);
		pool_destroy(&pool);
	}
}
