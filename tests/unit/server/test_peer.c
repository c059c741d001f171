/* SPDX-License-Identifier: ISC */

#include "peer.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

Test(peer, is_the_process_that_connected)
{
	struct peer peer;
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	cr_assert_eq(peer_read(fds[0], &peer), OK);
	cr_assert_eq(peer.pid, getpid());
	cr_assert_eq(peer.uid, geteuid());
	cr_assert(peer_in_group(&peer, getegid()));
	(void)close(fds[0]);
	(void)close(fds[1]);
}

Test(peer, has_a_descriptor_that_tells_of_its_end)
{
	struct pollfd poll_fd = { .events = POLLIN };
	struct peer peer;
	int fds[2], go[2];
	char byte = 0;
	pid_t child;

	cr_assert_eq(pipe(go), 0);
	child = fork();
	if (child == 0) {
		(void)close(go[1]);
		_exit(read(go[0], &byte, 1) == 0 ? 0 : 1);
	}
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	cr_assert_eq(peer_read(fds[0], &peer), OK);
	/* Of the child, by its number: the pair is this process's own. */
	peer.pid = child;
	poll_fd.fd = peer_open_pidfd(-1, &peer);
	if (poll_fd.fd >= 0) {
		cr_assert_eq(poll(&poll_fd, 1, 0), 0, "it lives");
		(void)close(go[1]);
		cr_assert_eq(poll(&poll_fd, 1, 5000), 1, "it ended");
		(void)close(poll_fd.fd);
	} else {
		(void)close(go[1]);
		cr_skip_test("the kernel has no pidfd_open");
	}
	cr_assert_eq(waitpid(child, NULL, 0), child);
}

Test(peer, uses_a_pool_if_the_list_names_it)
{
	struct peer peer = {
		.uid = 5, .gid = 6, .group_count = 1, .groups = { 7 },
	};
	struct config_access nobody = { 0 };
	struct config_access any = { .any = true };
	struct config_access user = { .user_count = 1, .users = { 5 } };
	struct config_access group = { .group_count = 1, .groups = { 7 } };
	struct config_access other = { .user_count = 1, .users = { 4 },
	    .group_count = 1, .groups = { 4 } };

	cr_assert_not(peer_may_use_pool(&peer, &nobody));
	cr_assert(peer_may_use_pool(&peer, &any));
	cr_assert(peer_may_use_pool(&peer, &user));
	cr_assert(peer_may_use_pool(&peer, &group));
	cr_assert_not(peer_may_use_pool(&peer, &other));
	peer.uid = 0;
	cr_assert_not(peer_may_use_pool(&peer, &other), "it binds root too");
}

Test(peer, has_an_admin_level_by_user_and_group)
{
	struct peer peer = { .uid = 5, .gid = 6 };
	gid_t none = (gid_t)-1;

	cr_assert_eq(peer_admin_level(&peer, 99, none, none),
	    PEER_LEVEL_NONE);
	cr_assert_eq(peer_admin_level(&peer, 5, none, none),
	    PEER_LEVEL_FULL);
	cr_assert_eq(peer_admin_level(&peer, 99, 6, none), PEER_LEVEL_FULL);
	cr_assert_eq(peer_admin_level(&peer, 99, none, 6), PEER_LEVEL_READ);
	peer.gid = none;
	cr_assert_eq(peer_admin_level(&peer, 99, none, none),
	    PEER_LEVEL_NONE, "no group is nobody's group");
	peer.uid = 0;
	cr_assert_eq(peer_admin_level(&peer, 99, none, none),
	    PEER_LEVEL_FULL);
}
