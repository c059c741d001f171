/* SPDX-License-Identifier: ISC */

/*
 * Handles over a fork.
 */
#include "weir.h"

#include "fake_daemon.h"
#include "wait_until.h"

#include <criterion/criterion.h>
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
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_set_async(handle, "l", 1, "v", 1, NULL), 0);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&fake);
}

TestSuite(life, .init = setup, .fini = teardown);

/* What a child does; its exit status is the number of the step that failed. */
static int
use_inherited(void)
{
	char buffer[4];
	uint64_t failed;

	if (weir_get(handle, "k", 1, buffer, 4, NULL, NULL) != WEIR_OK) {
		return 1;
	}
	if (weir_set(handle, "child", 5, "c", 1, NULL, NULL) != WEIR_OK) {
		return 2;
	}
	if (weir_set_async(handle, "async", 5, "c", 1, NULL) != WEIR_OK) {
		return 3;
	}
	if (weir_flush(handle, &failed) != WEIR_OK || failed != 0) {
		return 4;
	}
	weir_close(handle);
	return 0;
}

static int
status_of(pid_t child)
{
	int status = -1;

	cr_assert(wait_until_exit(child, 10000, &status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

Test(life, a_child_goes_on_with_a_connection_of_its_own)
{
	char buffer[4];
	pid_t child = fork();

	if (child == 0) {
		_exit(use_inherited());
	}
	cr_assert_eq(status_of(child), 0);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(weir_get(handle, "child", 5, buffer, 4, NULL, NULL),
	    WEIR_OK);
	cr_assert_eq(weir_get(handle, "async", 5, buffer, 4, NULL, NULL),
	    WEIR_OK);
	cr_assert_eq(atomic_load(&fake.hellos), 2);
}

Test(life, a_grandchild_goes_on_too)
{
	pid_t child = fork();

	if (child == 0) {
		pid_t grandchild = fork();
		int status;

		if (grandchild == 0) {
			_exit(use_inherited());
		}
		if (waitpid(grandchild, &status, 0) != grandchild ||
		    status != 0) {
			_exit(100);
		}
		_exit(weir_after_fork(handle) == WEIR_OK ?
		    use_inherited() : 5);
	}
	cr_assert_eq(status_of(child), 0);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(atomic_load(&fake.hellos), 3);
}

Test(life, what_the_parent_queued_is_not_counted_in_the_child)
{
	uint64_t failed = 7;
	pid_t child = fork();

	if (child == 0) {
		_exit(weir_flush(handle, &failed) == WEIR_OK &&
		    failed == 0 ? 0 : 1);
	}
	cr_assert_eq(status_of(child), 0);
	cr_assert_eq(weir_flush(handle, &failed), WEIR_OK);
	cr_assert_eq(failed, 0);
}

static _Atomic bool stop;

static void *
keep_locked(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		(void)weir_ping(handle);
	}
	return NULL;
}

Test(life, a_lock_that_another_thread_held_does_not_hang_the_child)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, keep_locked, NULL), 0);
	for (int i = 0; i < 20; i++) {
		char buffer[4];
		pid_t child = fork();

		if (child == 0) {
			int result = weir_get(handle, "k", 1, buffer, 4,
			    NULL, NULL);

			weir_close(handle);
			_exit(result == WEIR_OK ? 0 : 1);
		}
		cr_assert_eq(status_of(child), 0);
	}
	atomic_store(&stop, true);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}
