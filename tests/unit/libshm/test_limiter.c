/* SPDX-License-Identifier: ISC */

/*
 * Who is let through, who is next, who is refused.
 */
#include "limiter.h"

#include <criterion/criterion.h>

#include "limiter_fixture.h"

#define LIMIT	8u

Test(limiter, calls_up_to_the_limit_are_let_through)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT];
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, LIMIT);
	limited_fill(&f, held, LIMIT);
	request.wait_ms = 0;
	limited_refused(&f, &request, LIMITER_NO_WAIT);
	cr_assert_eq(f.limiter.state->in_flight, LIMIT);
	limited_release(&f, &held[3]);
	held[3] = limited_granted(&f, &request);
	limited_refused(&f, &request, LIMITER_NO_WAIT);
	limited_close(&f);
}

Test(limiter, a_permit_is_released_once)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], again;
	struct limiter_request request = limited_request(7);
	uint64_t told = 0;

	limited_open_limit(&f, LIMIT);
	limited_fill(&f, held, 1);
	limited_release(&f, &held[0]);
	again = limited_granted(&f, &request);
	cr_assert_eq(again.permit, held[0].permit, "the slot is taken again");
	cr_assert_not(limiter_release(&f.limiter, &f.config, held[0].permit,
	    held[0].token, f.now, &told));
	cr_assert_null(limiter_permit(&f.limiter, held[0].permit,
	    held[0].token));
	cr_assert_null(limiter_permit(&f.limiter, 0, 0));
	cr_assert_null(limiter_permit(&f.limiter, UINT32_MAX, again.token));
	cr_assert_eq(f.limiter.state->in_flight, 1);
	limited_close(&f);
}

Test(limiter, the_callers_words_of_a_permit_begin_as_zero)
{
	struct fixture f;
	struct limiter_request request = limited_request(7);
	struct limiter_ticket ticket;
	struct limiter_permit *permit;

	limited_open_limit(&f, LIMIT);
	for (int i = 0; i < 2; i++) {
		ticket = limited_granted(&f, &request);
		permit = limiter_permit(&f.limiter, ticket.permit,
		    ticket.token);
		cr_assert_eq(permit->generation, 0);
		cr_assert_eq(permit->breaker, 0);
		cr_assert_eq(permit->probe, 0);
		cr_assert_eq(permit->started_us, 0);
		permit->generation = 3;
		permit->breaker = 4;
		permit->probe = 5;
		permit->started_us = 6;
		limited_release(&f, &ticket);
	}
	limited_close(&f);
}

Test(limiter, requests_without_owner_or_worker_are_invalid)
{
	struct fixture f;
	struct limiter_request request = limited_request(7);
	struct limiter_ticket ticket;

	limited_open_limit(&f, LIMIT);
	request.owner = 0;
	cr_assert_eq(limited_acquire(&f, &request, &ticket), INVALID);
	request.owner = 1;
	request.worker = limiter_worker(LIMITER_WORKERS, 1);
	cr_assert_eq(limited_acquire(&f, &request, &ticket), INVALID);
	cr_assert_eq(limiter_next_granted(&f.limiter, request.worker), 0);
	cr_assert_eq(f.limiter.state->in_flight, 0);
	limited_close(&f);
}

Test(limiter, waiters_are_granted_in_the_order_of_their_arrival)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits[2 * LIMIT];
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, LIMIT);
	limited_fill(&f, held, LIMIT);
	for (unsigned i = 0; i < 2 * LIMIT; i++) {
		request.partition = i % 3;
		request.worker = limiter_worker(i, 9);
		waits[i] = limited_waits(&f, &request);
	}
	for (unsigned i = 0; i < 2 * LIMIT; i++) {
		limited_release(&f, i < LIMIT ? &held[i] : &waits[i - LIMIT]);
		cr_assert_eq(f.told, UINT64_C(1) << i, "waiter %u", i);
		cr_assert_eq(limited_collect(&f, &waits[i]), OK);
		cr_assert_eq(f.limiter.state->in_flight, LIMIT);
		cr_assert_eq(limited_faults(&f), 0);
	}
	cr_assert_eq(f.limiter.state->waited, 2 * LIMIT);
	limited_close(&f);
}

Test(limiter, background_calls_leave_the_reserve_alone_and_never_wait)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT];
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, LIMIT);
	request.class = LIMITER_BACKGROUND;
	for (unsigned i = 0; i < LIMIT - LIMIT / 4; i++) {
		held[i] = limited_granted(&f, &request);
	}
	limited_refused(&f, &request, LIMITER_BACKGROUND_SHED);
	request.class = LIMITER_FOREGROUND;
	for (unsigned i = LIMIT - LIMIT / 4; i < LIMIT; i++) {
		held[i] = limited_granted(&f, &request);
	}
	limited_release(&f, &held[0]);
	request.class = LIMITER_BACKGROUND;
	limited_refused(&f, &request, LIMITER_BACKGROUND_SHED);
	limited_close(&f);
}

Test(limiter, the_reserve_is_one_permit_at_least)
{
	struct fixture f;
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, 1);
	request.class = LIMITER_BACKGROUND;
	limited_refused(&f, &request, LIMITER_BACKGROUND_SHED);
	f.config.reserve_pct = 0;
	(void)limited_granted(&f, &request);
	limited_close(&f);
}

Test(limiter, a_lowered_limit_drains_and_a_raised_one_grants)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits[LIMIT];
	struct limiter_request request = limited_request(0);

	limited_open_limit(&f, LIMIT);
	limited_fill(&f, held, LIMIT);
	for (unsigned i = 0; i < LIMIT; i++) {
		request.worker = limiter_worker(i, 1);
		waits[i] = limited_waits(&f, &request);
	}
	f.config.limit = LIMIT / 2;
	for (unsigned i = 0; i < LIMIT / 2; i++) {
		limited_release(&f, &held[i]);
		cr_assert_eq(f.told, 0);
	}
	limited_release(&f, &held[LIMIT / 2]);
	cr_assert_eq(f.told, 1);
	cr_assert(limited_is_granted(&f, &waits[0]));
	f.config.limit = LIMIT;
	f.told = 0;
	limiter_grant(&f.limiter, &f.config, f.now, &f.told);
	cr_assert_eq(f.told, 0x1e);
	cr_assert_eq(f.limiter.state->in_flight, LIMIT);
	/* Cut to what there is. */
	f.config.limit = UINT32_MAX;
	limiter_grant(&f.limiter, &f.config, f.now, &f.told);
	cr_assert_eq(f.limiter.state->waiting, 0);
	for (unsigned i = 2 * LIMIT - LIMIT / 2 - 1; i < 4 * LIMIT; i++) {
		(void)limited_granted(&f, &request);
	}
	request.wait_ms = 0;
	limited_refused(&f, &request, LIMITER_NO_WAIT);
	limited_close(&f);
}

Test(limiter, refusals_have_names)
{
	for (unsigned i = 0; i < LIMITER_REFUSALS; i++) {
		cr_assert_not_null(limiter_refusal_name(i));
		for (unsigned j = 0; j < i; j++) {
			cr_assert_str_neq(limiter_refusal_name(i),
			    limiter_refusal_name(j));
		}
	}
	cr_assert_str_eq(limiter_refusal_name(LIMITER_REFUSALS), "unknown");
}

Test(limiter, memory_of_no_sensible_size_is_refused)
{
	cr_assert_eq(limiter_bytes(0, 10), 0);
	cr_assert_eq(limiter_bytes(1u << 30, 10), 0);
	cr_assert_eq(limiter_bytes(10, 1u << 30), 0);
	cr_assert_neq(limiter_bytes(1, 0), 0);
}
