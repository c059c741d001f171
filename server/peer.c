/* SPDX-License-Identifier: ISC */

/*
 * Peer credentials.
 */
#include "peer.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Known to the kernel (6.5) before Debian 12's headers name it. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif

enum result
peer_read(int fd, struct peer *peer)
{
	struct ucred cred;
	socklen_t length = sizeof(cred);

	memset(peer, 0, sizeof(*peer));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) < 0 ||
	    length != sizeof(cred)) {
		return SYSTEM;
	}
	peer->pid = cred.pid;
	peer->uid = cred.uid;
	peer->gid = cred.gid;
	length = sizeof(peer->groups);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer->groups,
	    &length) == 0) {
		peer->group_count = (uint32_t)(length / sizeof(gid_t));
	}
	return OK;
}

int
peer_open_pidfd(int fd, const struct peer *peer)
{
	int pidfd = -1;
	socklen_t length = sizeof(pidfd);

	/* Of the very process, however often its number was reused. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0) {
		return pidfd;
	}
	if (peer->pid <= 0) {
		return -1;
	}
	/*
	 * Were the number another process's by now, the end of that one would
	 * be taken for the client's; the client reconnects then.
	 */
	return (int)syscall(SYS_pidfd_open, peer->pid, 0);
}

bool
peer_in_group(const struct peer *peer, gid_t group)
{
	if (group == (gid_t)-1) {
		return false;
	}
	if (peer->gid == group) {
		return true;
	}
	for (uint32_t i = 0; i < peer->group_count; i++) {
		if (peer->groups[i] == group) {
			return true;
		}
	}
	return false;
}

bool
peer_may_use_pool(const struct peer *peer, const struct config_access *access)
{
	if (access->any) {
		return true;
	}
	for (uint32_t i = 0; i < access->user_count &&
	    i < CONFIG_IDS_MAX; i++) {
		if (access->users[i] == peer->uid) {
			return true;
		}
	}
	for (uint32_t i = 0; i < access->group_count &&
	    i < CONFIG_IDS_MAX; i++) {
		if (peer_in_group(peer, access->groups[i])) {
			return true;
		}
	}
	return false;
}

enum peer_level
peer_admin_level(const struct peer *peer, uid_t own_uid, gid_t admin_group,
    gid_t admin_read_group)
{
	if (peer->uid == 0 || peer->uid == own_uid ||
	    peer_in_group(peer, admin_group)) {
		return PEER_LEVEL_FULL;
	}
	return peer_in_group(peer, admin_read_group) ? PEER_LEVEL_READ :
	    PEER_LEVEL_NONE;
}
