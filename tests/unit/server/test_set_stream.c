/* SPDX-License-Identifier: ISC */

#include "set_stream.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_fixture.h"
#include "read.h"

/* The body of a SET of key "k" with that many bytes; the caller frees. */
static uint8_t *
make_body(uint64_t value_bytes, size_t *length)
{
	struct wire_set head = {
		.key_length = 1, .value_length = value_bytes,
	};
	uint8_t *body;

	*length = WIRE_SET_BYTES + 1 + (size_t)value_bytes;
	body = malloc(*length);
	cr_assert_not_null(body);
	wire_set_encode(body, &head);
	body[WIRE_SET_BYTES] = 'k';
	for (uint64_t i = 0; i < value_bytes; i++) {
		body[WIRE_SET_BYTES + 1 + i] = (uint8_t)(i * 31 + i / 251);
	}
	return body;
}

static void
feed(struct set_stream *stream, const uint8_t *body, size_t length,
    size_t step)
{
	for (size_t at = 0; at < length; at += step) {
		set_stream_feed(stream, body + at, length - at < step ?
		    length - at : step, fixture_at(1));
	}
}

static void
check_stored(const struct pool *pool, const uint8_t *value, size_t length)
{
	uint8_t *copy = malloc(length);
	struct read_hit hit;
	struct key key;

	cr_assert_not_null(copy);
	cr_assert_eq(key_init(&key, pool, "k", 1), OK);
	cr_assert_eq(read_copy(pool, &key, fixture_at(2), copy, length, &hit),
	    OK);
	cr_assert_eq(hit.value_bytes, length);
	cr_assert_eq(memcmp(copy, value, length), 0);
	free(copy);
}

/* Whatever the pieces, the value is what was sent. */
static void
store_in_steps(uint64_t value_bytes, size_t step)
{
	struct heritage *heritage = fixture_create();
	struct set_stream *stream = malloc(sizeof(*stream));
	uint64_t budget = 0, version = 0;
	size_t length;
	uint8_t *body = make_body(value_bytes, &length);

	set_stream_begin(stream, &heritage->pools[0], length, &budget,
	    fixture_at(1));
	feed(stream, body, length, step);
	cr_assert_eq(set_stream_end(stream, fixture_at(1), &version), OK);
	cr_assert_neq(version, 0);
	cr_assert_eq(budget, 0, "the budget was given back");
	check_stored(&heritage->pools[0], body + WIRE_SET_BYTES + 1,
	    (size_t)value_bytes);
	free(body);
	free(stream);
	fixture_destroy(heritage);
}

Test(set_stream, stores_a_chained_value_in_odd_pieces)
{
	store_in_steps(100000, 997);
}

Test(set_stream, stores_a_short_value_byte_by_byte)
{
	store_in_steps(3000, 1);
}

Test(set_stream, stores_an_empty_value)
{
	store_in_steps(0, 7);
}

Test(set_stream, takes_the_bytes_of_what_it_refuses)
{
	struct heritage *heritage = fixture_create();
	struct set_stream *stream = malloc(sizeof(*stream));
	uint64_t budget = 0, version = 0;
	size_t length;
	uint8_t *body = make_body(geometry_value_max_bytes(
	    &heritage->pools[0].g) + 5000, &length);

	set_stream_begin(stream, &heritage->pools[0], length, &budget,
	    fixture_at(1));
	feed(stream, body, length, 5000);
	cr_assert_eq(set_stream_end(stream, fixture_at(1), &version),
	    TOO_LARGE);
	free(body);
	free(stream);
	fixture_destroy(heritage);
}

Test(set_stream, says_busy_when_the_budget_is_used_up)
{
	struct heritage *heritage = fixture_create();
	struct set_stream *stream = malloc(sizeof(*stream));
	uint64_t budget = SET_STREAM_BUDGET_BYTES - 10, version = 0;
	size_t length;
	uint8_t *body = make_body(3000, &length);

	set_stream_begin(stream, &heritage->pools[0], length, &budget,
	    fixture_at(1));
	feed(stream, body, length, 1000);
	cr_assert_eq(set_stream_end(stream, fixture_at(1), &version), BUSY);
	cr_assert_eq(budget, SET_STREAM_BUDGET_BYTES - 10);
	free(body);
	free(stream);
	fixture_destroy(heritage);
}

Test(set_stream, leaves_nothing_of_what_was_broken_off)
{
	struct heritage *heritage = fixture_create();
	const struct pool *pool = &heritage->pools[0];
	struct set_stream *stream = malloc(sizeof(*stream));
	uint64_t budget = 0;
	struct read_hit hit;
	struct key key;
	size_t length;
	uint8_t *body = make_body(100000, &length);

	set_stream_begin(stream, pool, length, &budget, fixture_at(1));
	feed(stream, body, length / 2, 1000);
	set_stream_drop(stream);
	cr_assert_eq(key_init(&key, pool, "k", 1), OK);
	cr_assert_eq(read_peek(pool, &key, fixture_at(2), &hit), MISS);
	cr_assert_eq(stats_sum(pool->all_stats, pool->g.stats_blocks,
	    STAT_chain_aborts), 1);
	free(body);
	free(stream);
	fixture_destroy(heritage);
}

Test(set_stream, refuses_a_body_that_ends_before_its_value)
{
	struct heritage *heritage = fixture_create();
	struct set_stream *stream = malloc(sizeof(*stream));
	uint64_t budget = 0, version = 0;
	size_t length;
	uint8_t *body = make_body(10, &length);

	set_stream_begin(stream, &heritage->pools[0], 20, &budget,
	    fixture_at(1));
	feed(stream, body, 20, 20);
	cr_assert_eq(set_stream_end(stream, fixture_at(1), &version),
	    INVALID);
	free(body);
	free(stream);
	fixture_destroy(heritage);
}
