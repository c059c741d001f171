/* SPDX-License-Identifier: ISC */

/*
 * The consumer against a producer that writes what it likes.  The ring ends
 * at a page that cannot be read, and the buffer has the length it is said to
 * have, so that a step outside is a crash here and a report under ASan.
 */
#include "ring.h"

#include "prng.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY	1024u
#define BODY_MAX	(CAPACITY / 4 - 8)
#define PAGE_BYTES	4096
#define DEADLINE_MS	30000

struct hostile {
	struct ring_shared *shared;
	struct ring_consumer consumer;
	uint8_t		*buffer;	/* BODY_MAX bytes, no more */
};

/* An empty ring whose last byte is the last one before a closed page. */
static struct hostile
make_hostile(void)
{
	struct hostile hostile;
	uint8_t *pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
	hostile.shared = (struct ring_shared *)(void *)(pages + PAGE_BYTES -
	    ring_bytes(CAPACITY));
	cr_assert_eq(ring_init(hostile.shared, CAPACITY), OK);
	cr_assert_eq(ring_consumer_attach(&hostile.consumer, hostile.shared,
	    CAPACITY), OK);
	hostile.buffer = malloc(BODY_MAX);
	cr_assert_neq(hostile.buffer, NULL);
	return hostile;
}

static void
put_header(struct ring_shared *shared, uint32_t position, uint32_t length,
    uint32_t type)
{
	atomic_store((_Atomic uint64_t *)(void *)(shared->data + position),
	    (uint64_t)type << 32 | length);
}

static enum result
pop(struct hostile *hostile)
{
	uint32_t type, length;

	return ring_pop(&hostile->consumer, hostile->buffer, BODY_MAX, &type,
	    &length);
}

static enum result
pop_with_tail(struct hostile *hostile, uint64_t tail)
{
	atomic_store(&hostile->shared->tail, tail);
	return pop(hostile);
}

static enum result
accept_all(void *context, uint32_t type, const void *body, uint32_t length)
{
	uint64_t *records = context;

	(void)type;
	(void)body;
	(void)length;
	(*records)++;
	return OK;
}

/* Starts after `head` bytes of empty records. */
static struct hostile
make_hostile_at(uint64_t head)
{
	struct hostile hostile = make_hostile();

	atomic_store(&hostile.shared->head, head);
	atomic_store(&hostile.shared->tail, head);
	cr_assert_eq(ring_consumer_attach(&hostile.consumer, hostile.shared,
	    CAPACITY), OK);
	return hostile;
}

Test(ring_consumer, a_tail_that_makes_no_sense_is_corrupt_for_good)
{
	static const uint64_t tails[] = {
		CAPACITY + 8, 4, UINT64_MAX, UINT64_MAX - 7,
		UINT64_C(1) << 32, UINT64_C(1) << 63,
	};

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		struct hostile hostile = make_hostile();
		uint64_t records = 0;

		cr_assert_eq(pop_with_tail(&hostile, tails[i]), CORRUPT,
		    "tail %ju", (uintmax_t)tails[i]);
		cr_assert_eq(pop_with_tail(&hostile, 0), CORRUPT);
		cr_assert_not(ring_arm(&hostile.consumer));
		cr_assert_eq(ring_drain(&hostile.consumer, hostile.buffer,
		    BODY_MAX, accept_all, &records), CORRUPT);
		cr_assert_eq(ring_drain_to(&hostile.consumer, 8,
		    hostile.buffer, BODY_MAX, accept_all, &records), CORRUPT);
		cr_assert_eq(records, 0);
	}
}

Test(ring_consumer, a_tail_behind_the_head_is_corrupt)
{
	struct hostile hostile = make_hostile_at(512);

	cr_assert_eq(pop_with_tail(&hostile, 504), CORRUPT);
}

Test(ring_consumer, a_length_beyond_the_tail_is_corrupt)
{
	static const uint32_t lengths[] = {
		1, 8, BODY_MAX, BODY_MAX + 1, CAPACITY, UINT32_MAX,
		UINT32_MAX - 7, UINT32_C(1) << 31,
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct hostile hostile = make_hostile();

		put_header(hostile.shared, 0, lengths[i], 1);
		cr_assert_eq(pop_with_tail(&hostile, 8), CORRUPT, "length %u",
		    lengths[i]);
	}
}

Test(ring_consumer, a_length_above_a_quarter_is_corrupt)
{
	struct hostile hostile = make_hostile();

	put_header(hostile.shared, 0, BODY_MAX + 1, 1);
	cr_assert_eq(pop_with_tail(&hostile, CAPACITY), CORRUPT);
}

Test(ring_consumer, a_length_beyond_the_end_of_the_data_is_corrupt)
{
	struct hostile hostile = make_hostile_at(CAPACITY - 16);

	put_header(hostile.shared, CAPACITY - 16, 9, 1);
	cr_assert_eq(pop_with_tail(&hostile, CAPACITY + 128), CORRUPT);
}

Test(ring_consumer, a_filler_where_none_belongs_is_corrupt)
{
	struct hostile at_start = make_hostile();
	struct hostile too_early = make_hostile_at(CAPACITY / 2);
	struct hostile wrong_length = make_hostile_at(CAPACITY - 64);
	struct hostile alone = make_hostile_at(CAPACITY - 64);

	put_header(at_start.shared, 0, CAPACITY - 8, RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&at_start, CAPACITY), CORRUPT);

	put_header(too_early.shared, CAPACITY / 2, CAPACITY / 2 - 8,
	    RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&too_early, CAPACITY + 64), CORRUPT);

	put_header(wrong_length.shared, CAPACITY - 64, 48, RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&wrong_length, CAPACITY + 64), CORRUPT);

	put_header(alone.shared, CAPACITY - 64, 56, RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&alone, CAPACITY), CORRUPT);
}

Test(ring_consumer, a_filler_after_a_filler_is_corrupt)
{
	struct hostile hostile = make_hostile_at(CAPACITY - 64);

	put_header(hostile.shared, CAPACITY - 64, 56, RING_TYPE_WRAP);
	put_header(hostile.shared, 0, 56, RING_TYPE_WRAP);
	cr_assert_eq(pop_with_tail(&hostile, CAPACITY + 64), CORRUPT);
}

Test(ring_consumer, a_named_tail_beyond_the_own_one_is_corrupt)
{
	struct hostile hostile = make_hostile();
	uint64_t records = 0;

	put_header(hostile.shared, 0, 0, 1);
	atomic_store(&hostile.shared->tail, 8);
	cr_assert_eq(ring_drain_to(&hostile.consumer, 16, hostile.buffer,
	    BODY_MAX, accept_all, &records), CORRUPT);
	cr_assert_eq(records, 0);
}

Test(ring_consumer, a_named_tail_within_a_record_is_corrupt)
{
	struct hostile hostile = make_hostile();
	uint64_t records = 0;

	put_header(hostile.shared, 0, 0, 1);
	put_header(hostile.shared, 8, 8, 1);
	atomic_store(&hostile.shared->tail, 24);
	cr_assert_eq(ring_drain_to(&hostile.consumer, 16, hostile.buffer,
	    BODY_MAX, accept_all, &records), CORRUPT);
	cr_assert_eq(records, 1);
}

Test(ring_consumer, a_named_tail_that_is_no_multiple_of_8_is_corrupt)
{
	struct hostile hostile = make_hostile();
	uint64_t records = 0;

	atomic_store(&hostile.shared->tail, 24);
	cr_assert_eq(ring_drain_to(&hostile.consumer, 12, hostile.buffer,
	    BODY_MAX, accept_all, &records), CORRUPT);
	cr_assert_leq(records, 1);
}

Test(ring_consumer, a_drain_ends_after_one_capacity_of_empty_records)
{
	struct hostile hostile = make_hostile();
	uint64_t records = 0;

	/* The data is all zero: 128 records of no length and type 0. */
	atomic_store(&hostile.shared->tail, CAPACITY);
	cr_assert_eq(ring_drain(&hostile.consumer, hostile.buffer, BODY_MAX,
	    accept_all, &records), OK);
	cr_assert_eq(records, CAPACITY / 8);
}

Test(ring_consumer, attach_refuses_counts_that_make_no_sense)
{
	struct hostile hostile = make_hostile();
	struct ring_consumer consumer;

	cr_assert_eq(ring_consumer_attach(&consumer, hostile.shared, 1000),
	    INVALID);
	atomic_store(&hostile.shared->tail, CAPACITY + 8);
	cr_assert_eq(ring_consumer_attach(&consumer, hostile.shared,
	    CAPACITY), CORRUPT);
	atomic_store(&hostile.shared->tail, 0);
	atomic_store(&hostile.shared->head, 4);
	cr_assert_eq(ring_consumer_attach(&consumer, hostile.shared,
	    CAPACITY), CORRUPT);
}

Test(ring_consumer, the_capacity_in_the_mapping_is_not_believed)
{
	struct hostile hostile = make_hostile_at(CAPACITY);

	hostile.shared->capacity = RING_CAPACITY_MAX;
	put_header(hostile.shared, 0, 8, 5);
	cr_assert_eq(pop_with_tail(&hostile, CAPACITY + 16), OK);
}

/* A value that is often nearly right, or a bound, and sometimes anything. */
static uint64_t
nasty_count(struct prng *prng, uint64_t near)
{
	switch (prng_below(prng, 8)) {
	case 0:
		return prng_next(prng);
	case 1:
		return near + prng_below(prng, 64);
	case 2:
		return near - 8 * prng_below(prng, 4);
	case 3:
		return near + CAPACITY;
	default:
		return near + UINT64_C(8) * prng_below(prng, CAPACITY / 8 + 2);
	}
}

static void
nasty_header(struct prng *prng, struct ring_shared *shared)
{
	static const uint32_t lengths[] = {
		0, 7, 8, BODY_MAX, BODY_MAX + 1, CAPACITY, UINT32_MAX,
		UINT32_MAX - 15,
	};
	uint32_t position = 8 * prng_below(prng, CAPACITY / 8);
	uint32_t length = prng_one_in(prng, 4) ?
	    lengths[prng_below(prng, sizeof(lengths) / sizeof(lengths[0]))] :
	    prng_below(prng, 128);
	uint32_t type = prng_below(prng, 16);

	if (prng_one_in(prng, 8)) {
		length = CAPACITY - position - 8;
		type = RING_TYPE_WRAP;
	}
	put_header(shared, position, length, type);
}

/* One thing that a producer can do to the mapping. */
static void
scribble(struct prng *prng, struct ring_shared *shared)
{
	uint64_t head = atomic_load(&shared->head);

	switch (prng_below(prng, 8)) {
	case 0:
		atomic_store(&shared->head, nasty_count(prng, head));
		break;
	case 1:
		atomic_store(&shared->armed, (uint32_t)prng_next(prng));
		break;
	case 2:
	case 3:
		atomic_store(&shared->tail, nasty_count(prng, head));
		break;
	default:
		nasty_header(prng, shared);
		break;
	}
}

/* One thing that a consumer does; counts the records and checks them. */
static enum result
consume(struct prng *prng, struct hostile *hostile, uint64_t *records)
{
	struct ring_consumer *consumer = &hostile->consumer;
	uint32_t cap = prng_one_in(prng, 4) ? 16 : BODY_MAX;
	uint32_t type = 0, length = 0;
	enum result res;

	switch (prng_below(prng, 8)) {
	case 0:
		return ring_arm(consumer) ? MISS : OK;
	case 1:
		return ring_drain(consumer, hostile->buffer, cap, accept_all,
		    records);
	case 2:
		return ring_drain_to(consumer, nasty_count(prng,
		    consumer->head), hostile->buffer, cap, accept_all,
		    records);
	default:
		res = ring_pop(consumer, hostile->buffer, cap, &type,
		    &length);
		if (res == OK || res == TOO_LARGE) {
			(*records)++;
			cr_assert_neq(type, RING_TYPE_WRAP);
			cr_assert_leq(length, BODY_MAX);
			cr_assert_eq(length <= cap, res == OK);
		}
		return res;
	}
}

/* A channel that was dropped is replaced by a new one, over the old bytes. */
static void
attach_again(struct prng *prng, struct hostile *hostile)
{
	uint64_t head = UINT64_C(8) * prng_below(prng, 1u << 20);

	do {
		/* The other side may scribble in between. */
		atomic_store(&hostile->shared->head, head);
		atomic_store(&hostile->shared->tail, head);
	} while (ring_consumer_attach(&hostile->consumer, hostile->shared,
	    CAPACITY) != OK);
}

Test(ring_consumer, random_scribbles_between_its_calls_do_no_harm)
{
	enum { STEPS = 1000000 };
	struct hostile hostile = make_hostile();
	uint64_t records = 0, corrupt = 0;
	struct prng prng;

	prng_init(&prng, 20);
	for (int i = 0; i < STEPS; i++) {
		enum result res;

		scribble(&prng, hostile.shared);
		res = consume(&prng, &hostile, &records);
		cr_assert(res == OK || res == MISS || res == TOO_LARGE ||
		    res == CORRUPT, "%d", res);
		if (hostile.consumer.broken) {
			corrupt++;
			attach_again(&prng, &hostile);
		}
	}
	/* Both kinds of way were walked, and often. */
	cr_assert_gt(records, STEPS / 100);
	cr_assert_gt(corrupt, STEPS / 100);
}

Test(ring_consumer, scribbles_of_another_process_do_no_harm)
{
	enum { STEPS = 1000000, RECORDS_MIN = 1000 };
	struct hostile hostile = make_hostile();
	uint64_t records = 0, corrupt = 0;
	time_t start_s = time(NULL);
	struct prng prng;
	int status;
	pid_t pid = fork();

	cr_assert_neq(pid, -1);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		prng_init(&prng, 21);
		for (;;) {
			scribble(&prng, hostile.shared);
		}
	}
	prng_init(&prng, 22);
	for (uint32_t i = 0; i < STEPS || records < RECORDS_MIN; i++) {
		enum result res = consume(&prng, &hostile, &records);

		cr_assert(res == OK || res == MISS || res == TOO_LARGE ||
		    res == CORRUPT, "%d", res);
		if (hostile.consumer.broken) {
			corrupt++;
			attach_again(&prng, &hostile);
		}
		if (i % 1024 == 0) {
			/* There may be one core: let the other scribble. */
			sched_yield();
			cr_assert_lt(time(NULL) - start_s, DEADLINE_MS / 1000,
			    "%ju records", (uintmax_t)records);
		}
	}
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_gt(corrupt, 1000);
}
