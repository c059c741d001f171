/* SPDX-License-Identifier: ISC */

/*
 * Where the socket is when nobody says so.  Each test is a process of its
 * own, so that it may change its user.
 */
#include "socket_path.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOMEBODY	54321

static void
make_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
	    path);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&address,
	    sizeof(address)), 0);
	close(fd);
}

Test(socket_path, without_anything_it_is_the_systems)
{
	char path[SOCKET_PATH_BYTES];

	setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
	setenv("TMPDIR", "/nowhere", 1);
	cr_assert_str_eq(socket_path_default(path), "/run/weir/weird.sock");
}

Test(socket_path, a_user_has_his_own_first)
{
	char folder[] = "/tmp/weir-path-XXXXXX";
	char weir[64], wanted[96], path[SOCKET_PATH_BYTES];

	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chmod(folder, 0777), 0);
	if (geteuid() == 0) {
		cr_assert_eq(seteuid(SOMEBODY), 0);
	}
	(void)snprintf(weir, sizeof(weir), "%s/weir-%u", folder,
	    (unsigned)geteuid());
	(void)snprintf(wanted, sizeof(wanted), "%s/weird.sock", weir);
	cr_assert_eq(mkdir(weir, 0700), 0);
	make_socket(wanted);
	unsetenv("XDG_RUNTIME_DIR");
	setenv("TMPDIR", folder, 1);
	cr_assert_str_eq(socket_path_default(path), wanted);
	/* Others may write to it: not believed. */
	cr_assert_eq(chmod(weir, 0777), 0);
	cr_assert_str_eq(socket_path_default(path), "/run/weir/weird.sock");
	(void)unlink(wanted);
	(void)rmdir(weir);
	(void)rmdir(folder);
}
