/* SPDX-License-Identifier: ISC */

#include "geometry.h"

#include <criterion/criterion.h>

#include <string.h>

#define MIB	(1ull << 20)
#define GIB	(1ull << 30)

static struct geometry
made(uint64_t pool_bytes, uint64_t extent_bytes, uint32_t workers)
{
	struct geometry g;

	cr_assert_eq(geometry_compute(&g, pool_bytes, extent_bytes, workers),
	    OK, "%llu bytes in extents of %llu, %u workers",
	    (unsigned long long)pool_bytes, (unsigned long long)extent_bytes,
	    workers);
	return g;
}

Test(geometry, default_extents_are_a_256th_within_64_kib_and_1_mib)
{
	cr_expect_eq(geometry_default_extent_bytes(4 * MIB), 64u << 10);
	cr_expect_eq(geometry_default_extent_bytes(64 * MIB), 256u << 10);
	cr_expect_eq(geometry_default_extent_bytes(100 * MIB), 256u << 10);
	cr_expect_eq(geometry_default_extent_bytes(256 * MIB), MIB);
	cr_expect_eq(geometry_default_extent_bytes(1024 * GIB), MIB);
	cr_expect_eq(geometry_default_extent_bytes(0), 64u << 10);
}

static void
expect_refused(uint64_t pool_bytes, uint64_t extent_bytes, uint32_t workers)
{
	struct geometry g;

	cr_expect_eq(geometry_compute(&g, pool_bytes, extent_bytes, workers),
	    INVALID, "%llu bytes in extents of %llu, %u workers",
	    (unsigned long long)pool_bytes, (unsigned long long)extent_bytes,
	    workers);
}

Test(geometry, numbers_out_of_range_are_refused)
{
	expect_refused(4 * MIB - 1, 0, 1);
	expect_refused(1024 * GIB + 1, 0, 1);
	expect_refused(UINT64_MAX, 0, 1);
	expect_refused(64 * MIB, 0, 0);
	expect_refused(64 * MIB, 0, 65);
	expect_refused(64 * MIB, 0, UINT32_MAX);
	expect_refused(64 * MIB, 8 << 10, 1);
	expect_refused(64 * GIB, 128 * MIB, 1);
	expect_refused(64 * MIB, (64 << 10) + 1, 1);
	expect_refused(64 * MIB, 3 * (64 << 10), 1);
	expect_refused(4 * MIB, 512 << 10, 1);	/* 8 extents */
	expect_refused(1024 * GIB, 64 << 10, 1);	/* 2^24 extents */
}

struct table {
	uint64_t	from;
	uint64_t	bytes;
};

static void
expect_apart(const struct table *tables, unsigned count, uint64_t end)
{
	uint64_t at = PAGE_BYTES;

	for (unsigned i = 0; i < count; i++) {
		cr_expect_geq(tables[i].from, at, "table %u at %llu", i,
		    (unsigned long long)tables[i].from);
		cr_expect_eq(tables[i].from % CACHE_LINE_BYTES, 0,
		    "table %u", i);
		at = tables[i].from + tables[i].bytes;
	}
	cr_expect_leq(at, end);
}

static void
expect_tables_apart(const struct geometry *g)
{
	uint64_t extents = (uint64_t)g->extent_count + 1;
	uint64_t shards = g->shard_count;
	struct table public[] = {
		{ g->shards_offset, shards * sizeof(struct shard_public) },
		{ g->dirs_offset, shards * 2 * g->dir_capacity * 4 },
		{ g->generations_offset, extents * 8 },
		{ g->rows_offset, EPOCH_ROW_SLOTS * sizeof(struct epoch_row) },
		{ g->sketch_offset,
		    g->sketch_cells * sizeof(struct epoch_cell) },
		{ g->stats_offset,
		    g->stats_blocks * sizeof(struct stats_block) },
		{ g->extents_offset, g->pool_bytes },
	};
	struct table private[] = {
		{ g->private_shards_offset,
		    shards * sizeof(struct shard_private) },
		{ g->infos_offset, extents * sizeof(struct extent_info) },
		{ g->pins_offset, extents * g->pin_stride * 2 },
		{ g->ghosts_offset, shards * g->ghost_words * 4 },
		{ g->marks_offset, shards * g->mark_words * 8 },
		{ g->flights_offset, shards * g->flights_stride },
	};

	expect_apart(public, sizeof(public) / sizeof(public[0]),
	    g->segment_bytes);
	expect_apart(private, sizeof(private) / sizeof(private[0]),
	    g->private_bytes);
	cr_expect_eq(g->extents_offset % PAGE_BYTES, 0);
}

static const struct {
	uint64_t	pool_bytes;
	uint64_t	extent_bytes;
	uint32_t	workers;
} shapes[] = {
	{ 4 * MIB, 0, 1 }, { 4 * MIB, 16 << 10, 64 },
	{ 4 * MIB, 256 << 10, 3 }, { 5 * MIB + 12345, 0, 2 },
	{ 64 * MIB, 0, 4 }, { 1 * GIB, 64 * MIB, 64 },
	{ 3 * GIB + 7, 0, 5 }, { 32 * GIB, 16 << 10, 64 },
	{ 1024 * GIB, 0, 64 }, { 1024 * GIB, 64 * MIB, 1 },
};

#define SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

Test(geometry, tables_lie_one_after_the_other_in_every_shape)
{
	for (unsigned i = 0; i < SHAPES; i++) {
		struct geometry g = made(shapes[i].pool_bytes,
		    shapes[i].extent_bytes, shapes[i].workers);

		expect_tables_apart(&g);
		cr_expect(geometry_valid(&g, g.segment_bytes), "shape %u", i);
	}
}

Test(geometry, shards_are_a_power_of_two_that_leaves_each_64_extents)
{
	for (unsigned i = 0; i < SHAPES; i++) {
		struct geometry g = made(shapes[i].pool_bytes,
		    shapes[i].extent_bytes, shapes[i].workers);

		cr_expect_eq(g.shard_count & (g.shard_count - 1), 0);
		cr_expect_leq(g.shard_count, SHARDS_MAX);
		cr_expect(g.shard_count == 1 ||
		    geometry_fair_share(&g) >= 64, "shape %u: %u extents",
		    i, geometry_fair_share(&g));
	}
	cr_expect_eq(made(64 * GIB, 0, 4).shard_count, 16);
	cr_expect_eq(made(4 * MIB, 0, 64).shard_count, 1);
}

Test(geometry, a_pool_has_room_for_the_flights_asked_for)
{
	struct geometry g;

	for (unsigned i = 0; i < SHAPES; i++) {
		g = made(shapes[i].pool_bytes, shapes[i].extent_bytes,
		    shapes[i].workers);
		cr_expect_geq(g.flights_per_shard * g.shard_count,
		    FLIGHTS_DEFAULT, "shape %u", i);
		cr_expect_geq(g.flights_per_shard, FLIGHTS_SHARD_MIN);
		cr_expect_geq(g.flights_stride,
		    flight_bytes(g.flights_per_shard));
	}
	cr_assert_eq(geometry_compute_for(&g, 64 * GIB, 0, 64, 100), OK);
	cr_expect_eq(g.flights_per_shard, FLIGHTS_SHARD_MIN);
	cr_expect(geometry_valid(&g, g.segment_bytes));
	cr_assert_eq(geometry_compute_for(&g, 64 * GIB, 0, 4, 20001), OK);
	cr_expect_eq(g.flights_per_shard, 1251, "in 16 shards");
	cr_expect(geometry_valid(&g, g.segment_bytes));
	cr_assert_eq(geometry_compute_for(&g, 4 * MIB, 0, 1, FLIGHTS_MAX),
	    OK);
	cr_expect(geometry_valid(&g, g.segment_bytes));
	cr_expect_eq(geometry_compute_for(&g, 4 * MIB, 0, 1,
	    FLIGHTS_MAX + 1), INVALID);
	cr_expect_eq(geometry_compute_for(&g, 4 * MIB, 0, 1, UINT32_MAX),
	    INVALID);
}

Test(geometry, largest_value_is_a_64th_of_the_pool_or_one_extent)
{
	struct geometry g = made(1 * GIB, 0, 2);
	uint64_t most = geometry_value_max_bytes(&g);

	cr_expect_leq(most, GIB / 64);
	cr_expect_gt(most, GIB / 64 - 64 * KEY_MAX_BYTES);
	for (unsigned i = 0; i < SHAPES; i++) {
		g = made(shapes[i].pool_bytes, shapes[i].extent_bytes,
		    shapes[i].workers);
		most = geometry_value_max_bytes(&g);
		cr_expect_gt(most, geometry_inline_max_bytes(&g),
		    "shape %u", i);
		cr_expect_leq(most, g.chain_max_bytes, "shape %u", i);
		cr_expect_leq((g.chain_max_bytes >> g.extent_shift),
		    1 + geometry_fair_share(&g) / 4, "shape %u", i);
	}
}

Test(geometry, a_change_of_any_word_is_not_valid)
{
	struct geometry g = made(64 * MIB, 0, 4);

	for (size_t at = 0; at < sizeof(g); at += sizeof(uint32_t)) {
		for (unsigned bit = 0; bit < 32; bit += 5) {
			struct geometry bad = g;
			uint32_t word;

			memcpy(&word, (uint8_t *)&bad + at, sizeof(word));
			word ^= 1u << bit;
			memcpy((uint8_t *)&bad + at, &word, sizeof(word));
			cr_expect_not(geometry_valid(&bad, g.segment_bytes),
			    "byte %zu, bit %u", at, bit);
		}
	}
}

Test(geometry, another_segment_length_is_not_valid)
{
	struct geometry g = made(4 * MIB, 0, 1);

	cr_expect(geometry_valid(&g, g.segment_bytes));
	cr_expect_not(geometry_valid(&g, g.segment_bytes - 1));
	cr_expect_not(geometry_valid(&g, g.segment_bytes + PAGE_BYTES));
	cr_expect_not(geometry_valid(&g, 0));
}

Test(geometry, absurd_numbers_from_a_mapping_are_not_valid)
{
	struct geometry g;

	memset(&g, 0xff, sizeof(g));
	cr_expect_not(geometry_valid(&g, UINT64_MAX));
	memset(&g, 0, sizeof(g));
	cr_expect_not(geometry_valid(&g, 0));
	g = made(4 * MIB, 0, 1);
	g.extent_shift = 63;
	cr_expect_not(geometry_valid(&g, g.segment_bytes));
	g.extent_shift = 200;
	cr_expect_not(geometry_valid(&g, g.segment_bytes));
}
