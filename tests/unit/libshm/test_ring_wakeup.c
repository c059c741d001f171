/* SPDX-License-Identifier: ISC */

/*
 * The ring between two processes: every record arrives, and whoever sleeps is
 * woken.
 */
#include "ring.h"

#include "prng.h"
#include "ring_fixture.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How long a broken run may hang. */
#define DEADLINE_MS	20000
#define BLOCK_ROUNDS	2000

/* Pushes all numbers below count; true unless the ring broke or hung. */
static bool
push_all(struct ring_producer *producer, uint32_t count, int bell)
{
	const uint64_t one = 1;

	for (uint32_t number = 0; number < count;) {
		bool doorbell;
		enum result res = ring_push_number(producer, number, &doorbell);

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
Test(ring_wakeup, two_processes_pass_every_record_and_lose_no_wake_up)
{
	enum { RECORDS = 300000 };
	struct ring_pair pair = ring_pair_make();
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
		uint8_t body[RING_TEST_BODY_MAX];
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
		cr_assert(ring_is_number(popped, type, body, length),
		    "record %u", popped);
		popped++;
	}
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_eq(status, 0);
}

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
 * then waits a moment.  The best moment differs by machine and load: the
 * longest wait, in turns of an empty loop, is drawn anew for each block of
 * rounds.
 */
static void
get_ready(struct prng *prng, uint32_t word, uint32_t round)
{
	static uint32_t longest = 1;

	if (round % BLOCK_ROUNDS == 1) {
		longest = 1u << prng_below(prng, 10);
	}
	for (volatile uint32_t i = word % 2 + prng_below(prng, longest);
	    i > 0; i--) {
	}
}

/* The two sides on cores of their own, where there are two. */
static void
pin_to_core(int side)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
	    CPU_COUNT(&allowed) < 2) {
		return;
	}
	for (int core = 0; core < CPU_SETSIZE; core++) {
		if (CPU_ISSET(core, &allowed) && side-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(core, &one);
			/* Only the odds depend on it. */
			(void)sched_setaffinity(0, sizeof(one), &one);
			return;
		}
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
		    &producer->shared->armed, memory_order_relaxed), round);
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
Test(ring_wakeup, a_push_and_an_arming_at_once_never_miss_each_other)
{
	enum { ROUNDS = 400000 };
	struct ring_pair pair = ring_pair_make();
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
	pin_to_core(pid == 0);
	if (pid == 0) {
		_exit(push_in_rounds(&pair.producer, rounds, ROUNDS) ? 0 : 1);
	}
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint32_t type, length;
		bool asleep;

		atomic_store_explicit(&rounds->begun, round,
		    memory_order_release);
		get_ready(&prng, (uint32_t)atomic_load_explicit(
		    &pair.consumer.shared->tail, memory_order_relaxed), round);
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
