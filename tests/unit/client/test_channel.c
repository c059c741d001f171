/* SPDX-License-Identifier: ISC */

/*
 * A peer that does not answer, hangs up, or answers nonsense.
 */
#include "weir.h"

#include "fake_daemon.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdio.h>
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

TestSuite(channel, .init = setup, .fini = teardown);

Test(channel, a_silent_daemon_is_a_timeout_and_then_a_new_connection)
{
	struct weir *hasty = fake_daemon_open(&daemon, 30);

	cr_assert_eq(weir_connect(hasty), WEIR_OK);
	atomic_store(&daemon.fault, FAKE_SILENT);
	cr_assert_eq(weir_ping(hasty), WEIR_TIMEOUT);
	cr_assert_gt(strlen(weir_detail(hasty)), 0);
	cr_assert_eq(weir_fd(hasty), -1);
	atomic_store(&daemon.fault, FAKE_HONEST);
	weir_close(hasty);
	hasty = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_ping(hasty), WEIR_OK);
	weir_close(hasty);
}

Test(channel, a_hang_up_after_the_request_is_closed_not_done_twice)
{
	unsigned before = atomic_load(&daemon.requests);

	atomic_store(&daemon.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL),
	    WEIR_CLOSED);
	cr_assert_eq(atomic_load(&daemon.requests), before + 1);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(atomic_load(&daemon.hellos), 2);
}

static bool
has_hung_up(void *argument)
{
	return atomic_load((_Atomic unsigned *)argument) > 0;
}

Test(channel, a_hang_up_before_the_request_is_not_noticed_by_the_caller)
{
	struct weir *other = fake_daemon_open(&daemon, 0);

	/* The one connection is dropped by the daemon, unasked. */
	cr_assert_eq(weir_ping(other), WEIR_OK);
	atomic_store(&daemon.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_ping(other), WEIR_CLOSED);
	cr_assert(wait_until(has_hung_up, &daemon.hangups, 5000));
	cr_assert_eq(weir_ping(other), WEIR_OK);
	weir_close(other);
}

Test(channel, nonsense_is_corrupt_and_the_connection_is_dropped)
{
	atomic_store(&daemon.fault, FAKE_GARBAGE);
	cr_assert_eq(weir_ping(handle), WEIR_CORRUPT);
	cr_assert_eq(weir_fd(handle), -1);
	atomic_store(&daemon.fault, FAKE_WRONG_ID);
	cr_assert_eq(weir_ping(handle), WEIR_CORRUPT);
	cr_assert_eq(weir_fd(handle), -1);
	atomic_store(&daemon.fault, FAKE_HONEST);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
}

Test(channel, a_long_text_is_cut_and_the_connection_goes_on)
{
	atomic_store(&daemon.fault, FAKE_LONG_TEXT);
	cr_assert_eq(weir_ping(handle), WEIR_BUSY);
	cr_assert_gt(strlen(weir_detail(handle)), 100);
	atomic_store(&daemon.fault, FAKE_HONEST);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(atomic_load(&daemon.hellos), 1);
}

static void *
set_and_get(void *arg)
{
	char key[32], buffer[32];
	size_t length;

	for (int i = 0; i < 300; i++) {
		int bytes = snprintf(key, sizeof(key), "%p %d", arg, i);

		if (weir_set(handle, key, (size_t)bytes, key, (size_t)bytes,
		    NULL, NULL) != WEIR_OK || weir_get(handle, key,
		    (size_t)bytes, buffer, sizeof(buffer), &length, NULL) !=
		    WEIR_OK || length != (size_t)bytes ||
		    memcmp(buffer, key, length) != 0) {
			return arg;
		}
	}
	return NULL;
}

Test(channel, threads_share_a_handle)
{
	pthread_t threads[4];
	char marks[4];
	void *failed;

	for (int i = 0; i < 4; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, set_and_get,
		    &marks[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(pthread_join(threads[i], &failed), 0);
		cr_assert_null(failed);
	}
	cr_assert_eq(atomic_load(&daemon.hellos), 1);
}
