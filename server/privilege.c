/* SPDX-License-Identifier: ISC */

/*
 * Users, capabilities and the process flags that go with them.
 *
 * Capabilities the supervisor keeps, and why:
 *	CAP_KILL		stop and kill children, which are another
 *				user's; the kernel asks for it too when it
 *				kills them at the supervisor's death
 *	CAP_SETUID, CAP_SETGID	make a restarted child that user's
 *	CAP_NET_BIND_SERVICE	bind ports below 1024
 */
#include "privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT	(1u << CAP_KILL | 1u << CAP_SETUID | 1u << CAP_SETGID | \
		    1u << CAP_NET_BIND_SERVICE)

bool
privilege_find(struct privilege_identity *identity, const char *user)
{
	struct passwd *entry;

	identity->drop = geteuid() == 0;
	identity->uid = geteuid();
	identity->gid = getegid();
	if (!identity->drop) {
		return true;
	}
	entry = getpwnam(user);
	if (entry == NULL || entry->pw_uid == 0) {
		return false;
	}
	identity->uid = entry->pw_uid;
	identity->gid = entry->pw_gid;
	return true;
}

/* Not dumpable: nobody of the same user may trace or write to the process. */
static int
close_to_others(void)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) {
		return -1;
	}
	return setrlimit(RLIMIT_CORE, &none);
}

static int
keep_capabilities(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { 0 };

	/* The libc has no function for these two. */
	if (syscall(SYS_capget, &header, data) < 0) {
		return -1;
	}
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++) {
		bool kept = cap < 32 && (KEPT & 1u << cap) != 0;

		/* Unknown to an older kernel, or forbidden: no loss. */
		if (!kept) {
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
		}
	}
	data[0].permitted &= KEPT;
	data[0].effective = data[0].permitted;
	data[0].inheritable = 0;
	data[1] = (struct __user_cap_data_struct){ 0 };
	return (int)syscall(SYS_capset, &header, data);
}

int
privilege_reduce_supervisor(void)
{
	if (geteuid() == 0 && keep_capabilities() < 0) {
		return -1;
	}
	return close_to_others();
}

int
privilege_drop_child(const struct privilege_identity *identity, pid_t parent)
{
	if (identity->drop && (setgroups(0, NULL) < 0 ||
	    setresgid(identity->gid, identity->gid, identity->gid) < 0 ||
	    setresuid(identity->uid, identity->uid, identity->uid) < 0)) {
		return -1;
	}
	/* The change of user clears both of these, so they come after it. */
	if (close_to_others() < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) {
		return -1;
	}
	/* It may have died before the request stood. */
	if (getppid() != parent) {
		errno = ESRCH;
		return -1;
	}
	return 0;
}
