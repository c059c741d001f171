/* SPDX-License-Identifier: ISC */

/*
 * Counter blocks and the table of counters.
 */
#include "stats.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

Test(stats, sum_adds_one_counter_of_all_blocks)
{
	static struct stats_block blocks[3];

	stats_add(&blocks[0], STAT_sets, 1);
	stats_add(&blocks[2], STAT_sets, 40);
	stats_add(&blocks[2], STAT_sets, 1);
	stats_add(&blocks[1], STAT_deletes, 5);
	cr_assert_eq(stats_sum(blocks, 3, STAT_sets), 42);
	cr_assert_eq(stats_sum(blocks, 2, STAT_sets), 1);
	cr_assert_eq(stats_sum(blocks, 3, STAT_deletes), 5);
	cr_assert_eq(stats_sum(blocks, 3, STAT_get_hits), 0);
	cr_assert_eq(stats_sum(blocks, 0, STAT_sets), 0);
}

Test(stats, an_addition_touches_one_counter)
{
	for (int i = 0; i < STAT_COUNT; i++) {
		static struct stats_block block;

		memset(&block, 0, sizeof(block));
		stats_add(&block, (enum stat_id)i, 3);
		for (int j = 0; j < STAT_COUNT; j++) {
			cr_assert_eq(stats_sum(&block, 1, (enum stat_id)j),
			    i == j ? 3 : 0, "added to %s, looked at %s",
			    stats_name((enum stat_id)i),
			    stats_name((enum stat_id)j));
		}
	}
}

Test(stats, two_blocks_share_no_cache_line)
{
	static struct stats_block blocks[2];

	cr_assert_eq((uintptr_t)&blocks[0] % STATS_LINE_BYTES, 0);
	cr_assert_eq((uintptr_t)&blocks[1] % STATS_LINE_BYTES, 0);
	cr_assert_geq(sizeof(blocks[0]), STAT_COUNT * sizeof(uint64_t));
}

Test(stats, every_counter_has_its_own_name_a_help_and_an_action)
{
	for (int i = 0; i < STAT_COUNT; i++) {
		const char *name = stats_name((enum stat_id)i);

		cr_assert_gt(strlen(name), 0, "counter %d", i);
		cr_assert_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz_"),
		    strlen(name), "%s", name);
		cr_assert_gt(strlen(stats_help((enum stat_id)i)), 0, "%s",
		    name);
		cr_assert_gt(strlen(stats_action((enum stat_id)i)), 0, "%s",
		    name);
		for (int j = 0; j < i; j++) {
			cr_assert_str_neq(name, stats_name((enum stat_id)j));
		}
	}
}

Test(stats, name_and_level_are_those_of_the_table)
{
	cr_assert_str_eq(stats_name(STAT_get_hits), "get_hits");
	cr_assert_eq(stats_level(STAT_get_hits), STATS_LEVEL_info);
	cr_assert_eq(stats_level(STAT_get_retries), STATS_LEVEL_diag);
}

Test(stats, a_number_that_is_no_counter_has_no_name_and_no_sum)
{
	static struct stats_block block;

	memset(&block, 0xff, sizeof(block));
	cr_assert_str_empty(stats_name(STAT_COUNT));
	cr_assert_str_empty(stats_help((enum stat_id)-1));
	cr_assert_str_empty(stats_action(STAT_COUNT));
	cr_assert_eq(stats_sum(&block, 1, STAT_COUNT), 0);
	cr_assert_eq(stats_sum(&block, 1, (enum stat_id)-1), 0);
}
