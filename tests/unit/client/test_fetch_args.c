/* SPDX-License-Identifier: ISC */

/*
 * Fetches that make no sense, without a daemon, and from within a callback.
 */
#include "weir.h"

#include "fetch_fixture.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(fetch_args, .init = fetch_begin, .fini = fetch_end);

Test(fetch_args, keys_of_no_length_or_too_many_bytes_are_invalid)
{
	static char key[1025];
	struct source source = fetch_source("value");
	int result;

	for (unsigned i = 0; i < 3; i++) {
		result = weir_fetch(fetch_handle, i == 0 ? NULL : key,
		    (size_t[]){ 1, 0, 1025 }[i], fetch_buffer, 16, NULL,
		    fetch_compute_source, &source, &fetch_said);
		cr_assert_eq(result, WEIR_KEY_INVALID);
		fetch_expect(0, WEIR_FROM_NONE, WEIR_KEY_INVALID, WEIR_OK);
	}
	cr_assert_eq(source.calls, 0);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 0);
	cr_assert_eq(weir_fetch(fetch_handle, key, 1024, fetch_buffer, 16,
	    NULL, fetch_compute_source, &source, &fetch_said), WEIR_OK);
	cr_assert_eq(source.calls, 1);
}

Test(fetch_args, options_without_sense_are_invalid_before_a_call)
{
	struct weir_fetch_options good = WEIR_FETCH_OPTIONS_INIT;
	struct weir_fetch_options bad[4];
	struct source source = fetch_source("value");
	char name[65] = { 0 };

	memset(name, 'n', 64);
	for (unsigned i = 0; i < 4; i++) {
		bad[i] = good;
	}
	bad[0].size++;
	bad[1].tag_count = 1;
	bad[2].jitter_percent = 101;
	bad[3].origin.name = name;
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(fetch_k(&bad[i], &source), WEIR_INVALID, "%u",
		    i);
		cr_assert_gt(strlen(weir_detail(fetch_handle)), 0);
	}
	cr_assert_eq(weir_fetch(fetch_handle, "k", 1, fetch_buffer, 16, NULL,
	    NULL, NULL, &fetch_said), WEIR_INVALID);
	cr_assert_eq(source.calls, 0);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 0);
}

Test(fetch_args, without_a_daemon_each_computes_alone_or_is_told)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("mine");

	weir_close(fetch_handle);
	fake_daemon_stop(&fetch_daemon);
	fetch_handle = fake_daemon_open(&fetch_daemon, 0);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(4, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_NO_SERVER);
	cr_assert_str_eq(fetch_buffer, "mine");
	cr_assert_eq(source.calls, 1);
	cr_assert_eq(source.released, 1);
	source.result = WEIR_MISS;
	cr_assert_eq(fetch_k(&options, &source), WEIR_MISS);
	fetch_expect(0, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_NO_SERVER);
	source.result = WEIR_FAILED;
	cr_assert_eq(fetch_k(&options, &source), WEIR_FAILED);
	options.no_alone = 1;
	cr_assert_eq(fetch_k(&options, &source), WEIR_NO_SERVER);
	fetch_expect(0, WEIR_FROM_NONE, WEIR_NO_SERVER, WEIR_OK);
	cr_assert_eq(source.calls, 3);
	fake_daemon_start(&fetch_daemon, fetch_daemon.path, 2);
}

Test(fetch_args, a_handle_that_is_turned_off_computes_alone)
{
	struct weir *kept = fetch_handle;
	struct source source = fetch_source("mine");

	(void)setenv("WEIR_DISABLE", "1", 1);
	fetch_handle = fake_daemon_open(&fetch_daemon, 0);
	(void)unsetenv("WEIR_DISABLE");
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	fetch_expect(4, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_NO_SERVER);
	weir_close(fetch_handle);
	fetch_handle = kept;
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 0);
}

static void
use_the_handle(struct source *source)
{
	struct source inner = fetch_source("inner");
	char value[8];

	(void)source;
	cr_assert_eq(weir_set(fetch_handle, "s", 1, "v", 1, NULL, NULL),
	    WEIR_OK);
	cr_assert_eq(weir_get(fetch_handle, "s", 1, value, 8, NULL, NULL),
	    WEIR_OK);
	cr_assert_eq(weir_fetch(fetch_handle, "other", 5, value, 8, NULL,
	    fetch_compute_source, &inner, NULL), WEIR_OK);
}

Test(fetch_args, a_callback_may_use_the_handle)
{
	struct source source = fetch_source("outer");

	source.meanwhile = use_the_handle;
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	fetch_expect(5, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "outer");
	/* Lease, inner lease and fill, fill. */
	cr_assert_eq(fake_lease_asked(&fetch_daemon, 3).end.permit.number, 1);
	/* Both by one thread: the daemon can tell a deadlock. */
	cr_assert_eq(fake_lease_asked(&fetch_daemon, 0).lease.thread,
	    fake_lease_asked(&fetch_daemon, 1).lease.thread);
}

static void
hang_up(struct source *source)
{
	(void)source;
	atomic_store(&fetch_daemon.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_ping(fetch_handle), WEIR_CLOSED);
}

Test(fetch_args, a_hang_up_during_the_callback_loses_nothing)
{
	struct source source = fetch_source("mine");

	source.meanwhile = hang_up;
	cr_assert_eq(fetch_k(NULL, &source), WEIR_OK);
	fetch_expect(4, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_CLAIM), 1);
}

static pid_t child;

static void
fork_here(struct source *source)
{
	(void)source;
	child = fork();
}

/* The lease is the parent's; the child has its value all the same. */
Test(fetch_args, a_callback_may_fork)
{
	struct source source = fetch_source("mine");
	int status = -1, result;

	source.meanwhile = fork_here;
	fake_lease_tell_end(&fetch_daemon, WEIR_LEASE_LOST, FAKE_AT_ONCE);
	result = fetch_k(NULL, &source);
	if (child == 0) {
		_exit(result == WEIR_OK &&
		    strcmp(fetch_buffer, "mine") == 0 ? 0 : 1);
	}
	cr_assert(wait_until_exit(child, 10000, &status));
	cr_assert_eq(status, 0);
	cr_assert_eq(result, WEIR_OK);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_FILL), 2);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_CLAIM), 0);
}
