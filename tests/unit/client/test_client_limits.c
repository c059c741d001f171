/* SPDX-License-Identifier: ISC */

/*
 * What a handle leaves behind, who polls for whom, answers and options that
 * make no sense, times without an end, and what parts processes by chance.
 */
#include "weir.h"

#include "fetch_fixture.h"
#include "lease_send.h"
#include "handle.h"
#include "lease_parts.h"
#include "pending.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(client_limits, .init = fetch_begin, .fini = fetch_end);

static unsigned
open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	cr_assert_not_null(dir);
	while (readdir(dir) != NULL) {
		count++;
	}
	(void)closedir(dir);
	return count;
}

/* The fake daemon is of this process: its ends are counted too. */
static bool
has_hung_up(void *argument)
{
	return atomic_load(&fetch_daemon.hangups) >= *(unsigned *)argument;
}

Test(client_limits, a_closed_handle_leaves_no_descriptor)
{
	unsigned before = open_descriptors(), after;

	for (unsigned i = 1; i <= 3; i++) {
		struct weir *other = fake_daemon_open(&fetch_daemon, 0);
		struct weir_permit permit;

		cr_assert_eq(weir_permit_acquire(other, NULL, 10, &permit),
		    WEIR_OK);
		weir_close(other);
		cr_assert(wait_until(has_hung_up, &i, 5000));
	}
	after = open_descriptors();
	cr_assert_eq(before, after, "%u, then %u", before, after);
}

static void
note(void *arg, int result, uint64_t number)
{
	int *said = arg;

	(void)number;
	*said = result;
}

/* A pending of a started request, as that of a thread that waits long. */
static struct pending *
as_long(struct answer *answer, uint32_t turn)
{
	static int said;
	struct pending *pending;
	static struct weir_permit permit;

	fake_lease_tell(&fetch_daemon,
	    &(struct fake_told){ .how = FAKE_HELD });
	cr_assert_eq(weir_start_permit_acquire(fetch_handle, NULL, 10,
	    &permit, note, &said), WEIR_OK);
	pending = fetch_handle->channel.waiting.last;
	pending->answer = answer;
	answer->arrived = false;
	atomic_store(&pending->turn, turn);
	return pending;
}

Test(client_limits, who_is_answered_instead_of_polling_passes_the_turn_on)
{
	struct answer answers[2];
	struct pending *first = as_long(&answers[0], TURN_POLLS);
	struct pending *second = as_long(&answers[1], TURN_WAITS);

	fake_lease_wait_held(&fetch_daemon, 2);
	fake_lease_let_go(&fetch_daemon, 0, WEIR_OK);
	/* A short call takes the answer of the one who was to poll. */
	while (!answers[0].arrived) {
		cr_assert_eq(weir_ping(fetch_handle), WEIR_OK);
	}
	cr_assert_eq(atomic_load(&first->turn), TURN_ANSWERED);
	cr_assert(fetch_handle->channel.poller != NULL ||
	    atomic_load(&second->turn) == TURN_POLLS,
	    "nobody polls for the second");
	pending_remove(&fetch_handle->channel.waiting, second);
	free(first);
	free(second);
}

struct outcome {
	unsigned	called;
	int		result;
};

static void
take_note(void *arg, int result, uint64_t number)
{
	struct outcome *outcome = arg;

	(void)number;
	outcome->called++;
	outcome->result = result;
}

static bool
is_called(void *argument)
{
	const struct outcome *outcome = argument;

	(void)weir_step(fetch_handle);
	return outcome->called > 0;
}

Test(client_limits, a_cut_answer_in_steps_is_no_lead)
{
	struct fake_told told = { .status = WEIR_LEAD, .how = FAKE_CUT };
	struct outcome outcome = { .called = 0 };
	struct weir_lease lease;

	fake_lease_tell(&fetch_daemon, &told);
	cr_assert_eq(weir_start_lease(fetch_handle, "k", 1, 0, NULL, &lease,
	    take_note, &outcome), WEIR_OK);
	cr_assert(wait_until(is_called, &outcome, 5000));
	cr_assert_lt(outcome.result, 0, "%s",
	    weir_errname(outcome.result));
}

Test(client_limits, a_lease_that_was_not_asked_for_is_empty)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct weir_lease lease;

	memset(&lease, 0xff, sizeof(lease));
	options.size = 0;
	cr_assert_eq(weir_lease(fetch_handle, "k", 1, 0, &options, &lease),
	    WEIR_INVALID);
	cr_assert_eq(lease.secret[SECRET_TOKEN], 0);
	cr_assert_eq(lease.retry_after_ms, 0);
}

Test(client_limits, an_origin_that_is_not_there_is_not_no_such_thing)
{
	struct source source = fetch_source("value");

	fake_lease_tell_status(&fetch_daemon, WEIR_MISS);
	cr_assert_neq(fetch_k(NULL, &source), WEIR_MISS);
}

Test(client_limits, stale_if_error_for_ever_is_for_ever)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("value");
	struct fake_asked asked;

	options.ttl_ms = 60000;
	options.jitter_percent = 100;
	options.stale_if_error_ms = UINT64_MAX;
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	asked = fake_lease_asked(&fetch_daemon, 1);
	cr_assert_eq(asked.set.soft_ttl_ms, 60000);
	cr_assert(asked.set.ttl_ms == 0 || asked.set.ttl_ms > 60000,
	    "%llu", (unsigned long long)asked.set.ttl_ms);
}

Test(client_limits, a_slide_for_ever_is_for_ever)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct fake_life life = { .soft_in_ms = 1000, .hard_in_ms = 1000,
	    .age_ms = 59000 };
	struct source source = fetch_source("value");
	uint64_t ttl_ms;

	cr_assert_eq(weir_set_async(fetch_handle, "r", 1, "v", 1, NULL), 0);
	cr_assert_eq(weir_flush(fetch_handle, NULL), WEIR_OK);
	(void)fake_daemon_store(&fetch_daemon, "k", "old", &life);
	options.ttl_ms = 60000;
	options.sliding = 1;
	options.stale_if_error_ms = UINT64_MAX;
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	cr_assert_eq(weir_ping(fetch_handle), WEIR_OK);
	cr_assert_eq(atomic_load(&fetch_daemon.slides), 1);
	ttl_ms = wire_get_u64(fetch_daemon.slide + 16);
	cr_assert(ttl_ms == 0 || ttl_ms > 60000, "%llu",
	    (unsigned long long)ttl_ms);
}

Test(client_limits, a_second_release_says_what_is_wrong)
{
	struct weir_permit permit = { .left_ms = 0 };

	cr_assert_eq(weir_permit_release(fetch_handle, &permit,
	    WEIR_SUCCESS), WEIR_LEASE_LOST);
	cr_assert_gt(strlen(weir_detail(fetch_handle)), 0);
}

Test(client_limits, a_refresh_ahead_looks_at_the_options_too)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct fake_life life = { .soft_in_ms = 10000, .hard_in_ms = 600000,
	    .age_ms = 50000, .cost_ms = UINT16_MAX };
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &life);
	options.ttl_ms = 60000;
	options.early_percent = 100000;
	options.tag_count = 1;		/* and no tags */
	(void)fetch_k(&options, &source);
	cr_assert_eq(source.calls, 0);
}

Test(client_limits, a_dup_that_fails_alone_gives_no_old_value)
{
	struct fake_life life = { .soft_in_ms = -30000,
	    .hard_in_ms = 600000, .age_ms = 60000 };
	struct source source = fetch_source("new");
	void *copy;

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &life);
	for (unsigned i = 0; i < FAKE_TOLD_MAX; i++) {
		fake_lease_tell(&fetch_daemon, &(struct fake_told){
			.how = FAKE_NEVER,
		});
	}
	source.result = WEIR_FAILED;
	cr_assert_eq(fetch_dup("k", &copy, &source), WEIR_FAILED);
	cr_assert_eq(source.calls, 1);
	cr_assert_null(copy);
}

static void *
draw_once(void *arg)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("value");

	options.ttl_ms = 1000000000;
	(void)weir_fetch(fetch_handle, arg, 2, NULL, 0, &options,
	    fetch_compute_source, &source, NULL);
	return NULL;
}

Test(client_limits, two_threads_jitter_differently)
{
	char keys[2][3] = { "k0", "k1" };
	pthread_t threads[2];

	/* Not one after the other: a lane is taken over by the next. */
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, draw_once,
		    keys[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	/* Fills are sent and not waited for. */
	(void)lease_settle(fetch_handle);
	{
		uint64_t soft[4];
		unsigned count = 0;
		unsigned all = fake_lease_asked_count(&fetch_daemon);

		for (unsigned i = 0; i < all; i++) {
			struct fake_asked asked = fake_lease_asked(
			    &fetch_daemon, i);

			if (asked.type == FRAME_FILL) {
				soft[count++] = asked.set.soft_ttl_ms;
			}
		}
		cr_assert_eq(count, 2);
		cr_assert_neq(soft[0], soft[1]);
	}
}

Test(client_limits, a_child_jitters_differently_from_its_parent)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("value");
	uint64_t soft[2];
	unsigned count = 0;
	int status;
	pid_t child;

	(void)fetch_k(NULL, &source);
	child = fork();
	if (child == 0) {
		char key[] = "k1";

		(void)draw_once(key);
		_exit(0);
	}
	cr_assert(wait_until_exit(child, 10000, &status));
	options.ttl_ms = 1000000000;
	(void)weir_fetch(fetch_handle, "k2", 2, fetch_buffer, 16, &options,
	    fetch_compute_source, &source, NULL);
	(void)lease_settle(fetch_handle);
	for (unsigned i = 2; i < fake_lease_asked_count(&fetch_daemon); i++) {
		struct fake_asked asked = fake_lease_asked(&fetch_daemon, i);

		if (asked.type == FRAME_FILL && count < 2) {
			soft[count++] = asked.set.soft_ttl_ms;
		}
	}
	cr_assert_eq(count, 2);
	cr_assert_neq(soft[0], soft[1]);
}
