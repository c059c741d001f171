/* SPDX-License-Identifier: ISC */

/*
 * The consumer of a ring against a producer that writes what it likes, when
 * it likes.
 */
#include "ring.h"

#include "prng.h"
#include "ring_fixture.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY	RING_TEST_CAPACITY
#define BODY_MAX	RING_TEST_BODY_MAX
/* How long a broken run may hang. */
#define DEADLINE_MS	30000
/* There may be one core: each side lets the other run this often. */
#define TURN_STEPS	64

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
	ring_put_header(shared, position, length, type);
}

/* One thing that a producer can do to the mapping. */
static void
scribble(struct prng *prng, const struct ring_hostile *hostile)
{
	struct ring_shared *shared = hostile->shared;
	uint64_t head = atomic_load(hostile->head);

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
consume(struct prng *prng, struct ring_hostile *hostile, uint64_t *records)
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
attach_again(struct prng *prng, struct ring_hostile *hostile)
{
	uint64_t head = UINT64_C(8) * prng_below(prng, 1u << 20);

	do {
		/* The other side may scribble in between. */
		atomic_store(&hostile->shared->head, head);
		atomic_store(&hostile->shared->tail, head);
	} while (ring_consumer_attach(&hostile->consumer, hostile->shared,
	    CAPACITY) != OK);
}

/* One step of the consumer: true if it had to drop the channel. */
static bool
consume_or_drop(struct prng *prng, struct ring_hostile *hostile,
    uint64_t *records)
{
	enum result res = consume(prng, hostile, records);
	bool broken = hostile->consumer.broken;

	cr_assert(res == OK || res == MISS || res == TOO_LARGE ||
	    res == CORRUPT, "%d", res);
	if (broken) {
		attach_again(prng, hostile);
	}
	atomic_store(hostile->head, hostile->consumer.head);
	return broken;
}

Test(ring_scribbles, random_scribbles_between_its_calls_do_no_harm)
{
	enum { STEPS = 1000000 };
	struct ring_hostile hostile = ring_hostile_make();
	uint64_t records = 0, corrupt = 0;
	struct prng prng;

	prng_init(&prng, 20);
	for (int i = 0; i < STEPS; i++) {
		scribble(&prng, &hostile);
		corrupt += consume_or_drop(&prng, &hostile, &records);
	}
	/* Both kinds of way were walked, and often. */
	cr_assert_gt(records, STEPS / 100);
	cr_assert_gt(corrupt, STEPS / 100);
}

static void
scribble_until_killed(const struct ring_hostile *hostile)
{
	struct prng prng;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	prng_init(&prng, 21);
	for (uint32_t i = 0;; i++) {
		scribble(&prng, hostile);
		if (i % TURN_STEPS == 0) {
			sched_yield();
		}
	}
}

Test(ring_scribbles, scribbles_of_another_process_do_no_harm)
{
	enum { STEPS = 1000000, RECORDS_MIN = 1000 };
	struct ring_hostile hostile = ring_hostile_make();
	uint64_t records = 0, corrupt = 0;
	time_t start_s = time(NULL);
	struct prng prng;
	int status;
	pid_t pid = fork();

	cr_assert_neq(pid, -1);
	if (pid == 0) {
		scribble_until_killed(&hostile);
	}
	prng_init(&prng, 22);
	for (uint32_t i = 0; i < STEPS || records < RECORDS_MIN; i++) {
		corrupt += consume_or_drop(&prng, &hostile, &records);
		if (i % TURN_STEPS == 0) {
			sched_yield();
			cr_assert_lt(time(NULL) - start_s, DEADLINE_MS / 1000,
			    "%ju records", (uintmax_t)records);
		}
	}
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_gt(corrupt, 1000);
}
