/* SPDX-License-Identifier: ISC */

/*
 * Partitions and hosts that are full: who waits behind them holds up nobody
 * else.
 */
#include "limiter.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "limiter_fixture.h"

#define LIMIT	16u
#define CAP	3u

static void
open_with_cap(struct fixture *f, uint32_t cap)
{
	limited_open(f, LIMIT, 64);
	f->config.partition_cap = cap;
}

static struct limiter_ticket
take(struct fixture *f, uint64_t host, uint64_t partition)
{
	struct limiter_request request = limited_request(partition);

	request.host = host;
	return limited_granted(f, &request);
}

static struct limiter_ticket
wait_for(struct fixture *f, uint64_t host, uint64_t partition)
{
	struct limiter_request request = limited_request(partition);

	request.host = host;
	return limited_waits(f, &request);
}

Test(limiter_caps, a_full_partition_waits_and_others_pass_it)
{
	struct fixture f;
	struct limiter_ticket held[CAP], first, second, free_one;

	open_with_cap(&f, CAP);
	for (unsigned i = 0; i < CAP; i++) {
		held[i] = take(&f, 0, 7);
	}
	first = wait_for(&f, 0, 7);
	second = wait_for(&f, 0, 7);
	free_one = take(&f, 0, 8);
	limited_release(&f, &free_one);
	cr_assert_not(limited_is_granted(&f, &first));
	limited_release(&f, &held[1]);
	cr_assert(limited_is_granted(&f, &first));
	cr_assert_not(limited_is_granted(&f, &second));
	cr_assert_eq(f.limiter.state->in_flight, CAP);
	limited_close(&f);
}

Test(limiter_caps, with_all_permits_out_a_release_skips_full_partitions)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], full, other;

	open_with_cap(&f, CAP);
	for (unsigned i = 0; i < LIMIT; i++) {
		held[i] = take(&f, 0, i < CAP ? 7 : 0);
	}
	full = wait_for(&f, 0, 7);
	other = wait_for(&f, 0, 8);
	limited_release(&f, &held[LIMIT - 1]);
	cr_assert_not(limited_is_granted(&f, &full));
	cr_assert(limited_is_granted(&f, &other));
	limited_release(&f, &held[0]);
	cr_assert(limited_is_granted(&f, &full));
	limited_close(&f);
}

Test(limiter_caps, a_full_host_waits_and_others_pass_it)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], full[2], other, uncapped;

	open_with_cap(&f, CAP);
	f.config.host_cap = 4;
	for (unsigned i = 0; i < LIMIT; i++) {
		held[i] = take(&f, i < 4 ? 1 : 0, i < 4 ? i + 1 : 0);
	}
	full[0] = wait_for(&f, 1, 50);
	full[1] = wait_for(&f, 1, 51);
	other = wait_for(&f, 2, 50);
	uncapped = wait_for(&f, 0, 50);
	limited_release(&f, &held[LIMIT - 1]);
	cr_assert(limited_is_granted(&f, &other));
	limited_release(&f, &held[LIMIT - 2]);
	cr_assert(limited_is_granted(&f, &uncapped));
	cr_assert_not(limited_is_granted(&f, &full[0]));
	/* A place of the host's: the first of its own. */
	limited_release(&f, &held[2]);
	cr_assert(limited_is_granted(&f, &full[0]));
	cr_assert_not(limited_is_granted(&f, &full[1]));
	limited_close(&f);
}

Test(limiter_caps, a_host_with_room_still_has_full_partitions)
{
	struct fixture f;
	struct limiter_ticket in_one, waits, passes;

	open_with_cap(&f, 1);
	f.config.host_cap = 2;
	in_one = take(&f, 1, 7);
	waits = wait_for(&f, 1, 7);
	passes = take(&f, 1, 8);
	/* Both are full now; the partition alone becomes free, then both. */
	limited_release(&f, &in_one);
	cr_assert(limited_is_granted(&f, &waits));
	cr_assert_eq(limited_collect(&f, &waits), OK);
	in_one = wait_for(&f, 1, 9);
	limited_release(&f, &passes);
	cr_assert(limited_is_granted(&f, &in_one));
	limited_close(&f);
}

Test(limiter_caps, a_partition_belongs_to_its_host)
{
	struct fixture f;

	open_with_cap(&f, 1);
	(void)take(&f, 1, 7);
	(void)take(&f, 2, 7);
	(void)wait_for(&f, 1, 7);
	limited_close(&f);
}

Test(limiter_caps, a_throttled_partition_has_the_cap_of_its_newest_request)
{
	struct fixture f;
	struct limiter_ticket held[2], waits[3];
	struct limiter_request request = limited_request(7);

	open_with_cap(&f, CAP);
	held[0] = take(&f, 0, 7);
	held[1] = take(&f, 0, 7);
	request.partition_cap = 1;
	for (unsigned i = 0; i < 3; i++) {
		request.worker = limiter_worker(i, 1);
		waits[i] = limited_waits(&f, &request);
	}
	limited_release(&f, &held[0]);
	cr_assert_eq(f.told, 0);
	limited_release(&f, &held[1]);
	cr_assert_eq(f.told, 1);
	cr_assert(limited_is_granted(&f, &waits[0]));
	/* The throttle is over: those who wait go first. */
	request.partition_cap = 0;
	request.worker = limiter_worker(3, 1);
	held[0] = limited_waits(&f, &request);
	cr_assert_eq(f.told, 1u << 1 | 1u << 2);
	cr_assert(limited_is_granted(&f, &waits[2]));
	cr_assert_not(limited_is_granted(&f, &held[0]));
	limited_close(&f);
}

/* 16 permits, 4 of them reserved, a cap of 3: headroom below 9. */
Test(limiter_caps, a_marked_call_may_exceed_the_cap_while_much_is_idle)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits;
	struct limiter_request request = limited_request(7);

	open_with_cap(&f, CAP);
	request.marked = true;
	for (unsigned i = 0; i < 9; i++) {
		held[i] = limited_granted(&f, &request);
	}
	waits = limited_waits(&f, &request);
	(void)wait_for(&f, 0, 7);
	request.class = LIMITER_BACKGROUND;
	limited_refused(&f, &request, LIMITER_BACKGROUND_SHED);
	held[9] = take(&f, 0, 8);
	limited_release(&f, &held[0]);
	cr_assert_not(limited_is_granted(&f, &waits), "9 are out still");
	limited_release(&f, &held[1]);
	cr_assert(limited_is_granted(&f, &waits));
	cr_assert_eq(f.limiter.state->waiting, 1, "the other is not marked");
	limited_close(&f);
}

Test(limiter_caps, a_marked_call_in_a_full_host_waits)
{
	struct fixture f;
	struct limiter_ticket held[2], waits;
	struct limiter_request request = limited_request(7);

	open_with_cap(&f, 1);
	f.config.host_cap = 2;
	request.marked = true;
	request.host = 1;
	held[0] = limited_granted(&f, &request);
	held[1] = limited_granted(&f, &request);
	waits = limited_waits(&f, &request);
	limited_release(&f, &held[0]);
	cr_assert(limited_is_granted(&f, &waits));
	limited_close(&f);
}

Test(limiter_caps, a_raised_cap_lets_waiters_run_after_a_rebuild)
{
	struct fixture f;
	struct limiter_ticket waits[2];

	open_with_cap(&f, 1);
	(void)take(&f, 0, 7);
	waits[0] = wait_for(&f, 0, 7);
	waits[1] = wait_for(&f, 0, 7);
	f.config.partition_cap = 2;
	limited_rebuild(&f);
	cr_assert_eq(f.told, 1u << 1);
	cr_assert(limited_is_granted(&f, &waits[0]));
	cr_assert_not(limited_is_granted(&f, &waits[1]));
	f.config.partition_cap = 0;
	limited_rebuild(&f);
	cr_assert(limited_is_granted(&f, &waits[1]));
	limited_close(&f);
}

#define MANY	5000u

Test(limiter_caps, thousands_of_partitions_are_served_in_order)
{
	struct fixture f;
	struct limiter_ticket *waits = calloc(MANY, sizeof(*waits));
	struct limiter_ticket held[LIMIT];
	struct limiter_request request = limited_request(0);

	cr_assert_not_null(waits);
	limited_open(&f, LIMIT, MANY);
	for (unsigned i = 0; i < LIMIT; i++) {
		held[i] = take(&f, 0, 0);
	}
	for (unsigned i = 0; i < MANY; i++) {
		request.partition = 1000 + i;
		request.host = i % 7;
		request.worker = limiter_worker(i % LIMITER_WORKERS, 1);
		waits[i] = limited_waits(&f, &request);
	}
	cr_assert_eq(limited_faults(&f), 0);
	for (unsigned i = 0; i < MANY; i++) {
		limited_release(&f, i < LIMIT ? &held[i] : &waits[i - LIMIT]);
		cr_assert_eq(limiter_next_granted(&f.limiter,
		    limiter_worker(i % LIMITER_WORKERS, 1)), waits[i].place,
		    "waiter %u", i);
		cr_assert_eq(limited_collect(&f, &waits[i]), OK);
		if (i % 500 == 0) {
			cr_assert_eq(limited_faults(&f), 0);
		}
	}
	for (unsigned i = MANY - LIMIT; i < MANY; i++) {
		limited_release(&f, &waits[i]);
	}
	cr_assert_eq(f.limiter.state->in_flight, 0);
	cr_assert_eq(f.limiter.state->refused[LIMITER_QUEUE_FULL], 0);
	limited_close(&f);
	free(waits);
}
