/* SPDX-License-Identifier: ISC */

/*
 * Opening, connecting, being turned off, closing.
 */
#include "weir.h"

#include "fake_daemon.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(handle, options_out_of_range_are_invalid)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *handle;
	char name[POOL_NAME_BYTES + 1];

	cr_assert_eq(weir_open(NULL, NULL), WEIR_INVALID);
	options.size = 1;
	cr_assert_eq(weir_open(&handle, &options), WEIR_INVALID);
	cr_assert_null(handle);
	options.size = sizeof(options);
	memset(name, 'n', sizeof(name));
	name[POOL_NAME_BYTES] = '\0';
	options.pool = name;
	cr_assert_eq(weir_open(&handle, &options), WEIR_INVALID);
	options.pool = "";
	cr_assert_eq(weir_open(&handle, &options), WEIR_INVALID);
	weir_close(NULL);
}

Test(handle, without_a_daemon_every_call_says_no_server)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *handle;
	char buffer[4];

	options.socket_path = "/tmp/there/is/no/such/socket";
	cr_assert_eq(weir_open(&handle, &options), WEIR_OK);
	cr_assert_str_eq(weir_detail(handle), "");
	cr_assert_eq(weir_connect(handle), WEIR_NO_SERVER);
	cr_assert_neq(strstr(weir_detail(handle), options.socket_path), NULL);
	cr_assert_eq(weir_get(handle, "k", 1, buffer, 4, NULL, NULL),
	    WEIR_NO_SERVER);
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL),
	    WEIR_NO_SERVER);
	cr_assert_eq(weir_set_async(handle, "k", 1, "v", 1, NULL),
	    WEIR_NO_SERVER);
	cr_assert_eq(weir_ping(handle), WEIR_NO_SERVER);
	cr_assert_eq(weir_fd(handle), -1);
	cr_assert_eq(weir_value_max(handle), 0);
	weir_close(handle);
}

Test(handle, a_path_too_long_for_a_socket_is_invalid)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *handle;
	char path[200];

	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	options.socket_path = path;
	cr_assert_eq(weir_open(&handle, &options), WEIR_OK);
	cr_assert_eq(weir_connect(handle), WEIR_INVALID);
	weir_close(handle);
}

Test(handle, weir_disable_turns_everything_off)
{
	struct fake_daemon daemon;
	struct weir *handle;
	char buffer[4];

	fake_daemon_start(&daemon, NULL, 1);
	setenv("WEIR_DISABLE", "1", 1);
	handle = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_get(handle, "k", 1, buffer, 4, NULL, NULL),
	    WEIR_MISS);
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL),
	    WEIR_NO_SERVER);
	cr_assert_eq(weir_connect(handle), WEIR_NO_SERVER);
	weir_close(handle);
	cr_assert_eq(atomic_load(&daemon.hellos), 0);
	fake_daemon_stop(&daemon);
}

Test(handle, the_environment_names_the_socket)
{
	struct fake_daemon daemon;
	struct weir *handle;

	fake_daemon_start(&daemon, NULL, 1);
	setenv("WEIR_SOCKET", daemon.path, 1);
	cr_assert_eq(weir_open(&handle, NULL), WEIR_OK);
	cr_assert_eq(weir_connect(handle), WEIR_OK);
	cr_assert_eq(weir_connect(handle), WEIR_OK);
	cr_assert_gt(weir_value_max(handle), 1000);
	weir_close(handle);
	cr_assert_eq(atomic_load(&daemon.hellos), 1);
	fake_daemon_stop(&daemon);
}

Test(handle, a_refused_hello_says_why)
{
	struct fake_daemon daemon;
	struct weir *handle;

	fake_daemon_start(&daemon, NULL, 1);
	atomic_store(&daemon.fault, FAKE_DENIES);
	handle = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_connect(handle), WEIR_DENIED);
	cr_assert_str_eq(weir_detail(handle), "the list does not name you");
	atomic_store(&daemon.fault, FAKE_UNSEALED);
	cr_assert_eq(weir_connect(handle), WEIR_NOT_SEALED);
	atomic_store(&daemon.fault, FAKE_HONEST);
	cr_assert_eq(weir_connect(handle), WEIR_OK);
	weir_close(handle);
	fake_daemon_stop(&daemon);
}
