/* SPDX-License-Identifier: ISC */

#include "ring_session.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "daemon_fixture.h"
#include "protocol.h"
#include "read.h"
#include "shard.h"
#include "write.h"

static struct ring_session ring;
static struct ring_producer producer;
static struct control_client row;
static struct heritage *heritage;
static uint8_t record[16384];

static void
open_ring(void)
{
	int fd;

	heritage = fixture_create();
	memset(&row, 0, sizeof(row));
	cr_assert_eq(ring_session_create(&ring, &heritage->pools[0], &row,
	    16384, fixture_at(0), &fd), OK);
	cr_assert_eq(ring_producer_attach(&producer, ring.mem, ring.bytes),
	    OK);
	(void)close(fd);
}

static void
close_ring(void)
{
	ring_session_destroy(&ring);
	fixture_destroy(heritage);
}

TestSuite(ring_session, .init = open_ring, .fini = close_ring);

static void
push(uint32_t type, const void *body, size_t length)
{
	struct iovec part = { .iov_len = length };
	bool doorbell;

	memcpy(&part.iov_base, &body, sizeof(body));
	cr_assert_eq(ring_push(&producer, type, &part, 1, &doorbell), OK);
}

static enum result
drain(uint64_t ms)
{
	return ring_session_drain(&ring, 0, fixture_at(ms), record,
	    sizeof(record));
}

static void
push_set(const char *key, const char *value)
{
	struct wire_set head = {
		.key_length = (uint32_t)strlen(key),
		.value_length = strlen(value),
	};
	uint8_t body[256];
	size_t at = WIRE_SET_BYTES + strlen(key);

	wire_set_encode(body, &head);
	memcpy(body + WIRE_SET_BYTES, key, strlen(key));
	memcpy(body + at, value, strlen(value));
	push(RING_SET, body, at + strlen(value));
}

static uint64_t
count(enum stat_id stat)
{
	return stats_sum(heritage->pools[0].all_stats,
	    heritage->pools[0].g.stats_blocks, stat);
}

Test(ring_session, stores_what_a_client_queued)
{
	struct read_hit hit;
	struct key key;
	char value[8];

	push_set("key", "value");
	cr_assert_eq(drain(1), OK);
	cr_assert_eq(ring.stored, 1);
	cr_assert_eq(key_init(&key, ring.pool, "key", 3), OK);
	cr_assert_eq(read_copy(ring.pool, &key, fixture_at(2), value,
	    sizeof(value), &hit), OK);
	cr_assert_eq(memcmp(value, "value", 5), 0);
}

Test(ring_session, counts_a_refused_store_and_goes_on)
{
	struct wire_set head = {
		.tag_count = TAGS_MAX + 1, .key_length = 1,
	};
	uint8_t body[WIRE_SET_BYTES];

	wire_set_encode(body, &head);
	push(RING_SET, body, sizeof(body));
	push_set("key", "value");
	cr_assert_eq(drain(1), OK);
	cr_assert_eq(ring.refused, 1);
	cr_assert_eq(ring.stored, 1);
}

Test(ring_session, beats_for_each_store_that_waited)
{
	_Atomic uint64_t heartbeat_ms = 0;
	struct key key;
	uint32_t shard;

	ring.heartbeat_ms = &heartbeat_ms;
	cr_assert_eq(key_init(&key, ring.pool, "key", 3), OK);
	shard = pool_shard_of(ring.pool, key.hash);
	push_set("key", "value");
	cr_assert_eq(shard_enter(ring.pool, shard), OK);
	cr_assert_eq(drain(1), OK);
	shard_leave(ring.pool, shard);
	cr_assert_eq(ring.refused, 1);
	cr_assert_neq(heartbeat_ms, 0);
	heartbeat_ms = 0;
	push_set("key", "value");
	cr_assert_eq(drain(2), OK);
	cr_assert_eq(ring.stored, 1);
	cr_assert_eq(heartbeat_ms, 0);
}

Test(ring_session, gives_up_at_an_unknown_record)
{
	push(77, "x", 1);
	cr_assert_eq(drain(1), CORRUPT);
}

Test(ring_session, gives_up_at_a_record_of_a_wrong_length)
{
	push(RING_HINT, "123456789", 9);
	cr_assert_eq(drain(1), CORRUPT);
}

Test(ring_session, gives_up_at_a_tail_out_of_reach)
{
	atomic_store(&producer.shared->tail, UINT64_MAX - 7);
	cr_assert_eq(drain(1), CORRUPT);
	cr_assert_eq(drain(2), CORRUPT);
}

Test(ring_session, raises_the_count_of_a_hinted_entry)
{
	struct read_hit hit;
	struct key key;
	uint8_t hint[RING_HINT_BYTES];

	fixture_set(ring.pool, "key", "value");
	cr_assert_eq(key_init(&key, ring.pool, "key", 3), OK);
	cr_assert_eq(read_peek(ring.pool, &key, fixture_at(1), &hit), OK);
	wire_put_u64(hint, key.hash);
	wire_put_u32(hint + 8, hit.extent);
	wire_put_u32(hint + 12, hit.offset);
	push(RING_HINT, hint, sizeof(hint));
	cr_assert_eq(drain(1), OK);
	cr_assert_eq(count(STAT_hints_applied), 1);
}

Test(ring_session, caps_the_hints_of_a_second)
{
	uint8_t hints[RING_HINT_BYTES * 100] = { 0 };

	for (unsigned i = 0; i < RING_HINTS_PER_S / 100 + 1; i++) {
		push(RING_HINT, hints, sizeof(hints));
		cr_assert_eq(drain(1), OK);
	}
	cr_assert_eq(ring.hints, RING_HINTS_PER_S);
	push(RING_HINT, hints, sizeof(hints));
	cr_assert_eq(drain(1001), OK);
	cr_assert_eq(ring.hints, 100, "a new second");
}

Test(ring_session, believes_counts_as_far_as_they_can_be_true)
{
	uint8_t counts[24];

	wire_put_u64(counts, 70);
	wire_put_u64(counts + 8, 30);
	wire_put_u64(counts + 16, 90);
	push(RING_COUNTS, counts, sizeof(counts));
	cr_assert_eq(drain(1), OK);
	cr_assert_eq(row.hits, 70);
	cr_assert_eq(row.misses, 30);
	cr_assert_eq(row.stale, 70, "no more than hits");
	cr_assert_eq(count(STAT_get_hits), 70);
	wire_put_u64(counts, UINT64_MAX);
	push(RING_COUNTS, counts, sizeof(counts));
	push(RING_COUNTS, counts, sizeof(counts));
	cr_assert_eq(drain(1), OK);
	cr_assert_leq(row.hits, 2ull * RING_READS_PER_S);
}
