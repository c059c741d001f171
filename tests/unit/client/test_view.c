/* SPDX-License-Identifier: ISC */

/*
 * Views: valid until their bytes may be others, and checked like any input.
 */
#include "weir.h"

#include "fake_daemon.h"

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

TestSuite(view, .init = setup, .fini = teardown);

Test(view, shows_the_value_where_it_lies)
{
	struct weir_view view;
	struct weir_info info;

	cr_assert_eq(weir_set(handle, "k", 1, "0123456789", 10, NULL, NULL),
	    0);
	cr_assert_eq(weir_view(handle, "k", 1, 4, &view, &info), WEIR_OK);
	cr_assert_eq(view.part_count, 1);
	cr_assert_eq(view.bytes, 6);
	cr_assert_eq(view.value_bytes, 10);
	cr_assert_eq(info.value_bytes, 10);
	cr_assert_arr_eq((char *)view.part[0].iov_base, "456789", 6);
	cr_assert(weir_view_valid(handle, &view));
	cr_assert_eq(weir_view(handle, "k", 1, 11, &view, NULL),
	    WEIR_INVALID);
	cr_assert_not(weir_view_valid(handle, &view));
	cr_assert_eq(weir_view(handle, "none", 4, 0, &view, NULL), WEIR_MISS);
	cr_assert_eq(weir_view(handle, "", 0, 0, &view, NULL),
	    WEIR_KEY_INVALID);
}

Test(view, is_not_valid_once_its_extent_was_reused)
{
	static char filler[16000];
	struct weir_view view;
	char key[24];

	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_view(handle, "k", 1, 0, &view, NULL), WEIR_OK);
	for (int i = 0; i < 600; i++) {
		(void)snprintf(key, sizeof(key), "filler %d", i);
		cr_assert_eq(weir_set(handle, key, strlen(key), filler,
		    sizeof(filler), NULL, NULL), 0);
	}
	cr_assert_not(weir_view_valid(handle, &view));
}

Test(view, a_scribbled_secret_is_not_valid)
{
	struct weir_view view, scribbled;

	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_view(handle, "k", 1, 0, &view, NULL), WEIR_OK);
	for (unsigned i = 0; i < 4; i++) {
		scribbled = view;
		scribbled.secret[i] = UINT64_MAX / 2;
		cr_assert_not(weir_view_valid(handle, &scribbled),
		    "word %u", i);
	}
}

Test(view, of_a_daemon_that_is_gone_stays_mapped_and_is_not_valid)
{
	struct fake_daemon next;
	struct weir_view view;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s", daemon.path);
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_view(handle, "k", 1, 0, &view, NULL), WEIR_OK);
	fake_daemon_stop(&daemon);
	fake_daemon_start(&next, path, 2);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(*(char *)view.part[0].iov_base, 'v');
	cr_assert_not(weir_view_valid(handle, &view));
	weir_close(handle);
	fake_daemon_stop(&next);
	setup();
}
