/* SPDX-License-Identifier: ISC */

/*
 * Waiting: for whom there is a place, how it ends, who is told.
 */
#include "limiter.h"

#include <criterion/criterion.h>

#include "limiter_fixture.h"

#define LIMIT	8u

Test(limiter_queue, a_worker_takes_each_of_its_granted_places_once)
{
	struct fixture f;
	struct limiter_ticket held[4], waits[4];
	struct limiter_request request = limited_request(0);
	uint64_t worker = limiter_worker(63, 5);

	limited_open_limit(&f, 4);
	limited_fill(&f, held, 4);
	request.worker = worker;
	for (unsigned i = 0; i < 4; i++) {
		waits[i] = limited_waits(&f, &request);
	}
	cr_assert_eq(limiter_next_granted(&f.limiter, worker), 0);
	for (unsigned i = 0; i < 4; i++) {
		limited_release(&f, &held[i]);
	}
	cr_assert_eq(f.told, UINT64_C(1) << 63);
	/* Given up, or collected, before its worker got to it. */
	limiter_cancel(&f.limiter, &f.config, &waits[1], f.now, &f.told);
	cr_assert_eq(limited_collect(&f, &waits[2]), OK);
	cr_assert_eq(limiter_next_granted(&f.limiter, limiter_worker(62, 5)),
	    0);
	cr_assert_eq(limiter_next_granted(&f.limiter, worker),
	    waits[0].place);
	cr_assert_eq(limiter_next_granted(&f.limiter, worker),
	    waits[3].place);
	cr_assert_eq(limiter_next_granted(&f.limiter, worker), 0);
	cr_assert_eq(limited_collect(&f, &waits[0]), OK);
	cr_assert_eq(limited_collect(&f, &waits[3]), OK);
	cr_assert_eq(limited_collect(&f, &waits[3]), MISS);
	cr_assert_eq(f.limiter.state->in_flight, 3);
	limited_close(&f);
}

Test(limiter_queue, a_worker_is_not_given_places_of_its_earlier_life)
{
	struct fixture f;
	struct limiter_ticket held[2], old, new;
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, 2);
	limited_fill(&f, held, 2);
	request.worker = limiter_worker(3, 1);
	old = limited_waits(&f, &request);
	request.worker = limiter_worker(3, 2);
	new = limited_waits(&f, &request);
	limited_release(&f, &held[0]);
	limited_release(&f, &held[1]);
	cr_assert_eq(limiter_next_granted(&f.limiter, request.worker),
	    new.place);
	cr_assert_eq(limiter_next_granted(&f.limiter, request.worker), 0);
	cr_assert(limited_is_granted(&f, &old));
	f.dead_worker = limiter_worker(3, 1);
	limited_sweep(&f);
	cr_assert_eq(f.limiter.state->in_flight, 1);
	limited_close(&f);
}

Test(limiter_queue, a_full_queue_refuses)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits[4];
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, LIMIT);
	f.config.places = 4;
	limited_fill(&f, held, LIMIT);
	for (unsigned i = 0; i < 4; i++) {
		waits[i] = limited_waits(&f, &request);
	}
	limited_refused(&f, &request, LIMITER_QUEUE_FULL);
	limiter_cancel(&f.limiter, &f.config, &waits[2], f.now, &f.told);
	waits[2] = limited_waits(&f, &request);
	/* Cut to what there are. */
	f.config.places = UINT32_MAX;
	for (unsigned i = 4; i < 64; i++) {
		(void)limited_waits(&f, &request);
	}
	limited_refused(&f, &request, LIMITER_QUEUE_FULL);
	limited_close(&f);
}

Test(limiter_queue, who_was_granted_and_has_not_collected_is_not_in_it)
{
	struct fixture f;
	struct limiter_ticket held[2], waits[2], more[2];
	struct limiter_request request = limited_request(0);

	limited_open(&f, 2, 2);
	limited_fill(&f, held, 2);
	waits[0] = limited_waits(&f, &request);
	waits[1] = limited_waits(&f, &request);
	limited_refused(&f, &request, LIMITER_QUEUE_FULL);
	limited_release(&f, &held[0]);
	limited_release(&f, &held[1]);
	cr_assert_eq(f.limiter.state->uncollected, 2);
	more[0] = limited_waits(&f, &request);
	more[1] = limited_waits(&f, &request);
	limited_refused(&f, &request, LIMITER_QUEUE_FULL);
	cr_assert_eq(limited_faults(&f), 0);
	limited_rebuild(&f);
	cr_assert_eq(limited_faults(&f), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(limited_collect(&f, &waits[i]), OK);
		limited_release(&f, &waits[i]);
		cr_assert_eq(limited_collect(&f, &more[i]), OK);
	}
	limited_close(&f);
}

Test(limiter_queue, a_partition_has_no_more_than_its_share_of_the_queue)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT];
	struct limiter_request request = limited_request(7);

	limited_open_limit(&f, LIMIT);
	limited_fill(&f, held, LIMIT);
	for (unsigned i = 0; i < 64 / 4; i++) {
		(void)limited_waits(&f, &request);
	}
	limited_refused(&f, &request, LIMITER_PARTITION_QUEUE_FULL);
	request.partition = 8;
	(void)limited_waits(&f, &request);
	f.config.partition_places = 1;
	limited_refused(&f, &request, LIMITER_PARTITION_QUEUE_FULL);
	request.partition = 0;
	(void)limited_waits(&f, &request);
	(void)limited_waits(&f, &request);
	limited_close(&f);
}

Test(limiter_queue, a_small_queue_leaves_each_partition_a_few_places)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT];
	struct limiter_request request = limited_request(7);

	limited_open_limit(&f, LIMIT);
	f.config.places = LIMITER_PARTITION_CAP + 4;
	limited_fill(&f, held, LIMIT);
	for (unsigned i = 0; i < LIMITER_PARTITION_CAP; i++) {
		(void)limited_waits(&f, &request);
	}
	limited_refused(&f, &request, LIMITER_PARTITION_QUEUE_FULL);
	limited_close(&f);
}

Test(limiter_queue, what_a_client_holds_and_waits_for_counts_for_its_cap)
{
	struct fixture f;
	struct limiter_ticket held[4], holds, waits;
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, 4);
	f.config.client_cap = 2;
	limited_fill(&f, held, 3);
	request.client = 9;
	holds = limited_granted(&f, &request);
	waits = limited_waits(&f, &request);
	limited_refused(&f, &request, LIMITER_CLIENT_CAP);
	limited_release(&f, &held[0]);
	cr_assert(limited_is_granted(&f, &waits));
	limited_refused(&f, &request, LIMITER_CLIENT_CAP);
	cr_assert_eq(limited_collect(&f, &waits), OK);
	limited_refused(&f, &request, LIMITER_CLIENT_CAP);
	request.client = 10;
	(void)limited_waits(&f, &request);
	limited_release(&f, &holds);
	request.client = 9;
	(void)limited_waits(&f, &request);
	limited_close(&f);
}

Test(limiter_queue, a_call_that_waited_out_its_time_is_told)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits, last;
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, LIMIT);
	limited_fill(&f, held, LIMIT);
	request.wait_ms = 100;
	waits = limited_waits(&f, &request);
	request.wait_ms = UINT32_MAX;
	last = limited_waits(&f, &request);
	cr_assert_eq(waits.deadline_ms, f.now.ms + 100);
	cr_assert_eq(last.deadline_ms, f.now.ms + LIMITER_WAIT_MS);
	f.now.ms += 99;
	cr_assert_eq(limited_collect(&f, &waits), GROWING);
	f.now.ms += 1;
	cr_assert_eq(limited_collect(&f, &waits), TIMEOUT);
	cr_assert_eq(waits.refusal, LIMITER_QUEUE_TIMEOUT);
	cr_assert_eq(f.limiter.state->refused[LIMITER_QUEUE_TIMEOUT], 1);
	cr_assert_eq(limited_collect(&f, &waits), MISS);
	limited_release(&f, &held[0]);
	cr_assert(limited_is_granted(&f, &last), "the first one is gone");
	limited_close(&f);
}

Test(limiter_queue, what_was_granted_before_the_time_was_over_is_kept)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits;
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, LIMIT);
	limited_fill(&f, held, LIMIT);
	waits = limited_waits(&f, &request);
	f.now.ms = waits.deadline_ms - 1;
	limited_release(&f, &held[0]);
	f.now.ms = waits.deadline_ms + 1;
	cr_assert_eq(limited_collect(&f, &waits), OK);
	cr_assert_not_null(limiter_permit(&f.limiter, waits.permit,
	    waits.token));
	limited_close(&f);
}

Test(limiter_queue, who_gives_up_a_granted_place_passes_it_on)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], first, second;
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, LIMIT);
	limited_fill(&f, held, LIMIT);
	first = limited_waits(&f, &request);
	request.worker = limiter_worker(5, 1);
	second = limited_waits(&f, &request);
	limited_release(&f, &held[0]);
	cr_assert(limited_is_granted(&f, &first));
	f.told = 0;
	limiter_cancel(&f.limiter, &f.config, &first, f.now, &f.told);
	cr_assert_eq(f.told, 1u << 5);
	cr_assert(limited_is_granted(&f, &second));
	cr_assert_eq(limiter_next_granted(&f.limiter, limiter_worker(1, 1)),
	    0);
	cr_assert_eq(f.limiter.state->in_flight, LIMIT);
	limited_close(&f);
}
