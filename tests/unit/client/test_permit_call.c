/* SPDX-License-Identifier: ISC */

/*
 * Permits, in calls that wait; and what a child has of them.
 */
#include "weir.h"

#include "fake_daemon.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

TestSuite(permit_call, .init = setup, .fini = teardown);

Test(permit_call, a_permit_is_acquired_and_goes_back_with_its_outcome)
{
	static const enum weir_outcome outcomes[] = { WEIR_SUCCESS,
	    WEIR_FAILURE, WEIR_NEUTRAL };
	struct weir_origin origin = { .name = "db" };

	for (unsigned i = 0; i < 3; i++) {
		struct weir_permit permit;
		struct fake_asked asked;

		cr_assert_eq(weir_permit_acquire(handle, &origin, 2000,
		    &permit), WEIR_OK);
		cr_assert_gt(permit.left_ms, 0);
		cr_assert_eq(weir_permit_release(handle, &permit,
		    outcomes[i]), WEIR_OK);
		asked = fake_lease_asked(&fake, 2 * i);
		cr_assert_eq(asked.type, FRAME_PERMIT);
		cr_assert_str_eq(asked.name, "db");
		cr_assert_eq(asked.lease.wait_ms, 2000);
		asked = fake_lease_asked(&fake, 2 * i + 1);
		cr_assert_eq(asked.type, FRAME_RELEASE);
		cr_assert_eq(asked.end.permit.number, i + 1);
		cr_assert_eq(asked.end.outcome, outcomes[i]);
	}
}

Test(permit_call, a_permit_goes_back_once)
{
	struct weir_permit permit, copy;

	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit), WEIR_OK);
	copy = permit;
	cr_assert_eq(weir_permit_release(handle, &copy, WEIR_SUCCESS),
	    WEIR_OK);
	cr_assert_eq(weir_permit_release(handle, &copy, WEIR_SUCCESS),
	    WEIR_LEASE_LOST);
	cr_assert_eq(fake_lease_count(&fake, FRAME_RELEASE), 1);
	/* The daemon knows of the copy. */
	fake_lease_tell_end(&fake, WEIR_LEASE_LOST, FAKE_AT_ONCE);
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_LEASE_LOST);
}

Test(permit_call, every_refusal_is_told_with_its_reason)
{
	static const int statuses[] = { WEIR_SHED, WEIR_CIRCUIT_OPEN,
	    WEIR_TIMEOUT, WEIR_MISS, WEIR_BUSY, WEIR_DENIED };
	struct fake_told told = { .said = {
		.retry_after_ms = 250, .reason = 6,
	} };

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(int); i++) {
		struct weir_permit permit;

		told.status = statuses[i];
		fake_lease_tell(&fake, &told);
		cr_assert_eq(weir_permit_acquire(handle, NULL, 10, &permit),
		    statuses[i]);
		cr_assert_str_eq(permit.reason, statuses[i] == WEIR_SHED ?
		    "queue_timeout" : "");
		cr_assert_eq(permit.retry_after_ms, i < 3 ? 250 : 0);
		cr_assert_eq(weir_permit_release(handle, &permit,
		    WEIR_SUCCESS), WEIR_LEASE_LOST);
	}
}

Test(permit_call, names_that_are_none_are_invalid_and_not_sent)
{
	char name[65] = { 0 };
	struct weir_origin origin = { .name = "" };
	struct weir_permit permit;

	cr_assert_eq(weir_permit_acquire(handle, &origin, 0, &permit),
	    WEIR_INVALID);
	memset(name, 'n', 64);
	origin.name = name;
	cr_assert_eq(weir_permit_acquire(handle, &origin, 0, &permit),
	    WEIR_INVALID);
	cr_assert_str_eq(permit.reason, "");
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(fake_lease_asked_count(&fake), 0);
}

Test(permit_call, a_cut_answer_is_corrupt_and_no_permit)
{
	struct fake_told told = { .status = WEIR_OK, .how = FAKE_CUT };
	struct weir_permit permit;

	fake_lease_tell(&fake, &told);
	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit),
	    WEIR_CORRUPT);
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_LEASE_LOST);
}

Test(permit_call, without_a_daemon_or_when_turned_off_there_is_no_server)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir_permit permit;
	struct weir *nobody, *off;

	options.socket_path = "/tmp/weir-no-daemon-here";
	cr_assert_eq(weir_open(&nobody, &options), WEIR_OK);
	cr_assert_eq(weir_permit_acquire(nobody, NULL, 10, &permit),
	    WEIR_NO_SERVER);
	weir_close(nobody);
	(void)setenv("WEIR_DISABLE", "1", 1);
	off = fake_daemon_open(&fake, 0);
	(void)unsetenv("WEIR_DISABLE");
	cr_assert_eq(weir_permit_acquire(off, NULL, 10, &permit),
	    WEIR_NO_SERVER);
	cr_assert_str_eq(permit.reason, "");
	weir_close(off);
	cr_assert_eq(fake_lease_asked_count(&fake), 0);
}

Test(permit_call, what_is_held_is_claimed_by_the_next_connection)
{
	struct weir_permit permit;
	struct fake_asked claim;

	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit), WEIR_OK);
	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&fake.fault, FAKE_HANGS_UP);
		cr_assert_eq(weir_ping(handle), WEIR_CLOSED);
		cr_assert_eq(weir_ping(handle), WEIR_OK);
		claim = fake_lease_asked(&fake, 1 + i);
		cr_assert_eq(claim.type, FRAME_CLAIM);
		/* The first holder stays the one that holds. */
		cr_assert_eq(claim.number[0], 1);
		cr_assert_eq(claim.number[1], FAKE_SECRET + 1);
	}
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_OK);
}

Test(permit_call, an_outcome_that_is_none_leaves_the_permit_usable)
{
	struct weir_permit permit;

	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit), WEIR_OK);
	cr_assert_eq(weir_permit_release(handle, &permit,
	    (enum weir_outcome)-1), WEIR_INVALID);
	cr_assert_eq(fake_lease_count(&fake, FRAME_RELEASE), 0);
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_OK);
	cr_assert_eq(fake_lease_count(&fake, FRAME_RELEASE), 1);
}

Test(permit_call, what_a_claim_lost_is_not_claimed_again)
{
	struct weir_permit permit;

	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit), WEIR_OK);
	fake_lease_tell_claims(&fake, WEIR_MISS);
	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&fake.fault, FAKE_HANGS_UP);
		cr_assert_eq(weir_ping(handle), WEIR_CLOSED);
		cr_assert_eq(weir_ping(handle), WEIR_OK);
	}
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 1);
}

Test(permit_call, a_child_claims_nothing_of_its_parent)
{
	struct weir_permit permit;
	int status = -1;
	pid_t child;

	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit), WEIR_OK);
	child = fork();
	if (child == 0) {
		struct weir_permit own;

		_exit(weir_ping(handle) == WEIR_OK &&
		    weir_permit_acquire(handle, NULL, 0, &own) == WEIR_OK &&
		    weir_permit_release(handle, &own, WEIR_SUCCESS) ==
		    WEIR_OK ? 0 : 1);
	}
	cr_assert(wait_until_exit(child, 10000, &status));
	cr_assert_eq(status, 0);
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 0);
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_OK);
	cr_assert_eq(atomic_load(&fake.hellos), 2);
}
