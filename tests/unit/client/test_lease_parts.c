/* SPDX-License-Identifier: ISC */

/*
 * From the structs of a caller to requests, and from answers back.
 */
#include "lease_parts.h"

#include "limiter.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

static const struct lease_ask plain_ask = { .seen_version = 0 };

static struct weir_lease
some_lease(void)
{
	return (struct weir_lease){
		.secret = { 3 | UINT64_C(9) << 32, 77, 88, 0 },
	};
}

Test(lease_parts, a_plain_lease_is_of_the_default_origin_and_times)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct request request;

	lease_make(&request, "key", 3, &options, &plain_ask);
	cr_assert_eq(request.type, FRAME_LEASE);
	cr_assert_str_eq(request.name, "default");
	cr_assert_eq(request.key_length, 3);
	cr_assert_eq(request.lease.flags, 0);
	cr_assert_eq(request.lease.lease_ms, 30000);
	cr_assert_eq(request.lease.wait_ms, 40000);
	cr_assert_eq(request.lease.seen_version, 0);
	cr_assert_eq(request.lease.partition, 0);
	cr_assert_eq(request.lease.host, 0);
	cr_assert_neq(request.lease.thread, 0);
}

Test(lease_parts, a_lease_says_all_that_the_options_say)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct lease_ask ask = {
		.seen_version = 7, .no_wait = true, .hits = 5,
	};
	struct request request;

	options.origin = (struct weir_origin){
		.name = "db", .partition = "p", .partition_length = 1,
		.host = "h", .host_length = 1, .background = 1, .upload = 1,
	};
	options.lease_ms = 11;
	options.wait_ms = 12;
	lease_make(&request, "key", 3, &options, &ask);
	cr_assert_str_eq(request.name, "db");
	cr_assert_eq(request.lease.flags,
	    WIRE_NO_WAIT | WIRE_BACKGROUND | WIRE_UPLOAD);
	cr_assert_eq(request.lease.lease_ms, 11);
	cr_assert_eq(request.lease.wait_ms, 12);
	cr_assert_eq(request.lease.seen_version, 7);
	cr_assert_eq(request.lease.hits, 5);
	cr_assert_neq(request.lease.partition, 0);
	cr_assert_neq(request.lease.host, 0);
	cr_assert_neq(request.lease.partition, request.lease.host);
}

static uint64_t
partition_of(const char *bytes, size_t length)
{
	struct weir_origin origin = {
		.partition = bytes, .partition_length = length,
	};
	struct request request;

	lease_make_permit(&request, &origin, 0);
	return request.lease.partition;
}

Test(lease_parts, equal_partitions_are_one_and_others_differ)
{
	char copy[] = "tenant 1";

	cr_assert_eq(partition_of("tenant 1", 8), partition_of(copy, 8));
	cr_assert_neq(partition_of("tenant 1", 8), partition_of(copy, 7));
	cr_assert_neq(partition_of("a\0b", 3), partition_of("a\0c", 3));
	cr_assert_eq(partition_of("tenant 1", 0), 0);
	cr_assert_eq(partition_of(NULL, 8), 0);
}

static void *
thread_of_request(void *arg)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct request request;

	lease_make(&request, "k", 1, &options, &plain_ask);
	*(uint32_t *)arg = request.lease.thread;
	return NULL;
}

Test(lease_parts, a_thread_keeps_its_number_and_no_other_has_it)
{
	uint32_t own, again, others[2];

	(void)thread_of_request(&own);
	(void)thread_of_request(&again);
	for (int i = 0; i < 2; i++) {
		pthread_t thread;

		cr_assert_eq(pthread_create(&thread, NULL,
		    thread_of_request, &others[i]), 0);
		cr_assert_eq(pthread_join(thread, NULL), 0);
	}
	cr_assert_eq(own, again);
	cr_assert_neq(own, others[0]);
	cr_assert_neq(own, others[1]);
	cr_assert_neq(others[0], others[1]);
	cr_assert_neq(others[0], 0);
}

Test(lease_parts, a_permit_without_a_wait_says_so)
{
	struct weir_origin origin = { .name = "db", .background = 1 };
	struct request request;

	lease_make_permit(&request, NULL, 0);
	cr_assert_eq(request.type, FRAME_PERMIT);
	cr_assert_str_eq(request.name, "default");
	cr_assert_eq(request.lease.flags, WIRE_NO_WAIT);
	cr_assert_null(request.key);
	lease_make_permit(&request, &origin, 250);
	cr_assert_str_eq(request.name, "db");
	cr_assert_eq(request.lease.flags, WIRE_BACKGROUND);
	cr_assert_eq(request.lease.wait_ms, 250);
	cr_assert_eq(request.lease.thread, 0);
}

/* As the page of the protocol lists them. */
Test(lease_parts, eight_statuses_have_an_answer_and_all_others_a_text)
{
	static const int with[] = { OK, LEAD, ALONE, SHED, CIRCUIT_OPEN,
	    FAILED, BACKING_OFF, TIMEOUT };
	unsigned count = 0;

	for (unsigned i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		cr_assert(lease_has_answer(with[i]), "%d", with[i]);
	}
	for (int status = -128; status < 128; status++) {
		count += lease_has_answer(status);
	}
	cr_assert_eq(count, 8);
}

Test(lease_parts, an_answer_of_another_length_makes_no_sense)
{
	struct wire_lease_answer given = { .token = 5, .code = -7 }, said;
	struct answer answer = { .status = LEAD };

	wire_lease_answer_encode(answer.body, &given);
	answer.length = WIRE_LEASE_ANSWER_BYTES;
	cr_assert(lease_read_answer(&answer, &said));
	cr_assert_eq(said.token, 5);
	cr_assert_eq(said.code, -7);
	for (unsigned i = 0; i < 3; i++) {
		answer.length = (uint32_t[]){ 0, WIRE_LEASE_ANSWER_BYTES - 1,
		    WIRE_LEASE_ANSWER_BYTES + 1 }[i];
		cr_assert_not(lease_read_answer(&answer, &said), "%u",
		    answer.length);
	}
	/* A text says nothing of a token. */
	answer.status = BUSY;
	cr_assert(lease_read_answer(&answer, &said));
	cr_assert_eq(said.token, 0);
	cr_assert_eq(said.code, 0);
}

Test(lease_parts, an_answer_fills_the_lease_and_a_reason_is_of_shed_alone)
{
	struct wire_lease_answer said = {
		.permit = { 3, 9, 77 }, .token = 88, .retry_after_ms = 250,
		.left_ms = 1000, .code = -7, .reason = LIMITER_QUEUE_FULL,
	};
	struct weir_lease lease;

	lease_put(&said, SHED, &lease);
	cr_assert_str_eq(lease.reason, "queue_full");
	cr_assert_eq(lease.retry_after_ms, 250);
	cr_assert_eq(lease.left_ms, 1000);
	cr_assert_eq(lease.code, -7);
	cr_assert_not(lease_is_alone(&lease));
	lease_put(&said, CIRCUIT_OPEN, &lease);
	cr_assert_str_eq(lease.reason, "");
	said.token = 0;
	lease_put(&said, ALONE, &lease);
	cr_assert(lease_is_alone(&lease));
}

Test(lease_parts, every_reason_has_a_name_of_its_own)
{
	static const char *const names[] = { "queue_full",
	    "partition_queue_full", "client_cap", "background_shed",
	    "no_wait", "queue_timeout" };
	struct wire_lease_answer said = { .reason = 0 };
	struct weir_permit permit;

	for (uint32_t reason = 1; reason < LIMITER_REFUSALS; reason++) {
		said.reason = reason;
		lease_put_permit(&said, SHED, &permit);
		cr_assert_str_eq(permit.reason, names[reason - 1]);
	}
	/* Of a later daemon. */
	for (unsigned i = 0; i < 2; i++) {
		said.reason = i == 0 ? LIMITER_REFUSALS : UINT32_MAX;
		lease_put_permit(&said, SHED, &permit);
		cr_assert_not_null(permit.reason);
	}
}

Test(lease_parts, options_of_another_size_or_without_their_tags_are_unsound)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct weir_tag tag = { "t", 1 };

	cr_assert(lease_options_are_sound(&options));
	cr_assert_not(lease_options_are_sound(NULL));
	options.size--;
	cr_assert_not(lease_options_are_sound(&options));
	options.size++;
	options.tag_count = 1;
	cr_assert_not(lease_options_are_sound(&options));
	options.tags = &tag;
	cr_assert(lease_options_are_sound(&options));
	options.jitter_percent = 100;
	cr_assert(lease_options_are_sound(&options));
	options.jitter_percent = 101;
	cr_assert_not(lease_options_are_sound(&options));
}

Test(lease_parts, a_fill_takes_the_lease_and_the_second_has_none)
{
	struct weir_lease lease = some_lease();
	struct request request;
	int result = 1;

	cr_assert(lease_make_fill(&request, &lease, "k", 1, "value", 5, NULL,
	    &result));
	cr_assert_eq(result, OK);
	cr_assert_eq(request.type, FRAME_FILL);
	cr_assert_eq(request.end.token, 88);
	cr_assert_eq(request.end.permit.origin, 3);
	cr_assert_eq(request.end.permit.number, 9);
	cr_assert_eq(request.end.permit.token, 77);
	cr_assert_eq(request.end.outcome, WEIR_SUCCESS);
	cr_assert_eq(request.value_length, 5);
	cr_assert_not(lease_make_fill(&request, &lease, "k", 1, "value", 5,
	    NULL, &result));
	cr_assert_eq(result, LEASE_LOST);
}

Test(lease_parts, options_without_sense_leave_the_lease_as_it_is)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	struct weir_tag tags[33] = { { "t", 1 } };
	struct weir_lease lease = some_lease(), before = lease;
	struct request request;
	int result;

	options.size = 1;
	cr_assert_not(lease_make_fill(&request, &lease, "k", 1, "v", 1,
	    &options, &result));
	cr_assert_eq(result, INVALID);
	cr_assert_arr_eq(&lease, &before, sizeof(lease));
	options = (struct weir_set_options)WEIR_SET_OPTIONS_INIT;
	options.tags = tags;
	options.tag_count = 33;
	cr_assert_not(lease_make_fill(&request, &lease, "k", 1, "v", 1,
	    &options, &result));
	cr_assert_eq(result, TOO_MANY_TAGS);
	cr_assert_arr_eq(&lease, &before, sizeof(lease));
}

Test(lease_parts, a_failure_says_outcome_code_and_back_off)
{
	struct weir_lease lease = some_lease();
	struct request request;

	cr_assert(lease_make_end(&request, FRAME_FAIL, &lease, "k", 1,
	    WEIR_NEUTRAL, -12, 0));
	cr_assert_eq(request.end.outcome, WEIR_NEUTRAL);
	cr_assert_eq(request.end.code, -12);
	cr_assert_eq(request.end.note_ms, 100);
	cr_assert_eq(request.end.token, 88);
	lease = some_lease();
	cr_assert(lease_make_end(&request, FRAME_FAIL, &lease, "k", 1,
	    WEIR_FAILURE, 0, 250));
	cr_assert_eq(request.end.note_ms, 250);
	/* No mark is no mark: 0 is no default there. */
	lease = some_lease();
	cr_assert(lease_make_end(&request, FRAME_UNCACHEABLE, &lease, "k", 1,
	    WEIR_SUCCESS, 0, 0));
	cr_assert_eq(request.end.note_ms, 0);
}

Test(lease_parts, what_was_given_goes_back_once)
{
	struct weir_lease lease = some_lease();
	struct weir_permit permit = { .secret = { 3 | UINT64_C(9) << 32, 7 } };
	struct request request;

	/* ALONE: a permit, and no lease. */
	lease.secret[SECRET_TOKEN] = 0;
	cr_assert(lease_make_end(&request, FRAME_UNCACHEABLE, &lease, "k", 1,
	    WEIR_SUCCESS, 0, 0));
	cr_assert_eq(request.end.token, 0);
	cr_assert_eq(request.end.permit.number, 9);
	cr_assert_not(lease_make_end(&request, FRAME_UNCACHEABLE, &lease,
	    "k", 1, WEIR_SUCCESS, 0, 0));
	cr_assert(lease_make_release(&request, &permit, WEIR_FAILURE));
	cr_assert_eq(request.type, FRAME_RELEASE);
	cr_assert_eq(request.end.permit.token, 7);
	cr_assert_eq(request.end.outcome, WEIR_FAILURE);
	cr_assert_not(lease_make_release(&request, &permit, WEIR_FAILURE));
}
