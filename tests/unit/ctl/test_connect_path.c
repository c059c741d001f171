/* SPDX-License-Identifier: ISC */

#include "connect_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

Test(connect_path, is_below_the_directory_that_was_named)
{
	char path[21];

	cr_assert(connect_path(path, sizeof(path), "/a/b"));
	cr_assert_str_eq(path, "/a/b/admin.sock");
	cr_assert(connect_path(path, sizeof(path), "/12345678"));
	cr_assert_not(connect_path(path, sizeof(path), "/123456789"));
}

/* Root has one place, whatever the environment; others look first. */
Test(connect_path, without_a_name_is_where_a_socket_is)
{
	char folder[] = "/tmp/connect_pathXXXXXX";
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	char socket_folder[64];
	char path[108];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	cr_assert_geq(fd, 0);
	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(socket_folder, sizeof(socket_folder), "%s/weir",
	    folder);
	(void)snprintf(own.sun_path, sizeof(own.sun_path), "%s/admin.sock",
	    socket_folder);
	cr_assert_eq(setenv("TMPDIR", folder, 1), 0);
	cr_assert_eq(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
	cr_assert(connect_path(path, sizeof(path), NULL));
	cr_assert_str_eq(path, "/run/weir/admin.sock");

	cr_assert_eq(mkdir(socket_folder, 0700), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	cr_assert(connect_path(path, sizeof(path), NULL));
	cr_assert_str_eq(path, geteuid() == 0 ? "/run/weir/admin.sock" :
	    own.sun_path);
	(void)close(fd);
	(void)unlink(own.sun_path);
	(void)rmdir(socket_folder);
	(void)rmdir(folder);
}
