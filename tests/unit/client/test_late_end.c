/* SPDX-License-Identifier: ISC */

/*
 * Ends that meet a handle whose lock is another's for too long.
 */
#include "late_end.h"

#include "fake_daemon.h"
#include "handle.h"
#include "shm_fence.h"
#include "weir.h"

#include <criterion/criterion.h>

/* Without clocks on locks nothing here ends. */
#if !SHM_TSAN

static struct fake_daemon fake;
static struct weir *handle;

static void
setup(void)
{
	fake_daemon_start(&fake, NULL, 1);
	handle = fake_daemon_open(&fake, 50);
	cr_assert_eq(weir_connect(handle), WEIR_OK);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&fake);
}

TestSuite(late_end, .init = setup, .fini = teardown);

static void
lock_handle(void)
{
	cr_assert_eq(pthread_mutex_lock(&handle->lock), 0);
}

Test(late_end, of_a_permit_is_sent_by_whoever_had_the_lock)
{
	struct weir_permit permit;
	struct fake_asked asked;

	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit), WEIR_OK);
	lock_handle();
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_FAILURE),
	    WEIR_TIMEOUT);
	channel_unlock(handle);
	fake_lease_wait(&fake, 2, &asked);
	cr_assert_eq(asked.type, FRAME_RELEASE);
	cr_assert_eq(asked.end.permit.number, 1);
	cr_assert_eq(asked.end.outcome, WEIR_FAILURE);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(handle->attach.holds.count, 0);
}

Test(late_end, of_a_fill_lets_the_others_go_on)
{
	struct weir_lease lease;
	struct fake_asked asked;

	cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease), WEIR_LEAD);
	lock_handle();
	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "value", 5,
	    NULL, NULL), WEIR_TIMEOUT);
	channel_unlock(handle);
	fake_lease_wait(&fake, 2, &asked);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_neq(asked.end.token, 0);
	cr_assert_eq(asked.key_length, 1);
}

/* The last claim lists nothing: the daemon takes back what it gave. */
static bool
is_claimed_without(void)
{
	bool without = false;

	for (unsigned i = 0; i < fake_lease_asked_count(&fake); i++) {
		struct fake_asked asked = fake_lease_asked(&fake, i);

		if (asked.type == FRAME_CLAIM) {
			without = asked.lists && asked.listed == 0;
		}
	}
	return without;
}

Test(late_end, that_is_lost_is_sent_again_or_claimed)
{
	struct weir_permit permit;
	struct fake_asked asked;

	cr_assert_eq(weir_permit_acquire(handle, NULL, 0, &permit), WEIR_OK);
	fake_lease_tell_end(&fake, 0, FAKE_NEVER);
	lock_handle();
	cr_assert_eq(weir_permit_release(handle, &permit, WEIR_SUCCESS),
	    WEIR_TIMEOUT);
	channel_unlock(handle);
	fake_lease_wait(&fake, 2, &asked);
	/* The first may find the connection lost; then it has another. */
	(void)weir_ping(handle);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	(void)weir_ping(handle);
	cr_assert(fake_lease_count(&fake, FRAME_RELEASE) == 2 ||
	    is_claimed_without(), "it is taken for ever");
	cr_assert_eq(handle->attach.holds.count, 0);
}

#endif
