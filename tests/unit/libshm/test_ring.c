/* SPDX-License-Identifier: ISC */

/*
 * The ring with an honest producer: order, wrapping, fullness, successors,
 * and two processes with a real doorbell.
 */
#include "ring.h"

#include "prng.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY	1024u
#define BODY_MAX	(CAPACITY / 4 - 8)
/* How long a broken run may hang. */
#define DEADLINE_MS	20000

struct pair {
	void		*mem;
	struct ring_producer producer;
	struct ring_consumer consumer;
};

static struct pair
make_pair(void)
{
	struct pair pair;

	pair.mem = mmap(NULL, ring_bytes(CAPACITY), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(pair.mem, MAP_FAILED);
	cr_assert_eq(ring_init(pair.mem, CAPACITY), OK);
	cr_assert_eq(ring_producer_attach(&pair.producer, pair.mem,
	    ring_bytes(CAPACITY)), OK);
	cr_assert_eq(ring_consumer_attach(&pair.consumer, pair.mem,
	    CAPACITY), OK);
	return pair;
}

/* A body that says which record it is the body of. */
static void
fill_body(uint8_t *body, uint32_t length, uint32_t number)
{
	for (uint32_t i = 0; i < length; i++) {
		body[i] = (uint8_t)(number * 31 + i);
	}
}

/* The length of the record of this number: all from 0 to BODY_MAX occur. */
static uint32_t
length_of(uint32_t number)
{
	return number * 37 % (BODY_MAX + 1);
}

static enum result
push_number(struct ring_producer *producer, uint32_t number, bool *doorbell)
{
	uint8_t body[BODY_MAX];
	uint32_t length = length_of(number);
	struct iovec part = { .iov_base = body, .iov_len = length };

	fill_body(body, length, number);
	return ring_push(producer, number, &part, 1, doorbell);
}

static enum result
push_bytes(struct ring_producer *producer, size_t length)
{
	static uint8_t body[2 * CAPACITY];
	struct iovec part = { .iov_base = body, .iov_len = length };
	bool doorbell;

	return ring_push(producer, 1, &part, 1, &doorbell);
}

/* OK if this is exactly the record of that number. */
static bool
is_number(uint32_t number, uint32_t type, const uint8_t *body,
    uint32_t length)
{
	uint8_t want[BODY_MAX];

	fill_body(want, length_of(number), number);
	return type == number && length == length_of(number) &&
	    memcmp(body, want, length) == 0;
}

static bool
pop_number(struct ring_consumer *consumer, uint32_t number)
{
	uint8_t body[BODY_MAX];
	uint32_t type, length;

	return ring_pop(consumer, body, sizeof(body), &type, &length) == OK &&
	    is_number(number, type, body, length);
}

static enum result
pop_any(struct ring_consumer *consumer)
{
	uint8_t body[BODY_MAX];
	uint32_t type, length;

	return ring_pop(consumer, body, sizeof(body), &type, &length);
}

Test(ring, capacity_is_a_power_of_two_within_its_bounds)
{
	static _Alignas(64) uint8_t mem[8192];

	cr_assert_eq(ring_bytes(RING_CAPACITY_MIN), 256 + 256);
	cr_assert_gt(ring_bytes(RING_CAPACITY_MAX), RING_CAPACITY_MAX);
	cr_assert_eq(ring_bytes(RING_CAPACITY_MIN / 2), 0);
	cr_assert_eq(ring_bytes(RING_CAPACITY_MAX * 2), 0);
	cr_assert_eq(ring_bytes(1000), 0);
	cr_assert_eq(ring_bytes(0), 0);
	cr_assert_eq(ring_body_max(1024), 248);
	cr_assert_eq(ring_body_max(1000), 0);
	cr_assert_eq(ring_init(mem, 1000), INVALID);
	cr_assert_eq(ring_init(mem + 8, 1024), INVALID);
}

Test(ring, an_empty_ring_is_a_miss)
{
	struct pair pair = make_pair();

	cr_assert_eq(pop_any(&pair.consumer), MISS);
}

Test(ring, records_come_in_order_and_whole_over_many_laps)
{
	struct pair pair = make_pair();
	uint32_t pushed = 0, popped = 0;
	bool doorbell;

	while (popped < 20000) {
		/* Fill up, then take some: every position meets every
		 * length. */
		while (push_number(&pair.producer, pushed, &doorbell) == OK) {
			pushed++;
		}
		cr_assert_gt(pushed, popped);
		for (uint32_t i = pushed % 3; i < 3 && popped < pushed; i++) {
			cr_assert(pop_number(&pair.consumer, popped),
			    "record %u", popped);
			popped++;
		}
	}
	while (popped < pushed) {
		cr_assert(pop_number(&pair.consumer, popped++));
	}
	cr_assert_eq(pop_any(&pair.consumer), MISS);
}

Test(ring, a_body_is_gathered_from_its_parts)
{
	struct pair pair = make_pair();
	struct iovec parts[] = {
		{ .iov_base = (char[]){ "ab" }, .iov_len = 2 },
		{ .iov_base = NULL, .iov_len = 0 },
		{ .iov_base = (char[]){ "cdefghijk" }, .iov_len = 9 },
	};
	uint32_t type, length;
	char body[BODY_MAX];
	bool doorbell;

	cr_assert_eq(ring_push(&pair.producer, 7, parts, 3, &doorbell), OK);
	cr_assert_eq(ring_push(&pair.producer, 8, NULL, 0, &doorbell), OK);
	cr_assert_eq(ring_pop(&pair.consumer, body, sizeof(body), &type,
	    &length), OK);
	cr_assert_eq(type, 7);
	cr_assert_eq(length, 11);
	cr_assert_arr_eq(body, "abcdefghijk", 11);
	cr_assert_eq(ring_pop(&pair.consumer, NULL, 0, &type, &length), OK);
	cr_assert_eq(type, 8);
	cr_assert_eq(length, 0);
}

Test(ring, a_full_ring_refuses_and_takes_again_when_there_is_room)
{
	struct pair pair = make_pair();
	uint64_t tail;
	int count = 0;

	while (push_bytes(&pair.producer, 56) == OK) {
		count++;
	}
	cr_assert_eq(count, CAPACITY / 64);
	tail = ring_tail(&pair.producer);
	cr_assert_eq(push_bytes(&pair.producer, 0), FULL);
	cr_assert_eq(ring_tail(&pair.producer), tail);
	cr_assert_eq(pop_any(&pair.consumer), OK);
	cr_assert_eq(push_bytes(&pair.producer, 64), FULL);
	cr_assert_eq(push_bytes(&pair.producer, 56), OK);
	cr_assert_eq(ring_tail(&pair.producer), tail + 64);
}

Test(ring, a_record_is_at_most_a_quarter_of_the_ring)
{
	struct pair pair = make_pair();
	struct iovec huge[] = {
		{ .iov_base = NULL, .iov_len = SIZE_MAX },
		{ .iov_base = NULL, .iov_len = SIZE_MAX },
	};
	bool doorbell = true;

	cr_assert_eq(ring_body_max(CAPACITY), BODY_MAX);
	cr_assert_eq(push_bytes(&pair.producer, BODY_MAX + 1), TOO_LARGE);
	cr_assert_eq(ring_push(&pair.producer, 1, huge, 2, &doorbell),
	    TOO_LARGE);
	cr_assert_not(doorbell);
	cr_assert_eq(push_bytes(&pair.producer, BODY_MAX), OK);
	cr_assert_eq(pop_any(&pair.consumer), OK);
	cr_assert_eq(pop_any(&pair.consumer), MISS);
}

Test(ring, the_reserved_type_and_a_negative_count_are_refused)
{
	struct pair pair = make_pair();
	bool doorbell;

	cr_assert_eq(ring_push(&pair.producer, RING_TYPE_WRAP, NULL, 0,
	    &doorbell), INVALID);
	cr_assert_eq(ring_push(&pair.producer, 1, NULL, -1, &doorbell),
	    INVALID);
	cr_assert_eq(pop_any(&pair.consumer), MISS);
}

Test(ring, a_record_too_large_for_the_buffer_is_gone_and_the_next_comes)
{
	struct pair pair = make_pair();
	uint8_t buffer[17];
	uint32_t type, length;
	bool doorbell;

	memset(buffer, 0xee, sizeof(buffer));
	cr_assert_eq(push_bytes(&pair.producer, 17), OK);
	cr_assert_eq(push_number(&pair.producer, 2, &doorbell), OK);
	cr_assert_eq(ring_pop(&pair.consumer, buffer, 16, &type, &length),
	    TOO_LARGE);
	cr_assert_eq(type, 1);
	cr_assert_eq(length, 17);
	cr_assert_eq(buffer[0], 0xee);
	cr_assert(pop_number(&pair.consumer, 2));
}

Test(ring, a_push_rings_once_for_a_consumer_that_armed)
{
	struct pair pair = make_pair();
	bool doorbell = true;

	cr_assert_eq(push_number(&pair.producer, 0, &doorbell), OK);
	cr_assert_not(doorbell, "nobody has armed");
	cr_assert_not(ring_arm(&pair.consumer), "there is a record");
	cr_assert_eq(push_number(&pair.producer, 1, &doorbell), OK);
	cr_assert_not(doorbell, "the arming was taken back");
	cr_assert(pop_number(&pair.consumer, 0));
	cr_assert(pop_number(&pair.consumer, 1));
	cr_assert(ring_arm(&pair.consumer));
	cr_assert_eq(push_number(&pair.producer, 2, &doorbell), OK);
	cr_assert(doorbell);
	cr_assert_eq(push_number(&pair.producer, 3, &doorbell), OK);
	cr_assert_not(doorbell, "it has been rung");
}

Test(ring, a_consumer_that_woke_by_itself_is_not_rung)
{
	struct pair pair = make_pair();
	bool doorbell = true;

	cr_assert(ring_arm(&pair.consumer));
	cr_assert_eq(pop_any(&pair.consumer), MISS);
	cr_assert_eq(push_number(&pair.producer, 0, &doorbell), OK);
	cr_assert_not(doorbell);
}

struct collected {
	uint32_t	next;		/* number expected */
	uint32_t	stop_at;	/* answer BUSY after this one */
	bool		wrong;
};

static enum result
collect(void *context, uint32_t type, const void *body, uint32_t length)
{
	struct collected *collected = context;

	if (!is_number(collected->next, type, body, length)) {
		collected->wrong = true;
	}
	return collected->next++ == collected->stop_at ? BUSY : OK;
}

Test(ring, drain_to_stops_at_the_tail_that_was_named)
{
	struct pair pair = make_pair();
	struct collected got = { .stop_at = UINT32_MAX };
	uint8_t buffer[BODY_MAX];
	uint64_t named;
	bool doorbell;

	for (uint32_t number = 0; number < 4; number++) {
		cr_assert_eq(push_number(&pair.producer, number, &doorbell),
		    OK);
	}
	named = ring_tail(&pair.producer);
	cr_assert_eq(push_number(&pair.producer, 4, &doorbell), OK);

	cr_assert_eq(ring_drain_to(&pair.consumer, named, buffer,
	    sizeof(buffer), collect, &got), OK);
	cr_assert_eq(got.next, 4);
	cr_assert_eq(ring_drain_to(&pair.consumer, named, buffer,
	    sizeof(buffer), collect, &got), OK, "a late frame");
	cr_assert_eq(got.next, 4);
	cr_assert_eq(ring_drain(&pair.consumer, buffer, sizeof(buffer),
	    collect, &got), OK);
	cr_assert_eq(got.next, 5);
	cr_assert_not(got.wrong);
}

Test(ring, drain_ends_with_what_its_function_answers_and_goes_on_after)
{
	struct pair pair = make_pair();
	struct collected got = { .stop_at = 1 };
	uint8_t buffer[BODY_MAX];
	bool doorbell;

	for (uint32_t number = 0; number < 4; number++) {
		cr_assert_eq(push_number(&pair.producer, number, &doorbell),
		    OK);
	}
	cr_assert_eq(ring_drain(&pair.consumer, buffer, sizeof(buffer),
	    collect, &got), BUSY);
	cr_assert_eq(got.next, 2);
	cr_assert_eq(ring_drain(&pair.consumer, buffer, sizeof(buffer),
	    collect, &got), OK);
	cr_assert_eq(got.next, 4);
	cr_assert_not(got.wrong);
}

Test(ring, successors_of_both_sides_go_on_where_the_dead_ones_were)
{
	struct pair pair = make_pair();
	struct ring_producer producer;
	struct ring_consumer consumer;
	bool doorbell;

	for (uint32_t number = 0; number < 3; number++) {
		cr_assert_eq(push_number(&pair.producer, number, &doorbell),
		    OK);
	}
	cr_assert(pop_number(&pair.consumer, 0));
	cr_assert_eq(ring_producer_attach(&producer, pair.mem,
	    ring_bytes(CAPACITY)), OK);
	cr_assert_eq(ring_consumer_attach(&consumer, pair.mem, CAPACITY), OK);
	cr_assert_eq(push_number(&producer, 3, &doorbell), OK);
	for (uint32_t number = 1; number <= 3; number++) {
		cr_assert(pop_number(&consumer, number));
	}
	cr_assert_eq(pop_any(&consumer), MISS);
}

Test(ring, a_producer_refuses_what_is_no_ring_or_does_not_fit)
{
	struct pair pair = make_pair();
	struct ring_shared *shared = pair.mem;
	struct ring_producer producer;
	size_t bytes = ring_bytes(CAPACITY);

	cr_assert_eq(ring_producer_attach(&producer, shared, 255),
	    LAYOUT_MISMATCH);
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes - 1),
	    LAYOUT_MISMATCH);
	shared->capacity = 1000;
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes),
	    LAYOUT_MISMATCH);
	shared->capacity = CAPACITY;
	shared->magic++;
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes),
	    LAYOUT_MISMATCH);
	shared->magic--;
	atomic_store(&shared->tail, CAPACITY + 8);
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes), CORRUPT);
	atomic_store(&shared->tail, 4);
	cr_assert_eq(ring_producer_attach(&producer, shared, bytes), CORRUPT);
}

Test(ring, a_producer_drops_a_ring_whose_head_makes_no_sense)
{
	struct pair pair = make_pair();
	struct ring_shared *shared = pair.mem;

	atomic_store(&shared->head, 4096);
	while (push_bytes(&pair.producer, 56) == OK) {
		cr_assert_leq(ring_tail(&pair.producer), CAPACITY);
	}
	cr_assert_eq(push_bytes(&pair.producer, 56), CORRUPT);
}

/* Pushes all numbers below count; true unless the ring broke or hung. */
static bool
push_all(struct ring_producer *producer, uint32_t count, int bell)
{
	const uint64_t one = 1;

	for (uint32_t number = 0; number < count;) {
		bool doorbell;
		enum result res = push_number(producer, number, &doorbell);

		if (res == FULL) {
			sched_yield();
			continue;
		}
		if (res != OK) {
			return false;
		}
		if (doorbell && write(bell, &one, 8) != 8) {
			return false;
		}
		number++;
	}
	return true;
}

/*
 * The consumer sleeps whenever ring_arm() lets it: a wake-up that is lost is
 * a poll() that ends without a ring.
 */
Test(ring, two_processes_pass_every_record_and_lose_no_wake_up)
{
	enum { RECORDS = 300000 };
	struct pair pair = make_pair();
	int bell = eventfd(0, EFD_NONBLOCK);
	uint32_t popped = 0;
	int status;
	pid_t pid = fork();

	cr_assert_neq(pid, -1);
	if (pid == 0) {
		_exit(push_all(&pair.producer, RECORDS, bell) ? 0 : 1);
	}
	while (popped < RECORDS) {
		struct pollfd poll_bell = { .fd = bell, .events = POLLIN };
		uint8_t body[BODY_MAX];
		uint32_t type, length;
		uint64_t rings;
		enum result res = ring_pop(&pair.consumer, body,
		    sizeof(body), &type, &length);

		if (res == MISS) {
			if (ring_arm(&pair.consumer)) {
				cr_assert_eq(poll(&poll_bell, 1, DEADLINE_MS),
				    1, "asleep at record %u", popped);
				cr_assert_eq(read(bell, &rings, 8), 8);
			}
			continue;
		}
		cr_assert_eq(res, OK);
		cr_assert(is_number(popped, type, body, length), "record %u",
		    popped);
		popped++;
	}
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_eq(status, 0);
}

/*
 * Longest waits before the two steps that meet, in turns of an empty loop.
 * The producer hears of a round later than the consumer, who begins it; with
 * these, rings without a fence lost 3,000 to 40,000 of 600,000 wake-ups here.
 */
#define PRODUCER_TURNS	32
#define CONSUMER_TURNS	256

/* What both sides of a round share beside the ring. */
struct rounds {
	_Alignas(64) _Atomic uint32_t begun;
	_Alignas(64) _Atomic uint32_t ended;
	_Atomic uint32_t rang;
};

/* Spins, and lets others run now and then: there may be one core. */
static bool
spin_until(_Atomic uint32_t *word, uint32_t value)
{
	struct timespec now, start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (uint32_t i = 1;
	    atomic_load_explicit(word, memory_order_acquire) != value; i++) {
		if (i % 1024 == 0) {
			sched_yield();
			clock_gettime(CLOCK_MONOTONIC, &now);
			if (now.tv_sec - start.tv_sec > DEADLINE_MS / 1000) {
				return false;
			}
		}
	}
	return true;
}

/*
 * Reads the word that the other side is about to store, so that the store
 * has to fetch its cache line back while the load that follows it does not;
 * then waits a moment, so that all overlaps occur.
 */
static void
get_ready(struct prng *prng, uint32_t word, uint32_t turns)
{
	for (volatile uint32_t i = word % 2 + prng_below(prng, turns); i > 0;
	    i--) {
	}
}

static bool
push_in_rounds(struct ring_producer *producer, struct rounds *rounds,
    uint32_t count)
{
	struct prng prng;

	prng_init(&prng, 2);
	for (uint32_t round = 1; round <= count; round++) {
		bool doorbell;

		if (!spin_until(&rounds->begun, round)) {
			return false;
		}
		get_ready(&prng, atomic_load_explicit(
		    &producer->shared->armed, memory_order_relaxed),
		    PRODUCER_TURNS);
		if (ring_push(producer, round, NULL, 0, &doorbell) != OK) {
			return false;
		}
		atomic_store_explicit(&rounds->rang, doorbell,
		    memory_order_relaxed);
		atomic_store_explicit(&rounds->ended, round,
		    memory_order_release);
	}
	return true;
}

/*
 * One push against one arming at the same moment, again and again: that the
 * consumer may sleep and nobody rings must never come out.
 */
Test(ring, a_push_and_an_arming_at_once_never_miss_each_other)
{
	enum { ROUNDS = 400000 };
	struct pair pair = make_pair();
	struct rounds *rounds = mmap(NULL, sizeof(*rounds),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct prng prng;
	uint32_t lost = 0;
	int status;
	pid_t pid;

	cr_assert_neq(rounds, MAP_FAILED);
	prng_init(&prng, 1);
	pid = fork();
	cr_assert_neq(pid, -1);
	if (pid == 0) {
		_exit(push_in_rounds(&pair.producer, rounds, ROUNDS) ? 0 : 1);
	}
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint32_t type, length;
		bool asleep;

		atomic_store_explicit(&rounds->begun, round,
		    memory_order_release);
		get_ready(&prng, (uint32_t)atomic_load_explicit(
		    &pair.consumer.shared->tail, memory_order_relaxed),
		    CONSUMER_TURNS);
		asleep = ring_arm(&pair.consumer);
		cr_assert(spin_until(&rounds->ended, round));
		lost += asleep && atomic_load_explicit(&rounds->rang,
		    memory_order_relaxed) == 0;
		cr_assert_eq(ring_pop(&pair.consumer, NULL, 0, &type,
		    &length), OK);
		cr_assert_eq(type, round);
	}
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_eq(status, 0);
	cr_assert_eq(lost, 0, "%u of %d wake-ups lost", lost, ROUNDS);
}
