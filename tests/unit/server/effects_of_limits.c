/* SPDX-License-Identifier: ISC */

/*
 * What the options of the limiter do.
 */
#include "effects_fixture.h"

#include <criterion/criterion.h>

static uint32_t
calls_at_once(struct trial *trial)
{
	return effect_count(trial, effect_request(), true, ORIGIN_GRANTED);
}

static uint32_t
waiters(struct trial *trial)
{
	struct origin_request request = effect_request();

	(void)calls_at_once(trial);
	request.wait_ms = 1000;
	return effect_count(trial, request, false, ORIGIN_WAIT);
}

static uint32_t
longest_wait_ms(struct trial *trial)
{
	struct origin_request request = effect_request();
	struct origin_ticket ticket;

	(void)calls_at_once(trial);
	request.wait_ms = UINT32_MAX;
	cr_assert_eq(origin_acquire(&trial->origin, &request, 0, trial->now,
	    &ticket), ORIGIN_WAIT);
	return (uint32_t)(ticket.deadline_ms - trial->now.ms);
}

static uint32_t
calls_of_a_partition(struct trial *trial)
{
	struct origin_request request = effect_request();

	request.partition = PARTITION;
	return effect_count(trial, request, false, ORIGIN_GRANTED);
}

static uint32_t
waiters_of_a_partition(struct trial *trial)
{
	struct origin_request request = effect_request();

	(void)calls_of_a_partition(trial);
	request.partition = PARTITION;
	request.wait_ms = 1000;
	return effect_count(trial, request, false, ORIGIN_WAIT);
}

static uint32_t
calls_to_a_host(struct trial *trial)
{
	struct origin_request request = effect_request();

	request.host = 5;
	return effect_count(trial, request, true, ORIGIN_GRANTED);
}

static uint32_t
calls_of_a_client(struct trial *trial)
{
	struct origin_request request = effect_request();

	request.client = OWNER;
	return effect_count(trial, request, true, ORIGIN_GRANTED);
}

static uint32_t
marked_calls_of_a_partition(struct trial *trial)
{
	struct origin_request request = effect_request();

	request.partition = PARTITION;
	request.marked = true;
	return effect_count(trial, request, false, ORIGIN_GRANTED);
}

static uint32_t
background_calls(struct trial *trial)
{
	struct origin_request request = effect_request();

	request.class = LIMITER_BACKGROUND;
	return effect_count(trial, request, true, ORIGIN_GRANTED);
}

static uint32_t
uploads_at_once(struct trial *trial)
{
	struct origin_request request = effect_request();

	request.upload = true;
	return effect_count(trial, request, true, ORIGIN_GRANTED);
}

static uint32_t
uploads_that_wait(struct trial *trial)
{
	struct origin_request request = effect_request();

	(void)uploads_at_once(trial);
	request.upload = true;
	request.wait_ms = 1000;
	return effect_count(trial, request, true, ORIGIN_WAIT);
}

static uint32_t
longest_call_ms(struct trial *trial)
{
	struct origin_request request = effect_request();
	struct origin_ticket ticket;
	unsigned events;

	cr_assert_eq(origin_acquire(&trial->origin, &request, 0, trial->now,
	    &ticket), ORIGIN_GRANTED);
	for (uint32_t ms = 0; ms <= 3600 * 1000; ms += 500) {
		trial->now.ms += 500;
		cr_assert(origin_sweep(&trial->origin, trial->now, &events));
		if (origin_release(&trial->origin, ticket.permit, false,
		    ticket.token, OWNER + 1, BREAKER_NEUTRAL, 0, trial->now,
		    &events) == LEASE_LOST &&
		    trial->origin.limiter.state->in_flight == 0) {
			return ms + 500;
		}
	}
	return NEVER;
}

const struct effect effects_of_limits[] = {
	{ "limit", "limit = 10", calls_at_once, 64, 64, 10, 10 },
	{ "queue", "queue = 7", waiters, 8192, 8192, 7, 7 },
	{ "queue_wait", "queue_wait = 700ms", longest_wait_ms, 5000, 5000,
	    700, 700 },
	{ "partition_limit", "partition_limit = 3", calls_of_a_partition,
	    16, 16, 3, 3 },
	{ "partition_limit", "partition_limit = 0", calls_of_a_partition,
	    16, 16, 64, 64 },
	{ "partition_queue", "partition_queue = 9", waiters_of_a_partition,
	    2048, 2048, 9, 9 },
	{ "host_limit", "host_limit = 5", calls_to_a_host, 64, 64, 5, 5 },
	{ "client_limit", "client_limit = 6", calls_of_a_client, 64, 64, 6,
	    6 },
	{ "headroom", "headroom = 28", marked_calls_of_a_partition, 32, 32,
	    20, 20 },
	{ "reserve", "reserve = 50", background_calls, 48, 48, 32, 32 },
	{ "upload_share", "upload_share = 50", uploads_at_once, 16, 16, 32,
	    32 },
	{ "upload_share", "upload_share = 1", uploads_that_wait, 2048, 2048,
	    82, 82 },
	{ "timeout", "timeout = 2s", longest_call_ms, 30000, 30000, 2000,
	    2000 },
};
const size_t effects_of_limits_count = sizeof(effects_of_limits) /
    sizeof(effects_of_limits[0]);
