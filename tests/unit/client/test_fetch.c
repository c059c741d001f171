/* SPDX-License-Identifier: ISC */

/*
 * Get or compute: where a value comes from, what is said of it, and what the
 * daemon is told.  test_fetch_stale.c has what is served past its time.
 */
#include "weir.h"

#include "fetch_fixture.h"
#include "lease_send.h"
#include "layout.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

TestSuite(fetch, .init = fetch_begin, .fini = fetch_end);

Test(fetch, the_first_computes_and_the_second_hits)
{
	struct source source = fetch_source("value");

	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	fetch_expect(5, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "value");
	cr_assert_eq(source.released, 1);
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	fetch_expect(5, WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "value");
	cr_assert_eq(source.calls, 1);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 2);
	cr_assert_eq(fake_lease_asked(&fetch_daemon, 0).lease.seen_version, 0);
}

Test(fetch, nothing_more_to_say_may_be_null)
{
	struct source source = fetch_source("value");

	for (unsigned i = 0; i < 2; i++) {
		memset(fetch_buffer, 0, sizeof(fetch_buffer));
		cr_assert_eq(weir_fetch(fetch_handle, "k", 1, fetch_buffer,
		    sizeof(fetch_buffer), NULL, fetch_compute_source, &source,
		    NULL), WEIR_OK);
		cr_assert_str_eq(fetch_buffer, "value");
	}
	source.result = WEIR_FAILED;
	cr_assert_eq(weir_fetch(fetch_handle, "l", 1, fetch_buffer, 16, NULL,
	    fetch_compute_source, &source, NULL), WEIR_FAILED);
	source.result = WEIR_MISS;
	cr_assert_eq(weir_fetch(fetch_handle, "l", 1, fetch_buffer, 16, NULL,
	    fetch_compute_source, &source, NULL), WEIR_MISS);
}

/* What another process does, between the answer and the look. */
static void *
fill_and_let_go(void *arg)
{
	fake_lease_wait_held(&fetch_daemon, 1);
	(void)fake_daemon_store(&fetch_daemon, "k", "theirs", arg);
	fake_lease_let_go(&fetch_daemon, 0, WEIR_OK);
	return NULL;
}

Test(fetch, a_value_that_another_computes_is_waited_for)
{
	struct source source = fetch_source("mine");
	struct fake_life life = { .soft_in_ms = 0 };
	pthread_t thread;

	fake_lease_tell(&fetch_daemon, &(struct fake_told){ .how = FAKE_HELD });
	cr_assert_eq(pthread_create(&thread, NULL, fill_and_let_go, &life),
	    0);
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	fetch_expect(6, WEIR_FROM_WAITED, WEIR_OK, WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "theirs");
	cr_assert_eq(source.calls, 0);
}

Test(fetch, another_may_find_that_there_is_no_such_thing)
{
	struct source source = fetch_source("mine");
	struct fake_life life = { .flags = ENTRY_NEGATIVE };
	pthread_t thread;

	fake_lease_tell(&fetch_daemon, &(struct fake_told){ .how = FAKE_HELD });
	cr_assert_eq(pthread_create(&thread, NULL, fill_and_let_go, &life),
	    0);
	cr_assert_eq(fetch_k(NULL, &source), WEIR_MISS);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(fetch_said.source, WEIR_FROM_WAITED);
	cr_assert_eq(source.calls, 0);
}

Test(fetch, a_pool_that_keeps_nothing_does_not_hold_a_fetch_for_ever)
{
	struct source source = fetch_source("mine");

	for (unsigned i = 0; i < FAKE_TOLD_MAX; i++) {
		fake_lease_tell_status(&fetch_daemon, WEIR_OK);
	}
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	cr_assert_eq(fetch_said.source, WEIR_FROM_COMPUTED);
	cr_assert_neq(fetch_said.stored, WEIR_OK);
	cr_assert_lt(fake_lease_asked_count(&fetch_daemon), FAKE_TOLD_MAX);
}

Test(fetch, every_refusal_without_a_value_is_the_result)
{
	static const int statuses[] = { WEIR_SHED, WEIR_CIRCUIT_OPEN,
	    WEIR_FAILED, WEIR_BACKING_OFF, WEIR_TIMEOUT,
	    WEIR_WOULD_DEADLOCK, WEIR_BUSY };
	struct fake_told told = { .said = {
		.retry_after_ms = 250, .code = -7, .reason = 2,
	} };
	struct source source = fetch_source("mine");

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(int); i++) {
		told.status = statuses[i];
		fake_lease_tell(&fetch_daemon, &told);
		cr_assert_eq(fetch_k(NULL, &source), statuses[i]);
		fetch_expect(0, WEIR_FROM_NONE, statuses[i], WEIR_OK);
		cr_assert_eq(fetch_said.code, i < 5 ? -7 : 0);
		cr_assert_eq(fetch_said.retry_after_ms, i < 5 ? 250 : 0);
		cr_assert_str_eq(fetch_said.reason, statuses[i] == WEIR_SHED ?
		    "partition_queue_full" : "");
	}
	cr_assert_eq(source.calls, 0);
}

Test(fetch, no_wait_is_said_to_the_daemon)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("mine");

	options.no_wait = 1;
	fake_lease_tell_status(&fetch_daemon, WEIR_BUSY);
	cr_assert_eq(fetch_k(&options, &source), WEIR_BUSY);
	cr_assert_eq(fake_lease_asked(&fetch_daemon, 0).lease.flags,
	    WIRE_NO_WAIT);
}

Test(fetch, alone_computes_its_own_and_gives_the_permit_back)
{
	struct source source = fetch_source("mine");
	struct fake_asked asked;

	fake_lease_tell_status(&fetch_daemon, WEIR_ALONE);
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	fetch_expect(4, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_ALONE);
	asked = fake_lease_asked(&fetch_daemon, 1);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_eq(asked.end.permit.number, 1);
	cr_assert_eq(weir_get(fetch_handle, "k", 1, fetch_buffer, 4, NULL,
	    NULL), WEIR_MISS);
}

Test(fetch, what_may_not_be_shared_is_not_stored_and_marked_at_most_60_s)
{
	struct source source = fetch_source("mine");
	struct fake_asked asked;

	source.said.uncacheable_ms = 5000;
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	fetch_expect(4, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_ALONE);
	asked = fake_lease_asked(&fetch_daemon, 1);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_eq(asked.end.note_ms, 5000);
	cr_assert_neq(asked.end.token, 0);
	source.said.uncacheable_ms = 60001;
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	cr_assert_eq(fake_lease_asked(&fetch_daemon, 3).end.note_ms, 60000);
}

Test(fetch, a_failure_is_told_with_its_code_and_its_outcome)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("mine");
	struct fake_asked asked;

	source.result = -99;	/* whatever it is */
	source.said.code = 42;
	options.back_off_ms = 700;
	cr_assert_eq(fetch_k(&options, &source), WEIR_FAILED);
	fetch_expect(0, WEIR_FROM_NONE, WEIR_FAILED, WEIR_OK);
	cr_assert_eq(fetch_said.code, 42);
	cr_assert_eq(source.released, 1);
	asked = fake_lease_asked(&fetch_daemon, 1);
	cr_assert_eq(asked.type, FRAME_FAIL);
	cr_assert_eq(asked.end.outcome, WEIR_FAILURE);
	cr_assert_eq(asked.end.code, 42);
	cr_assert_eq(asked.end.note_ms, 700);
}

Test(fetch, a_value_without_bytes_that_has_a_length_is_a_failure)
{
	struct source source = { .said = { .length = 5 } };

	cr_assert_eq(fetch_k(NULL, &source), WEIR_FAILED);
	cr_assert_eq(fake_lease_asked(&fetch_daemon, 1).type, FRAME_FAIL);
}

Test(fetch, no_such_thing_is_kept_for_the_negative_ttl)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = { .result = WEIR_MISS };
	struct fake_asked asked;

	options.negative_ttl_ms = 60000;
	cr_assert_eq(fetch_k(&options, &source), WEIR_MISS);
	fetch_expect(0, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
	asked = fake_lease_asked(&fetch_daemon, 1);
	cr_assert_eq(asked.type, FRAME_FILL);
	cr_assert_eq(asked.set.flags, ENTRY_NEGATIVE);
	cr_assert_eq(asked.set.ttl_ms, 60000);
	cr_assert_eq(fetch_k(&options, &source), WEIR_MISS);
	fetch_expect(0, WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
	cr_assert_eq(source.calls, 1);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 2);
}

Test(fetch, no_such_thing_without_a_negative_ttl_is_not_kept)
{
	struct source source = { .result = WEIR_MISS };
	struct fake_asked asked;

	for (unsigned i = 1; i <= 2; i++) {
		cr_assert_eq(fetch_k(NULL, &source), WEIR_MISS);
		fetch_expect(0, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_ALONE);
		cr_assert_eq(source.calls, i);
	}
	asked = fake_lease_asked(&fetch_daemon, 1);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_eq(asked.end.note_ms, 0);
}

Test(fetch, a_value_that_could_not_be_stored_is_served_all_the_same)
{
	static const int ends[] = { WEIR_LEASE_LOST, WEIR_CHANGED, WEIR_FULL,
	    WEIR_BUSY, WEIR_TOO_LARGE };
	static char large[LEASE_SEND_MAX + 2], buffer[sizeof(large)];
	struct source short_source = fetch_source("mine");
	struct source source;

	memset(large, 'x', sizeof(large) - 1);
	source = fetch_source(large);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(int); i++) {
		fake_lease_tell_end(&fetch_daemon, ends[i], FAKE_AT_ONCE);
		cr_assert_eq(weir_fetch(fetch_handle, "k", 1, buffer,
		    sizeof(buffer), NULL, fetch_compute_source, &source,
		    &fetch_said), WEIR_OK);
		fetch_expect(strlen(large), WEIR_FROM_COMPUTED, WEIR_OK,
		    ends[i]);
		cr_assert_str_eq(buffer, large);
		/* A short one is sent, and not asked after. */
		fake_lease_tell_end(&fetch_daemon, ends[i], FAKE_AT_ONCE);
		cr_assert_eq(fetch_k(NULL, &short_source), WEIR_OK);
		fetch_expect(4, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
		cr_assert_str_eq(fetch_buffer, "mine");
	}
}

Test(fetch, what_is_filled_and_gone_time_and_again_is_computed_with_a_permit)
{
	struct source source = fetch_source("mine");
	unsigned count;

	for (int i = 0; i < 8; i++) {
		fake_lease_tell_status(&fetch_daemon, WEIR_OK);
	}
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	fetch_expect(4, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_ALONE);
	cr_assert_str_eq(fetch_buffer, "mine");
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_LEASE), 8);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_PERMIT), 1);
	count = fake_lease_asked_count(&fetch_daemon);
	cr_assert_eq(fake_lease_asked(&fetch_daemon, count - 1).type,
	    FRAME_UNCACHEABLE);
	cr_assert_neq(fake_lease_asked(&fetch_daemon, count -
	    1).end.permit.number, 0);
}

Test(fetch, what_is_filled_and_gone_is_not_computed_when_the_origin_is_shut)
{
	struct source source = fetch_source("mine");

	for (int i = 0; i < 8; i++) {
		fake_lease_tell_status(&fetch_daemon, WEIR_OK);
	}
	fake_lease_tell_status(&fetch_daemon, WEIR_CIRCUIT_OPEN);
	cr_assert_eq(fetch_k(NULL, &source), WEIR_CIRCUIT_OPEN);
	cr_assert_eq(source.calls, 0);
}

Test(fetch, tags_that_are_too_many_end_the_lease_too)
{
	static struct weir_tag tags[33];
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("mine");
	struct fake_asked asked;

	for (unsigned i = 0; i < 33; i++) {
		tags[i] = (struct weir_tag){ "tag", 3 };
	}
	options.tags = tags;
	options.tag_count = 33;
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(4, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_TOO_MANY_TAGS);
	asked = fake_lease_asked(&fetch_daemon, 1);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_neq(asked.end.token, 0);
}

Test(fetch, a_value_longer_than_the_buffer_says_what_it_needs)
{
	struct source source = fetch_source("a value of 21 bytes..");
	void *copy;

	cr_assert_eq(fetch_k(NULL, &source), WEIR_TOO_LARGE);
	fetch_expect(21, WEIR_FROM_COMPUTED, WEIR_TOO_LARGE, WEIR_OK);
	cr_assert_eq(fetch_k(NULL, &source), WEIR_TOO_LARGE);
	fetch_expect(21, WEIR_FROM_NONE, WEIR_TOO_LARGE, WEIR_OK);
	cr_assert_eq(weir_fetch(fetch_handle, "k", 1, NULL, 0, NULL,
	    fetch_compute_source, &source, NULL), WEIR_TOO_LARGE);
	cr_assert_eq(source.calls, 1);
	cr_assert_eq(fetch_dup("k", &copy, &source), WEIR_OK);
	cr_assert_str_eq(copy, "a value of 21 bytes..");
	free(copy);
}

Test(fetch, dup_gives_memory_with_a_zero_behind_or_none)
{
	struct source source = fetch_source("value");
	void *copy;

	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(fetch_dup("k", &copy, &source), WEIR_OK);
		fetch_expect(5, i == 0 ? WEIR_FROM_COMPUTED :
		    WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
		cr_assert_str_eq(copy, "value");
		free(copy);
	}
	source = fetch_source("");
	cr_assert_eq(fetch_dup("empty", &copy, &source), WEIR_OK);
	cr_assert_str_eq(copy, "");
	free(copy);
	source.result = WEIR_MISS;
	cr_assert_eq(fetch_dup("none", &copy, &source), WEIR_MISS);
	cr_assert_null(copy);
	source.result = WEIR_FAILED;
	cr_assert_eq(fetch_dup("failing", &copy, &source), WEIR_FAILED);
	cr_assert_null(copy);
	cr_assert_eq(fetch_dup("", &copy, &source), WEIR_KEY_INVALID);
	cr_assert_null(copy);
}

Test(fetch, an_outcome_that_is_none_counts_as_a_failure)
{
	struct source source = fetch_source("value");
	unsigned before = fake_lease_count(&fetch_daemon, FRAME_FAIL);
	struct fake_asked asked = { .type = FRAME_PING };

	source.result = WEIR_FAILED;
	source.said.outcome = (enum weir_outcome)9;
	cr_assert_eq(fetch_k(NULL, &source), WEIR_FAILED);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_FAIL), before + 1,
	    "those who wait are told");
	for (unsigned i = 0; i < fake_lease_asked_count(&fetch_daemon); i++) {
		asked = fake_lease_asked(&fetch_daemon, i);
	}
	cr_assert_eq(asked.type, FRAME_FAIL);
	cr_assert_eq(asked.end.outcome, WEIR_FAILURE);
}
