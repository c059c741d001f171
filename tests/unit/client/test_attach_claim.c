/* SPDX-License-Identifier: ISC */

/*
 * What the next connection claims, and how long it asks.
 */
#include "attach_claim.h"

#include "fake_daemon.h"

#include <criterion/criterion.h>

static struct fake_daemon fake;
static struct weir *handle;
static struct weir_permit permit;

static void
setup(void)
{
	fake_daemon_start(&fake, NULL, 1);
	handle = fake_daemon_open(&fake, 0);
	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit), WEIR_OK);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&fake);
}

TestSuite(attach_claim, .init = setup, .fini = teardown);

static void
lose_connection(void)
{
	atomic_store(&fake.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_ping(handle), WEIR_CLOSED);
}

static struct fake_asked
last_claim(void)
{
	struct fake_asked asked = { .lists = false };

	for (unsigned i = 0; i < fake_lease_asked_count(&fake); i++) {
		if (fake_lease_asked(&fake, i).type == FRAME_CLAIM) {
			asked = fake_lease_asked(&fake, i);
		}
	}
	cr_assert_eq(asked.type, FRAME_CLAIM);
	return asked;
}

Test(attach_claim, lists_what_was_given_and_not_ended)
{
	struct fake_asked claim;
	struct weir_lease lease;

	cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease), WEIR_LEAD);
	lose_connection();
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	claim = last_claim();
	cr_assert(claim.lists);
	cr_assert_eq(claim.listed, 2);
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_OK);
	lose_connection();
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	claim = last_claim();
	cr_assert_eq(claim.listed, 1);
	cr_assert_neq(claim.first.token, 0, "the lease");
	cr_assert_eq(weir_lease_fail(handle, &lease, "k", 1, WEIR_FAILURE, 0,
	    0), WEIR_OK);
}

Test(attach_claim, is_made_if_an_answer_may_be_lost)
{
	struct fake_told told = { .status = WEIR_LEAD, .how = FAKE_NEVER };
	struct fake_asked claim;
	struct weir_lease lease;

	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_OK);
	fake_lease_tell(&fake, &told);
	cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease), WEIR_LEAD);
	claim = last_claim();
	cr_assert(claim.lists);
	cr_assert_eq(claim.listed, 0, "it was told of nothing");
	cr_assert_eq(claim.number[0], 1);
	/* The repeated one says who it is: nothing of its own is in its way. */
	cr_assert_neq(fake_lease_asked(&fake, 4).lease.thread, 0);
	cr_assert_eq(fake_lease_asked(&fake, 4).type, FRAME_LEASE);
}

Test(attach_claim, gives_back_what_nobody_ends_any_more)
{
	struct fake_asked claim;

	/* Both tries of the release; the second is claimed for. */
	fake_lease_tell_end(&fake, 0, FAKE_NEVER);
	fake_lease_tell_end(&fake, 0, FAKE_NEVER);
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_CLOSED);
	claim = last_claim();
	cr_assert_eq(claim.listed, 1);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 2);
	claim = last_claim();
	cr_assert(claim.lists);
	cr_assert_eq(claim.listed, 0, "the permit was given up");
}

Test(attach_claim, is_repeated_while_the_daemon_is_busy)
{
	fake_lease_delay_claims(&fake, 3, false);
	lose_connection();
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 4);
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_OK);
	lose_connection();
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 4);
}

Test(attach_claim, is_made_over_the_next_connection_if_one_is_lost)
{
	fake_lease_delay_claims(&fake, 1, true);
	lose_connection();
	(void)weir_ping(handle);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 3);
	cr_assert_eq(last_claim().number[0], 1, "as who it was");
	cr_assert_eq(last_claim().listed, 1);
}

Test(attach_claim, that_stays_busy_leaves_no_connection)
{
	fake_lease_delay_claims(&fake, 4, false);
	lose_connection();
	cr_assert_eq(weir_ping(handle), WEIR_BUSY);
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 4);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 5);
	cr_assert_eq(last_claim().number[0], 1);
}

Test(attach_claim, that_is_denied_is_over)
{
	fake_lease_tell_claims(&fake, WEIR_DENIED);
	for (int i = 0; i < 2; i++) {
		lose_connection();
		cr_assert_eq(weir_ping(handle), WEIR_OK);
	}
	cr_assert_eq(fake_lease_count(&fake, FRAME_CLAIM), 1);
}
