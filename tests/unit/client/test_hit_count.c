/* SPDX-License-Identifier: ISC */

#include "hit_count.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lane *lane;

static void
make_lane(void)
{
	lane = aligned_alloc(64, (sizeof(*lane) + 63) / 64 * 64);
	cr_assert_not_null(lane);
	memset(lane, 0, sizeof(*lane));
}

static void
free_lane(void)
{
	free(lane);
}

TestSuite(hit_count, .init = make_lane, .fini = free_lane);

static struct weir_origin
part(const char *partition)
{
	struct weir_origin origin = {
		.partition = partition,
		.partition_length = strlen(partition),
	};

	return origin;
}

/* Chance decides what is counted: that many, give or take a tenth. */
static void
expect_about(const struct weir_origin *origin, uint32_t hits)
{
	uint32_t told = hit_count_take(lane, origin);

	cr_assert_geq(told, hits - hits / 10);
	cr_assert_leq(told, hits + hits / 10);
}

static void
note(const struct weir_origin *origin, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		hit_count_note(lane, origin);
	}
}

Test(hit_count, hits_are_told_once)
{
	struct weir_origin origin = part("/shop/cart");

	note(&origin, 70000);
	expect_about(&origin, 70000);
	cr_assert_eq(hit_count_take(lane, &origin), 0);
	note(&origin, 20000);
	expect_about(&origin, 20000);
}

Test(hit_count, a_name_counts_by_its_bytes_not_by_where_it_lies)
{
	char one[] = "/shop/cart/17", other[] = "/shop/cart/17";
	struct weir_origin first = part(one), second = part(other);

	note(&first, 50000);
	expect_about(&second, 50000);
	note(&first, 30000);
	one[6] = 'k';
	cr_assert_eq(hit_count_take(lane, &first), 0, "another name there");
	expect_about(&second, 30000);
}

Test(hit_count, without_a_partition_nothing_is_counted)
{
	struct weir_origin none = { .name = "db" };
	struct weir_origin empty = { .partition = "" };

	note(&none, 100);
	note(&empty, 100);
	cr_assert_eq(hit_count_take(lane, &none), 0);
	cr_assert_eq(hit_count_take(lane, &empty), 0);
	for (unsigned i = 0; i < LANE_HIT_ROWS; i++) {
		cr_assert_eq(lane->partition_hits[i].hits, 0);
	}
}

/* Of eight in turn each is counted as often as the others. */
Test(hit_count, a_rhythm_favours_nobody)
{
	struct weir_origin origins[HIT_COUNT_EVERY];
	char names[HIT_COUNT_EVERY][16];
	bool used[LANE_HIT_ROWS] = { false };

	/* Each with a row of its own. */
	for (unsigned i = 0, n = 0; i < HIT_COUNT_EVERY; n++) {
		uint64_t row;

		(void)snprintf(names[i], sizeof(names[i]), "/part/%u", n);
		origins[i] = part(names[i]);
		row = hit_count_hash(names[i], strlen(names[i])) %
		    LANE_HIT_ROWS;
		i += !used[row];
		used[row] = true;
	}
	for (unsigned i = 0; i < 30000 * HIT_COUNT_EVERY; i++) {
		hit_count_note(lane, &origins[i % HIT_COUNT_EVERY]);
	}
	for (unsigned i = 0; i < HIT_COUNT_EVERY; i++) {
		expect_about(&origins[i], 30000);
	}
}

/* Each byte of each length counts. */
Test(hit_count, names_that_differ_in_a_byte_hash_differently)
{
	char name[40];

	for (size_t length = 1; length <= sizeof(name); length++) {
		uint64_t plain;

		memset(name, 'x', sizeof(name));
		plain = hit_count_hash(name, length);
		for (size_t at = 0; at < length; at++) {
			name[at] = 'y';
			cr_assert_neq(hit_count_hash(name, length), plain,
			    "byte %zu of %zu", at, length);
			name[at] = 'x';
		}
		if (length > 1) {
			cr_assert_neq(hit_count_hash(name, length - 1),
			    plain);
		}
	}
}

Test(hit_count, heavy_partitions_keep_their_rows)
{
	struct weir_origin heavy = part("/heavy");
	char name[16];

	for (unsigned i = 0; i < 160000; i++) {
		struct weir_origin light;

		hit_count_note(lane, &heavy);
		(void)snprintf(name, sizeof(name), "/light/%u", i % 5000);
		light = part(name);
		hit_count_note(lane, &light);
	}
	/* Of 5,000 others 39 share its row, and take a hit each time. */
	expect_about(&heavy, 160000);
}

Test(hit_count, all_hits_of_the_thread_are_told_once)
{
	cr_assert_eq(hit_count_take_all(lane), 0);
	stats_add(&lane->stats, STAT_get_hits, 5);
	stats_add(&lane->stats, STAT_get_stale, 2);
	cr_assert_eq(hit_count_take_all(lane), 7);
	cr_assert_eq(hit_count_take_all(lane), 0);
	stats_add(&lane->stats, STAT_get_hits, 1ull << 33);
	cr_assert_eq(hit_count_take_all(lane), UINT32_MAX);
}
