/* SPDX-License-Identifier: ISC */

/*
 * Hints, counts and asynchronous stores.
 */
#include "weir.h"

#include "fake_daemon.h"
#include "handle.h"
#include "lane.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fake_daemon daemon;
static struct weir *handle;

static void
setup(void)
{
	fake_daemon_start(&daemon, NULL, 1);
	handle = fake_daemon_open(&daemon, 0);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&daemon);
}

TestSuite(ring_out, .init = setup, .fini = teardown);

Test(ring_out, flush_waits_for_all_that_was_queued)
{
	uint64_t failed;
	char key[16], buffer[16];
	size_t length;

	for (int i = 0; i < 100; i++) {
		(void)snprintf(key, sizeof(key), "key %d", i);
		cr_assert_eq(weir_set_async(handle, key, strlen(key), key,
		    strlen(key), NULL), WEIR_OK, "%s", weir_detail(handle));
	}
	cr_assert_eq(weir_flush(handle, &failed), WEIR_OK);
	cr_assert_eq(failed, 0);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(key, sizeof(key), "key %d", i);
		cr_assert_eq(weir_get(handle, key, strlen(key), buffer, 16,
		    &length, NULL), WEIR_OK);
		cr_assert_eq(length, strlen(key));
	}
	cr_assert_eq(weir_flush(handle, NULL), WEIR_OK);
}

Test(ring_out, a_later_request_finds_what_was_queued_before)
{
	for (int i = 0; i < 50; i++) {
		cr_assert_eq(weir_set_async(handle, "k", 1, "v", 1, NULL), 0);
		cr_assert_eq(weir_delete(handle, "k", 1, 0), WEIR_OK);
	}
}

Test(ring_out, refused_stores_are_told_by_the_flush)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	uint64_t failed;

	options.when = WEIR_IF_ABSENT;
	cr_assert_eq(weir_set_async(handle, "k", 1, "1", 1, &options), 0);
	cr_assert_eq(weir_set_async(handle, "k", 1, "2", 1, &options), 0);
	cr_assert_eq(weir_set_async(handle, "k", 1, "3", 1, &options), 0);
	cr_assert_eq(weir_flush(handle, &failed), WEIR_OK);
	cr_assert_eq(failed, 2);
	cr_assert_eq(weir_flush(handle, &failed), WEIR_OK);
	cr_assert_eq(failed, 0);
}

Test(ring_out, a_value_too_long_for_the_ring_goes_the_way_of_set)
{
	static char big[20000];
	size_t length;

	cr_assert_eq(weir_set_async(handle, "big", 3, big, sizeof(big),
	    NULL), WEIR_OK);
	cr_assert_eq(weir_get(handle, "big", 3, big, sizeof(big), &length,
	    NULL), WEIR_OK);
	cr_assert_eq(length, sizeof(big));
	cr_assert_eq(weir_set_async(handle, "big", 3, big,
	    weir_value_max(handle) + 1, NULL), WEIR_TOO_LARGE);
	cr_assert_eq(weir_set_async(handle, "", 0, "v", 1, NULL),
	    WEIR_KEY_INVALID);
}

Test(ring_out, a_lost_connection_is_told_with_the_number_of_stores)
{
	uint64_t failed;

	cr_assert_eq(weir_set_async(handle, "k", 1, "1", 1, NULL), WEIR_OK);
	cr_assert_eq(weir_set_async(handle, "l", 1, "2", 1, NULL), WEIR_OK);
	atomic_store(&daemon.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_flush(handle, &failed), WEIR_CLOSED);
	cr_assert_eq(failed, 2);
	cr_assert_eq(weir_set_async(handle, "m", 1, "3", 1, NULL), WEIR_OK);
	cr_assert_eq(weir_flush(handle, &failed), WEIR_OK);
	cr_assert_eq(failed, 0);
}

static bool
get_until_hinted(void *argument)
{
	char buffer[4];

	(void)weir_get(handle, "k", 1, buffer, 4, NULL, NULL);
	return atomic_load((_Atomic unsigned *)argument) > 0;
}

Test(ring_out, hits_are_hinted_until_the_count_is_full_and_then_silent)
{
	struct read_hit hit;
	struct key key;
	unsigned hints;

	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert(wait_until(get_until_hinted, &daemon.hints, 10000));
	/* What lies in the ring by now is drained before a request. */
	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 20; j++) {
			(void)get_until_hinted(&daemon.hints);
		}
		cr_assert_eq(weir_ping(handle), WEIR_OK);
	}
	cr_assert_eq(key_init(&key, &daemon.pool, "k", 1), OK);
	cr_assert_eq(read_peek(&daemon.pool, &key, clock_boot_now(), &hit),
	    OK);
	cr_assert_eq(slot_count(hit.slot_word), SLOT_COUNT_MAX);
	hints = atomic_load(&daemon.hints);
	for (int i = 0; i < 200; i++) {
		(void)get_until_hinted(&daemon.hints);
	}
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_leq(atomic_load(&daemon.hints), hints + 8);
}

Test(ring_out, hints_of_a_window_are_bounded)
{
	uint64_t start, windows;
	char key[16], buffer[4];

	for (int i = 0; i < 20000; i++) {
		int length = snprintf(key, sizeof(key), "key %d", i);

		while (weir_set_async(handle, key, (size_t)length, "v", 1,
		    NULL) == WEIR_FULL) {
			(void)weir_ping(handle);
		}
	}
	cr_assert_eq(weir_flush(handle, NULL), WEIR_OK);
	start = clock_boot_now().ms;
	for (int i = 0; i < 20000; i++) {
		int length = snprintf(key, sizeof(key), "key %d", i);

		(void)weir_get(handle, key, (size_t)length, buffer, 4, NULL,
		    NULL);
	}
	windows = (clock_boot_now().ms - start) / LANE_WINDOW_MS + 2;
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_gt(atomic_load(&daemon.hints), 0);
	cr_assert_leq(atomic_load(&daemon.hints), windows *
	    LANE_WINDOW_HINTS, "%u hints in %llu windows",
	    atomic_load(&daemon.hints), (unsigned long long)windows);
}

static bool
all_told(void *argument)
{
	return atomic_load(&daemon.hits_told) +
	    atomic_load(&daemon.misses_told) == *(uint64_t *)argument;
}

Test(ring_out, counts_are_told_whole_by_the_close)
{
	struct weir *other = fake_daemon_open(&daemon, 0);
	uint64_t count = 0;
	char buffer[4];

	cr_assert_eq(weir_set(other, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_set_async(other, "l", 1, "v", 1, NULL), 0);
	for (; count < 1000; count++) {
		(void)weir_get(other, count % 2 == 0 ? "k" : "n", 1, buffer,
		    4, NULL, NULL);
	}
	weir_close(other);
	cr_assert(wait_until(all_told, &count, 5000));
	cr_assert_eq(atomic_load(&daemon.hits_told), 500);
}

Test(ring_out, no_hints_tells_nothing)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *quiet;
	char buffer[4];

	options.socket_path = daemon.path;
	options.no_hints = 1;
	cr_assert_eq(weir_open(&quiet, &options), 0);
	cr_assert_eq(weir_set(quiet, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_set_async(quiet, "l", 1, "v", 1, NULL), 0);
	for (int i = 0; i < 100; i++) {
		(void)weir_get(quiet, "k", 1, buffer, 4, NULL, NULL);
	}
	cr_assert_eq(weir_flush(quiet, NULL), WEIR_OK);
	weir_close(quiet);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(atomic_load(&daemon.hints), 0);
	cr_assert_eq(atomic_load(&daemon.hits_told), 0);
}
