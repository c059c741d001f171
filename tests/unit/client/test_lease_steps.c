/* SPDX-License-Identifier: ISC */

/*
 * Leases and permits in steps.
 */
#include "weir.h"

#include "fake_daemon.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static struct fake_daemon fake;
static struct weir *handle;

static void
setup(void)
{
	fake_daemon_start(&fake, NULL, 1);
	handle = fake_daemon_open(&fake, 0);
	cr_assert_eq(weir_connect(handle), WEIR_OK);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&fake);
}

TestSuite(lease_steps, .init = setup, .fini = teardown);

struct outcome {
	struct weir_lease lease;
	struct weir_permit permit;
	unsigned	called;
	int		result;
	uint64_t	number;
	uint64_t	left_ms;	/* of the lease, when done was called */
};

static void
note(void *arg, int result, uint64_t number)
{
	struct outcome *outcome = arg;

	outcome->called++;
	outcome->result = result;
	outcome->number = number;
	outcome->left_ms = outcome->lease.left_ms;
}

/* A loop as a program has it: wait for the descriptor, then step. */
static bool
turn(void *argument)
{
	const unsigned *called = argument;
	struct pollfd watched = { .fd = weir_fd(handle), .events = POLLIN };

	if (weir_wants_write(handle)) {
		watched.events |= POLLOUT;
	}
	if (watched.fd >= 0 && poll(&watched, 1, 0) > 0) {
		(void)weir_step(handle);
	}
	return *called > 0;
}

/* Exactly one call of done, with that result. */
static void
expect(struct outcome *outcome, int result)
{
	cr_assert(wait_until(turn, &outcome->called, 5000), "not answered");
	cr_assert_eq(outcome->called, 1);
	cr_assert_eq(outcome->result, result, "%s",
	    weir_errname(outcome->result));
	outcome->called = 0;
}

static void
start(struct outcome *outcome, const char *key)
{
	cr_assert_eq(weir_start_lease(handle, key, strlen(key), 0, NULL,
	    &outcome->lease, note, outcome), WEIR_OK);
}

static void
hold_next(void)
{
	fake_lease_tell(&fake, &(struct fake_told){ .how = FAKE_HELD });
}

Test(lease_steps, a_lease_is_filled_in_before_done_and_filled)
{
	struct outcome outcome = { .called = 0 };
	char value[8];

	start(&outcome, "k");
	cr_assert_eq(outcome.called, 0);
	expect(&outcome, WEIR_LEAD);
	cr_assert_gt(outcome.left_ms, 0);
	/* Its caller goes on: it never waits for itself. */
	cr_assert_eq(fake_lease_asked(&fake, 0).lease.thread, 0);
	cr_assert_eq(weir_start_lease_fill(handle, &outcome.lease, "k", 1,
	    "v", 1, NULL, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_OK);
	cr_assert_neq(outcome.number, 0);
	cr_assert_eq(weir_get(handle, "k", 1, value, 8, NULL, NULL),
	    WEIR_OK);
}

Test(lease_steps, every_answer_reaches_done)
{
	static const int statuses[] = { WEIR_OK, WEIR_ALONE, WEIR_SHED,
	    WEIR_CIRCUIT_OPEN, WEIR_FAILED, WEIR_BACKING_OFF, WEIR_TIMEOUT,
	    WEIR_WOULD_DEADLOCK, WEIR_BUSY, WEIR_MISS };
	struct fake_told told = { .said = {
		.retry_after_ms = 250, .code = -7, .reason = 1,
	} };

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(int); i++) {
		struct outcome outcome = { .called = 0 };

		told.status = statuses[i];
		fake_lease_tell(&fake, &told);
		start(&outcome, "k");
		expect(&outcome, statuses[i]);
		cr_assert_eq(outcome.lease.code, i < 7 ? -7 : 0);
		cr_assert_str_eq(outcome.lease.reason,
		    statuses[i] == WEIR_SHED ? "queue_full" : "");
	}
}

Test(lease_steps, an_answer_that_takes_long_makes_the_descriptor_ready)
{
	struct outcome outcome = { .called = 0 };
	struct pollfd watched = { .fd = weir_fd(handle), .events = POLLIN };

	hold_next();
	start(&outcome, "k");
	fake_lease_wait_held(&fake, 1);
	cr_assert_eq(weir_step(handle), WEIR_OK);
	cr_assert_eq(poll(&watched, 1, 0), 0);
	cr_assert_eq(outcome.called, 0);
	fake_lease_let_go(&fake, 0, WEIR_LEAD);
	cr_assert_eq(poll(&watched, 1, 5000), 1);
	cr_assert_eq(weir_step(handle), WEIR_OK);
	cr_assert_eq(outcome.called, 1);
	cr_assert_eq(outcome.result, WEIR_LEAD);
}

Test(lease_steps, others_go_on_while_one_waits)
{
	struct outcome slow = { .called = 0 }, fast = { .called = 0 };

	hold_next();
	start(&slow, "slow");
	fake_lease_wait_held(&fake, 1);
	start(&fast, "fast");
	expect(&fast, WEIR_LEAD);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(slow.called, 0);
	fake_lease_let_go(&fake, 0, WEIR_FAILED);
	expect(&slow, WEIR_FAILED);
}

Test(lease_steps, fail_and_uncacheable_end_a_lease)
{
	struct outcome outcome = { .called = 0 };
	struct fake_asked asked;

	start(&outcome, "k");
	expect(&outcome, WEIR_LEAD);
	cr_assert_eq(weir_start_lease_fail(handle, &outcome.lease, "k", 1,
	    WEIR_FAILURE, -3, 70, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_OK);
	asked = fake_lease_asked(&fake, 1);
	cr_assert_eq(asked.type, FRAME_FAIL);
	cr_assert_eq(asked.end.code, -3);
	cr_assert_eq(asked.end.note_ms, 70);
	start(&outcome, "k");
	expect(&outcome, WEIR_LEAD);
	fake_lease_tell_end(&fake, WEIR_LEASE_LOST, FAKE_AT_ONCE);
	cr_assert_eq(weir_start_lease_uncacheable(handle, &outcome.lease,
	    "k", 1, 500, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_LEASE_LOST);
	asked = fake_lease_asked(&fake, 3);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_eq(asked.end.note_ms, 500);
}

Test(lease_steps, a_permit_in_steps)
{
	struct weir_origin origin = { .name = "db" };
	struct fake_told told = { .status = WEIR_SHED };
	struct outcome outcome = { .called = 0 };

	cr_assert_eq(weir_start_permit_acquire(handle, &origin, 100,
	    &outcome.permit, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_OK);
	cr_assert_gt(outcome.permit.left_ms, 0);
	cr_assert_eq(weir_start_permit_release(handle, &outcome.permit,
	    WEIR_FAILURE, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_OK);
	cr_assert_eq(fake_lease_asked(&fake, 1).end.outcome, WEIR_FAILURE);
	cr_assert_eq(weir_start_permit_release(handle, &outcome.permit,
	    WEIR_FAILURE, note, &outcome), WEIR_LEASE_LOST);
	told.said.reason = 5;
	fake_lease_tell(&fake, &told);
	cr_assert_eq(weir_start_permit_acquire(handle, NULL, 0,
	    &outcome.permit, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_SHED);
	cr_assert_str_eq(outcome.permit.reason, "no_wait");
}

Test(lease_steps, what_is_not_started_calls_no_done)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct weir_origin nameless = { .name = "" };
	struct outcome outcome = { .called = 0 };
	struct weir_lease *lease = &outcome.lease;

	cr_assert_eq(weir_start_lease(handle, "", 0, 0, NULL, lease, note,
	    &outcome), WEIR_KEY_INVALID);
	cr_assert_eq(weir_start_lease(handle, NULL, 1, 0, NULL, lease, note,
	    &outcome), WEIR_KEY_INVALID);
	cr_assert_eq(weir_start_lease(handle, "k", 1, 0, NULL, lease, NULL,
	    &outcome), WEIR_INVALID);
	options.size = 0;
	cr_assert_eq(weir_start_lease(handle, "k", 1, 0, &options, lease,
	    note, &outcome), WEIR_INVALID);
	cr_assert_eq(weir_start_lease_fill(handle, lease, "k", 1, "v", 1,
	    NULL, note, &outcome), WEIR_LEASE_LOST);
	cr_assert_eq(weir_start_lease_fail(handle, lease, "k", 1,
	    WEIR_FAILURE, 1, 1, note, &outcome), WEIR_LEASE_LOST);
	cr_assert_eq(weir_start_permit_acquire(handle, &nameless, 1,
	    &outcome.permit, note, &outcome), WEIR_INVALID);
	cr_assert_eq(weir_start_permit_acquire(handle, NULL, 1,
	    &outcome.permit, NULL, &outcome), WEIR_INVALID);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(outcome.called, 0);
	cr_assert_eq(fake_lease_asked_count(&fake), 0);
}

Test(lease_steps, an_end_that_is_not_started_leaves_the_lease)
{
	static char value[1];
	struct outcome outcome = { .called = 0 };
	struct weir_lease *lease = &outcome.lease;

	start(&outcome, "k");
	expect(&outcome, WEIR_LEAD);
	cr_assert_eq(weir_start_lease_fill(handle, lease, "", 0, "v", 1,
	    NULL, note, &outcome), WEIR_KEY_INVALID);
	cr_assert_eq(weir_start_lease_fill(handle, lease, "k", 1, value,
	    (size_t)weir_value_max(handle) + 1, NULL, note, &outcome),
	    WEIR_TOO_LARGE);
	cr_assert_eq(weir_start_lease_fail(handle, lease, "k", 1,
	    (enum weir_outcome)3, 1, 1, note, &outcome), WEIR_INVALID);
	cr_assert_eq(weir_start_lease_uncacheable(handle, lease, "k", 1, 1,
	    NULL, &outcome), WEIR_INVALID);
	cr_assert_eq(outcome.called, 0);
	cr_assert_eq(weir_start_lease_fill(handle, lease, "k", 1, "v", 1,
	    NULL, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_OK);
}

Test(lease_steps, a_permit_that_is_not_started_back_is_kept)
{
	struct outcome outcome = { .called = 0 };

	cr_assert_eq(weir_start_permit_acquire(handle, NULL, 1,
	    &outcome.permit, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_OK);
	cr_assert_eq(weir_start_permit_release(handle, &outcome.permit,
	    (enum weir_outcome)3, note, &outcome), WEIR_INVALID);
	cr_assert_eq(weir_start_permit_release(handle, &outcome.permit,
	    WEIR_SUCCESS, NULL, &outcome), WEIR_INVALID);
	cr_assert_eq(outcome.called, 0);
	cr_assert_eq(weir_start_permit_release(handle, &outcome.permit,
	    WEIR_SUCCESS, note, &outcome), WEIR_OK);
	expect(&outcome, WEIR_OK);
}

Test(lease_steps, a_hang_up_is_told_and_the_next_start_connects_anew)
{
	struct outcome outcome = { .called = 0 }, other = { .called = 0 };

	hold_next();
	start(&outcome, "k");
	fake_lease_wait_held(&fake, 1);
	atomic_store(&fake.fault, FAKE_HANGS_UP);
	start(&other, "l");
	expect(&outcome, WEIR_CLOSED);
	cr_assert_eq(other.called, 1);
	cr_assert_eq(other.result, WEIR_CLOSED);
	cr_assert_eq(outcome.lease.left_ms, 0);
	cr_assert_eq(weir_fd(handle), -1);
	cr_assert_eq(weir_step(handle), WEIR_CLOSED);
	start(&outcome, "k");
	cr_assert_geq(weir_fd(handle), 0);
	expect(&outcome, WEIR_LEAD);
	cr_assert_eq(atomic_load(&fake.hellos), 2);
}

Test(lease_steps, close_ends_what_waits_with_closed)
{
	struct outcome sent = { .called = 0 }, ended = { .called = 0 };
	struct weir *other = fake_daemon_open(&fake, 0);
	struct weir_permit permit;

	cr_assert_eq(weir_permit_acquire(other, NULL, 0, &permit), WEIR_OK);
	hold_next();
	cr_assert_eq(weir_start_lease(other, "k", 1, 0, NULL, &sent.lease,
	    note, &sent), WEIR_OK);
	fake_lease_wait_held(&fake, 1);
	atomic_store(&fake.fault, FAKE_SILENT);
	cr_assert_eq(weir_start_permit_release(other, &permit, WEIR_SUCCESS,
	    note, &ended), WEIR_OK);
	weir_close(other);
	cr_assert_eq(sent.called, 1);
	cr_assert_eq(sent.result, WEIR_CLOSED);
	cr_assert_eq(ended.called, 1);
	cr_assert_eq(ended.result, WEIR_CLOSED);
}

static void
start_more(void *arg, int result, uint64_t number)
{
	struct outcome *outcome = arg;

	note(arg, result, number);
	cr_assert_eq(weir_start_lease_fill(handle, &outcome->lease, "k", 1,
	    "v", 1, NULL, note, outcome), WEIR_OK);
}

static bool
turn_twice(void *argument)
{
	struct outcome *outcome = argument;

	(void)turn(&outcome->called);
	return outcome->called == 2;
}

Test(lease_steps, done_may_fill_what_it_was_given)
{
	struct outcome outcome = { .called = 0 };

	cr_assert_eq(weir_start_lease(handle, "k", 1, 0, NULL,
	    &outcome.lease, start_more, &outcome), WEIR_OK);
	cr_assert(wait_until(turn_twice, &outcome, 5000));
	cr_assert_eq(outcome.result, WEIR_OK);
	cr_assert_neq(outcome.number, 0);
}

Test(lease_steps, what_the_parent_started_stays_the_parents)
{
	struct outcome outcome = { .called = 0 };
	int status = -1;
	pid_t child;

	hold_next();
	start(&outcome, "k");
	fake_lease_wait_held(&fake, 1);
	child = fork();
	if (child == 0) {
		int result = weir_ping(handle);

		weir_close(handle);
		_exit(result == WEIR_OK && outcome.called == 0 ? 0 : 1);
	}
	cr_assert(wait_until_exit(child, 10000, &status));
	cr_assert_eq(status, 0);
	fake_lease_let_go(&fake, 0, WEIR_LEAD);
	expect(&outcome, WEIR_LEAD);
}
