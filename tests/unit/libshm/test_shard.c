/* SPDX-License-Identifier: ISC */

#include "shard.h"

#include "epoch.h"
#include "extent.h"
#include "index.h"
#include "test_pool.h"
#include "wait_until.h"

#include <criterion/criterion.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define CHILD_DEADLINE_MS	20000

static const struct boot_ms now = { 5000 };

Test(shard, all_shards_get_their_keys)
{
	struct pool pool = test_pool_four_shards();
	unsigned count[4] = { 0 };

	for (unsigned i = 0; i < 4000; i++) {
		char text[TEST_KEY_BYTES];
		struct key key = test_pool_number_key(&pool, text, i);

		count[pool_shard_of(&pool, key.hash)]++;
	}
	for (unsigned s = 0; s < 4; s++) {
		cr_expect(count[s] > 850 && count[s] < 1150, "shard %u: %u",
		    s, count[s]);
	}
}

Test(shard, linking_and_unlinking_keeps_the_books)
{
	struct pool pool = test_pool_one_shard();
	struct shard_private *sp = &pool.shards_private[0];
	struct key key = test_pool_key(&pool, "k");
	struct extent_info *info = &pool.infos[sp->open_small];

	cr_assert_eq(test_pool_set(&pool, &key, "12345", now), OK);
	cr_expect_eq(info->live_entries, 1);
	cr_expect_eq(info->live_bytes, 56, "%u", info->live_bytes);
	cr_assert_eq(test_pool_set(&pool, &key, "123456789", now), OK);
	cr_expect_eq(info->live_entries, 1);
	cr_expect_eq(info->live_bytes, 64, "%u", info->live_bytes);
	cr_expect_eq(sp->main_entries, 0);
	cr_assert_eq(write_delete(&pool, &key, 0, now), OK);
	cr_expect_eq(info->live_entries + info->live_bytes, 0);
	cr_expect_eq(test_pool_entries(&pool), 0);
}

Test(shard, a_slot_word_that_leads_nowhere_has_no_entry)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct entry_head head;
	uint64_t word;

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	word = atomic_load(test_pool_slot(&pool, &key));
	cr_expect_not_null(shard_entry(&pool, word, &head));
	cr_expect_null(shard_entry(&pool, word + 1, &head));
	cr_expect_null(shard_entry(&pool, word | SLOT_OFFSET_MASK, &head));
	cr_expect_null(shard_entry(&pool, word | SLOT_EXTENT_MASK, &head));
	cr_expect_null(shard_entry(&pool, 0, &head));
	cr_expect_null(shard_entry(&pool, UINT64_MAX, &head));
	extent_commit(&pool, slot_extent(word), UINT32_MAX);
	cr_expect_null(shard_entry(&pool, word, &head), "absurd length");
}

Test(shard, unlinking_a_slot_that_leads_nowhere_only_clears_it)
{
	struct pool pool = test_pool_one_shard();
	struct index_line *line = index_line(&pool, 0, DIR_PRIMARY, 0);

	atomic_store(&line->word[2], slot_make(0, 0, 9, 8));
	cr_assert_eq(shard_enter(&pool, 0), OK);
	shard_unlink(&pool, 0, &line->word[2]);
	shard_leave(&pool, 0);
	cr_expect_eq(atomic_load(&line->word[2]), 0);
	EXPECT_SOUND(&pool);
}

Test(shard, dead_is_expired_or_purged_hard_and_nothing_else)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	struct entry_spec spec = test_pool_spec(&pool, &key, "v", 1);
	struct entry_head head;
	const struct entry *entry;
	uint64_t version, number;

	spec.soft_ms = now.ms + 1;
	spec.hard_ms = now.ms + 10;
	cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	entry = shard_entry(&pool, atomic_load(test_pool_slot(&pool, &key)),
	    &head);
	cr_expect_not(shard_entry_dead(&pool, entry, &head,
	    (struct boot_ms){ now.ms + 9 }));
	cr_expect(shard_entry_dead(&pool, entry, &head,
	    (struct boot_ms){ now.ms + 10 }));
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_INVALID, &number), OK);
	cr_expect_not(shard_entry_dead(&pool, entry, &head, now));
	cr_assert_eq(epoch_purge_all(&pool, EPOCH_KIND_HARD, &number), OK);
	cr_expect(shard_entry_dead(&pool, entry, &head, now));
}

/* A child that holds a shard's lock until it is killed. */
static pid_t
hold_lock(const struct pool *pool, uint32_t shard)
{
	int pipes[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		if (shard_enter(pool, shard) == OK) {
			(void)!write(pipes[1], "l", 1);
		}
		for (;;) {
			pause();
		}
	}
	cr_assert_eq(read(pipes[0], &byte, 1), 1);
	return pid;
}

Test(shard, while_another_holds_it_writers_are_busy_and_readers_read)
{
	struct pool pool = test_pool_one_shard();
	struct key key = test_pool_key(&pool, "k");
	int status;
	int64_t number;
	pid_t pid;

	cr_assert_eq(test_pool_set(&pool, &key, "v", now), OK);
	pid = hold_lock(&pool, 0);
	cr_expect_eq(test_pool_set(&pool, &key, "w", now), BUSY);
	cr_expect_eq(write_delete(&pool, &key, 0, now), BUSY);
	cr_expect_eq(write_touch(&pool, &key, 1, 1, 0, now), BUSY);
	cr_expect_eq(write_counter_add(&pool, &key, 1, 1, NULL, now,
	    &number), BUSY);
	cr_expect_str_eq(test_pool_get(&pool, &key, now), "v");
	cr_expect_eq(test_pool_stat(&pool, STAT_lock_timeouts), 4);
	cr_expect_eq(test_pool_stat(&pool, STAT_set_refused_busy), 1);
	cr_expect_eq(test_pool_faults(&pool), 1, "invariant 0: locked");
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert(wait_until_exit(pid, CHILD_DEADLINE_MS, &status));
}

Test(shard, another_shard_is_not_held_up)
{
	struct pool pool = test_pool_four_shards();
	int status;
	pid_t pid = hold_lock(&pool, 0);

	for (unsigned i = 0; i < 40; i++) {
		char text[TEST_KEY_BYTES];
		struct key key = test_pool_number_key(&pool, text, i);

		if (pool_shard_of(&pool, key.hash) != 0) {
			cr_expect_eq(test_pool_set(&pool, &key, "v", now),
			    OK);
		}
	}
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert(wait_until_exit(pid, CHILD_DEADLINE_MS, &status));
}
