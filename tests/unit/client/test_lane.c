/* SPDX-License-Identifier: ISC */

/*
 * Lanes: one to a thread and handle, used again when the thread has ended.
 */
#include "lane.h"

#include "fake_daemon.h"

#include <criterion/criterion.h>
#include <string.h>

static unsigned
count_lanes(struct weir *handle)
{
	unsigned count = 0;
	struct lane *lane = atomic_load(&handle->lanes);

	for (; lane != NULL; lane = lane->next_of_handle) {
		count++;
	}
	return count;
}

static struct weir *
open_nowhere(void)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *handle;

	options.socket_path = "/tmp/there/is/no/such/socket";
	cr_assert_eq(weir_open(&handle, &options), WEIR_OK);
	return handle;
}

static void *
find_lane(void *arg)
{
	return lane_of(arg);
}

static struct lane *
lane_of_a_thread(struct weir *handle)
{
	pthread_t thread;
	void *lane;

	cr_assert_eq(pthread_create(&thread, NULL, find_lane, handle), 0);
	cr_assert_eq(pthread_join(thread, &lane), 0);
	return lane;
}

Test(lane, a_thread_keeps_its_lane_and_a_dead_one_leaves_it)
{
	struct weir *handle = open_nowhere();
	struct lane *own = lane_of(handle);

	cr_assert_eq(lane_of(handle), own);
	for (int i = 0; i < 10; i++) {
		cr_assert_neq(lane_of_a_thread(handle), own);
	}
	cr_assert_eq(count_lanes(handle), 2);
	weir_close(handle);
}

Test(lane, handles_do_not_share_lanes)
{
	struct weir *a = open_nowhere(), *b = open_nowhere();

	cr_assert_neq(lane_of(a), lane_of(b));
	cr_assert_eq(lane_of(a)->handle_serial, a->serial);
	cr_assert_eq(lane_of(b)->handle_serial, b->serial);
	weir_close(a);
	cr_assert_eq(lane_of(b)->handle_serial, b->serial);
	weir_close(b);
}

static void *
use_and_outlive(void *arg)
{
	struct weir **handles = arg;

	/* The first handle is closed by the time of the second look. */
	(void)lane_of(handles[0]);
	weir_close(handles[0]);
	return lane_of(handles[1]);
}

Test(lane, a_thread_outlives_a_handle)
{
	struct weir *handles[2] = { open_nowhere(), open_nowhere() };
	pthread_t thread;
	void *lane;

	(void)lane_of(handles[0]);
	cr_assert_eq(pthread_create(&thread, NULL, use_and_outlive, handles),
	    0);
	cr_assert_eq(pthread_join(thread, &lane), 0);
	cr_assert_not_null(lane);
	(void)lane_of(handles[1]);
	weir_close(handles[1]);
}

Test(lane, errors_are_told_to_their_own_thread)
{
	struct weir *handle = open_nowhere();

	cr_assert_eq(weir_ping(handle), WEIR_NO_SERVER);
	cr_assert_gt(strlen(weir_detail(handle)), 0);
	cr_assert_eq(lane_of_a_thread(handle)->detail[0], '\0');
	weir_close(handle);
}
