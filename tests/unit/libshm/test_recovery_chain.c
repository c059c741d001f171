/* SPDX-License-Identifier: ISC */

/*
 * Chained values and queues after the death of a process that held their
 * shard.
 */
#include "recovery.h"

#include "chain_write.h"
#include "extent.h"
#include "index.h"
#include "point.h"
#include "shard.h"
#include "test_pool.h"
#include "wait_until.h"

#include <criterion/criterion.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_DEADLINE_MS	20000

static const struct boot_ms now = { 5000 };

static struct pool pool;
static char text[TEST_KEY_BYTES];
static uint8_t value[60000];

static void
die_after(void (*damage)(void))
{
	cr_assert(test_pool_die_holding(&pool, 0, damage));
}

static void
do_nothing(void)
{
}

static struct key chain_key;
static struct chain_writer writer;

/* Chains of up to four parts; the key is one of shard 0. */
static void
begin_with_chains(void)
{
	unsigned i = 0;

	pool = test_pool_four_shards();
	do {
		chain_key = test_pool_number_key(&pool, text, i++);
	} while (pool_shard_of(&pool, chain_key.hash) != 0);
}

/* Outside die_after()'s lock: a chain is written by steps of its own. */
static void
write_half_a_chain(bool early)
{
	struct entry_spec spec = test_pool_spec(&pool, &chain_key, value,
	    sizeof(value));

	cr_assert_eq(chain_begin(&pool, &spec, early, now, &writer), OK);
	cr_assert_eq(chain_append(&pool, &writer, value, 30000, now), OK);
}

Test(recovery_chain, a_growing_chain_of_a_living_writer_goes_on)
{
	uint64_t version;
	struct read_hit hit;

	for (int early = 0; early <= 1; early++) {
		begin_with_chains();
		write_half_a_chain(early == 1);
		die_after(do_nothing);
		cr_assert_eq(shard_enter(&pool, 0), OK);
		shard_leave(&pool, 0);
		EXPECT_SOUND(&pool);
		cr_expect_eq(chain_append(&pool, &writer, value + 30000,
		    30000, now), OK);
		cr_expect_eq(chain_finish(&pool, &writer, now, &version), OK);
		cr_expect_eq(read_peek(&pool, &chain_key, now, &hit), OK);
		cr_expect_eq(hit.value_bytes, sizeof(value));
		EXPECT_SOUND(&pool);
	}
}

/* Died in the middle of giving a chain back. */
static void
free_the_head_alone(void)
{
	uint32_t head = test_pool_extent_of(&pool, &chain_key);

	index_clear(&pool, 0, chain_key.hash, test_pool_slot(&pool,
	    &chain_key));
	extent_generation_odd(&pool, head);
}

Test(recovery_chain, parts_without_a_head_are_given_back)
{
	struct entry_spec spec;
	uint64_t version;
	uint32_t before;

	begin_with_chains();
	cr_assert_eq(test_pool_set(&pool, &chain_key, "small", now), OK);
	before = extent_free_count(&pool);
	spec = test_pool_spec(&pool, &chain_key, value, 40000);
	cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	cr_assert_eq(extent_free_count(&pool), before - 3);
	die_after(free_the_head_alone);
	cr_assert_eq(shard_enter(&pool, 0), OK);
	shard_leave(&pool, 0);
	cr_expect_eq(extent_free_count(&pool), before);
	EXPECT_SOUND(&pool);
}

#ifdef SHM_TEST_POINTS
static const char *dies_at;

static void
die_at_the_point(const char *name)
{
	if (strcmp(name, dies_at) == 0) {
		_exit(0);
	}
}

static void
die_in_an_append(const char *point)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		dies_at = point;
		shm_point_hook = die_at_the_point;
		(void)chain_append(&pool, &writer, value, 20000, now);
		_exit(1);
	}
	cr_assert(wait_until_exit(pid, CHILD_DEADLINE_MS, &status));
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "%s was not passed", point);
}

Test(recovery_chain, a_chain_whose_writer_died_in_an_append_can_be_aborted)
{
	static const char *const points[] = {
		"extent_taken", "extent_opening", "chain_part_ready",
		"chain_piece_copied",
	};

	for (unsigned i = 0; i < 4; i++) {
		uint32_t before;

		begin_with_chains();
		cr_assert_eq(test_pool_set(&pool, &chain_key, "old", now),
		    OK);
		before = extent_free_count(&pool);
		write_half_a_chain(false);
		die_in_an_append(points[i]);
		cr_assert_eq(shard_enter(&pool, 0), OK, "%s", points[i]);
		shard_leave(&pool, 0);
		EXPECT_SOUND(&pool);
		cr_expect_str_eq(test_pool_get(&pool, &chain_key, now),
		    "old");
		chain_abort(&pool, &writer);
		cr_expect_eq(extent_free_count(&pool), before, "%s",
		    points[i]);
		EXPECT_SOUND(&pool);
	}
}
#endif

/* Queues in another order than that of their births. */
static void
turn_the_queue(void)
{
	struct shard_private *sp = &pool.shards_private[0];
	uint32_t extent = sp->small.head;

	extent_list_remove(&pool, &sp->small, extent);
	extent_list_append(&pool, &sp->small, extent);
}

Test(recovery_chain, queues_come_back_in_the_order_of_births)
{
	struct shard_private *sp;
	uint32_t order[64], count = 0;

	pool = test_pool_one_shard();
	sp = &pool.shards_private[0];
	/* Over the end of the 40 bits too. */
	sp->birth = STATE_BIRTH_MASK - 20;
	extent_set_role(&pool, 0, sp->open_small, EXTENT_SMALL);
	for (unsigned i = 0; i < 80; i++) {
		struct key key = test_pool_number_key(&pool, text, i);
		struct entry_spec spec = test_pool_spec(&pool, &key, value,
		    15000);
		uint64_t version;

		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	}
	/* The first extent comes back as a later one. */
	order[0] = sp->small.head;
	cr_assert_eq(test_pool_reclaim(&pool, 0, sp->small.head, now), OK);
	while (sp->open_small != order[0]) {
		struct key key = test_pool_number_key(&pool, text, 1000);
		struct entry_spec spec = test_pool_spec(&pool, &key, value,
		    15000);
		uint64_t version;

		cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	}
	for (uint32_t e = sp->small.head; e != 0; e = pool.infos[e].next) {
		order[count++] = e;
	}
	cr_assert_gt(count, 10);
	die_after(turn_the_queue);
	cr_assert_eq(shard_enter(&pool, 0), OK);
	shard_leave(&pool, 0);
	EXPECT_SOUND(&pool);
	for (uint32_t e = sp->small.head, i = 0; e != 0;
	    e = pool.infos[e].next, i++) {
		cr_expect_eq(e, order[i], "place %u", i);
	}
}
