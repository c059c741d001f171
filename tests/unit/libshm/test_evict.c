/* SPDX-License-Identifier: ISC */

#include "evict.h"

#include <criterion/criterion.h>

Test(evict, admits_to_small_unless_the_ghost_knows_it)
{
	cr_assert_eq(evict_admit(false), EVICT_SMALL);
	cr_assert_eq(evict_admit(true), EVICT_MAIN);
}

static enum evict_queue
victim(uint32_t small, uint32_t main_extents, uint32_t total)
{
	struct evict_view view = {
		.small_extents = small,
		.main_extents = main_extents,
		.total_extents = total,
	};

	return evict_victim(&view);
}

Test(evict, takes_small_only_above_its_share)
{
	cr_assert_eq(victim(6, 57, 64), EVICT_MAIN);
	cr_assert_eq(victim(7, 56, 64), EVICT_SMALL);
	cr_assert_eq(victim(10, 89, 100), EVICT_MAIN, "10%% is the share");
	cr_assert_eq(victim(11, 88, 100), EVICT_SMALL);
}

Test(evict, never_names_an_empty_queue_while_the_other_has_extents)
{
	cr_assert_eq(victim(1, 0, 64), EVICT_SMALL);
	cr_assert_eq(victim(0, 1, 64), EVICT_MAIN);
	cr_assert_eq(victim(0, 1, 0), EVICT_MAIN);
	cr_assert_eq(victim(1, 0, UINT32_MAX), EVICT_SMALL);
}

Test(evict, does_not_overflow_at_the_largest_counts)
{
	cr_assert_eq(victim(UINT32_MAX, 1, UINT32_MAX), EVICT_SMALL);
	cr_assert_eq(victim(UINT32_MAX / 20, UINT32_MAX, UINT32_MAX),
	    EVICT_MAIN);
}

static void
expect_verdict(enum evict_queue from, unsigned count,
    enum evict_action action, unsigned moved_count)
{
	struct evict_verdict got = evict_judge(from, count, false, false);

	cr_expect_eq(got.action, action, "queue %d, count %u: action %d",
	    (int)from, count, (int)got.action);
	cr_expect_eq(got.count, moved_count, "queue %d, count %u: count %u",
	    (int)from, count, got.count);
}

Test(evict, moves_from_small_what_was_touched_twice)
{
	expect_verdict(EVICT_SMALL, 0, EVICT_DROP_TO_GHOST, 0);
	expect_verdict(EVICT_SMALL, 1, EVICT_DROP_TO_GHOST, 0);
	expect_verdict(EVICT_SMALL, 2, EVICT_MOVE, EVICT_COUNT_NEW);
	expect_verdict(EVICT_SMALL, 3, EVICT_MOVE, EVICT_COUNT_NEW);
}

Test(evict, keeps_in_main_what_was_touched_and_lowers_its_count)
{
	expect_verdict(EVICT_MAIN, 0, EVICT_DROP, 0);
	expect_verdict(EVICT_MAIN, 1, EVICT_MOVE, 0);
	expect_verdict(EVICT_MAIN, 2, EVICT_MOVE, 1);
	expect_verdict(EVICT_MAIN, 3, EVICT_MOVE, 2);
}

Test(evict, reads_a_count_out_of_range_as_the_maximum)
{
	expect_verdict(EVICT_MAIN, 4, EVICT_MOVE, 2);
	expect_verdict(EVICT_MAIN, UINT32_MAX, EVICT_MOVE, 2);
	expect_verdict(EVICT_SMALL, UINT32_MAX, EVICT_MOVE, EVICT_COUNT_NEW);
}

Test(evict, drops_the_dead_and_everything_under_force)
{
	for (unsigned count = 0; count <= EVICT_COUNT_MAX; count++) {
		for (int from = EVICT_SMALL; from <= EVICT_MAIN; from++) {
			enum evict_queue queue = (enum evict_queue)from;

			cr_expect_eq(evict_judge(queue, count, true,
			    false).action, EVICT_DROP);
			cr_expect_eq(evict_judge(queue, count, false,
			    true).action, EVICT_DROP);
		}
	}
}

Test(evict, calls_a_pass_poor_below_half_an_extent)
{
	cr_assert(evict_pass_is_poor(0, 65536));
	cr_assert(evict_pass_is_poor(32767, 65536));
	cr_assert_not(evict_pass_is_poor(32768, 65536));
	cr_assert_not(evict_pass_is_poor(65536, 65536));
	cr_assert(evict_pass_is_poor(2, 5));
	cr_assert_not(evict_pass_is_poor(3, 5));
	cr_assert_not(evict_pass_is_poor(UINT64_MAX, UINT64_MAX));
	cr_assert(evict_pass_is_poor(1, UINT64_MAX));
}

Test(evict, forces_after_a_bounded_number_of_poor_passes)
{
	unsigned passes = 0;

	cr_assert_not(evict_must_force(0));
	while (!evict_must_force(passes)) {
		passes++;
		cr_assert_leq(passes, 64u);
	}
	cr_assert(evict_must_force(passes + 1));
	cr_assert(evict_must_force(UINT32_MAX));
}

Test(evict, remembers_about_as_many_keys_as_the_shard_has_entries)
{
	uint64_t limit = evict_ghost_limit(100, 900);

	cr_assert_geq(limit, 1000u);
	cr_assert_leq(limit, 1200u);
	cr_assert_eq(evict_ghost_limit(0, 0), 0u);
	cr_assert_gt(evict_ghost_limit(1000, 0), 0u, "while main is empty");
	cr_assert_eq(evict_ghost_limit(UINT64_MAX, 1), UINT64_MAX);
	cr_assert_eq(evict_ghost_limit(UINT64_MAX / 2, 1), UINT64_MAX);
}
