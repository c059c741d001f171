/* SPDX-License-Identifier: ISC */

/*
 * Requests in steps.
 */
#include "weir.h"

#include "fake_daemon.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct fake_daemon daemon;
static struct weir *handle;

static void
setup(void)
{
	fake_daemon_start(&daemon, NULL, 1);
	handle = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_connect(handle), WEIR_OK);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&daemon);
}

TestSuite(steps, .init = setup, .fini = teardown);

struct outcome {
	unsigned	called;
	int		result;
	uint64_t	number;
	unsigned	again;		/* starts to make from within */
};

static void
note(void *arg, int result, uint64_t number)
{
	struct outcome *outcome = arg;

	outcome->called++;
	outcome->result = result;
	outcome->number = number;
	if (outcome->again > 0) {
		outcome->again--;
		cr_assert_eq(weir_start_counter_add(handle, "n", 1, 1, NULL,
		    note, outcome), WEIR_OK);
	}
}

struct wanted {
	struct outcome	*outcome;
	unsigned	called;
};

static bool
step_until(void *argument)
{
	struct wanted *wanted = argument;

	(void)weir_step(handle);
	return wanted->outcome->called >= wanted->called;
}

Test(steps, each_started_request_is_answered_once)
{
	struct outcome outcome = { .called = 0 };
	struct wanted wanted = { &outcome, 1 };

	cr_assert_geq(weir_fd(handle), 0);
	cr_assert_eq(weir_start_set(handle, "k", 1, "v", 1, NULL, note,
	    &outcome), WEIR_OK);
	cr_assert(wait_until(step_until, &wanted, 5000));
	cr_assert_eq(outcome.result, WEIR_OK);
	cr_assert_neq(outcome.number, 0);
	wanted.called = 2;
	cr_assert_eq(weir_start_touch(handle, "k", 1, 1000, 0, note,
	    &outcome), WEIR_OK);
	cr_assert(wait_until(step_until, &wanted, 5000));
	cr_assert_eq(outcome.result, WEIR_OK);
	wanted.called = 3;
	cr_assert_eq(weir_start_delete(handle, "none", 4, 0, note, &outcome),
	    WEIR_OK);
	cr_assert(wait_until(step_until, &wanted, 5000));
	cr_assert_eq(outcome.result, WEIR_MISS);
	cr_assert_eq(outcome.called, 3);
}

Test(steps, done_may_start_requests)
{
	struct outcome outcome = { .again = 50 };
	struct wanted wanted = { &outcome, 51 };

	cr_assert_eq(weir_start_counter_add(handle, "n", 1, 1, NULL, note,
	    &outcome), WEIR_OK);
	cr_assert(wait_until(step_until, &wanted, 5000));
	cr_assert_eq(outcome.number, 51);
}

Test(steps, a_bad_request_is_refused_and_done_is_not_called)
{
	struct outcome outcome = { .called = 0 };

	cr_assert_eq(weir_start_set(handle, "", 0, "v", 1, NULL, note,
	    &outcome), WEIR_KEY_INVALID);
	cr_assert_eq(weir_start_set(handle, "k", 1, "v", 1, NULL, NULL,
	    &outcome), WEIR_INVALID);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(outcome.called, 0);
}

Test(steps, a_hang_up_answers_everything_with_closed)
{
	struct outcome outcome = { .called = 0 };
	struct wanted wanted = { &outcome, 3 };

	atomic_store(&daemon.fault, FAKE_SILENT);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(weir_start_delete(handle, "k", 1, 0, note,
		    &outcome), WEIR_OK);
	}
	atomic_store(&daemon.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_start_delete(handle, "k", 1, 0, note, &outcome),
	    WEIR_OK);
	cr_assert(wait_until(step_until, &wanted, 5000));
	cr_assert_eq(outcome.result, WEIR_CLOSED);
	cr_assert_eq(weir_fd(handle), -1);
	cr_assert_eq(weir_step(handle), WEIR_CLOSED);
}

Test(steps, close_answers_what_is_under_way)
{
	struct outcome outcome = { .called = 0 };
	struct weir *other = fake_daemon_open(&daemon, 0);

	cr_assert_eq(weir_connect(other), WEIR_OK);
	atomic_store(&daemon.fault, FAKE_SILENT);
	cr_assert_eq(weir_start_delete(other, "k", 1, 0, note, &outcome),
	    WEIR_OK);
	weir_close(other);
	cr_assert_eq(outcome.called, 1);
	cr_assert_eq(outcome.result, WEIR_CLOSED);
}

Test(steps, a_long_queue_is_busy_and_a_blocking_call_sends_it)
{
	static char value[60000];
	struct outcome outcome = { .called = 0 };
	unsigned started = 0;
	int result = WEIR_OK;

	while (result == WEIR_OK && started < 64) {
		result = weir_start_set(handle, "k", 1, value, sizeof(value),
		    NULL, note, &outcome);
		started += result == WEIR_OK;
	}
	cr_assert(result == WEIR_OK || result == WEIR_BUSY, "%d", result);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(outcome.called, started);
	cr_assert_eq(outcome.result, WEIR_OK);
	cr_assert_not(weir_wants_write(handle));
}
