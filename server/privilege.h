/* SPDX-License-Identifier: ISC */

/*
 * Giving up rights: the supervisor keeps what it needs for its children,
 * the children keep nothing.
 */
#ifndef PRIVILEGE_H
#define PRIVILEGE_H

#include <stdbool.h>
#include <sys/types.h>

struct privilege_identity {
	bool		drop;		/* false: not root, stay who we are */
	uid_t		uid;
	gid_t		gid;
};

/* Who children are to be.  False if root is to be dropped for nobody. */
bool	privilege_find(struct privilege_identity *identity, const char *user);

/*
 * Supervisor, after all that root was needed for: no new rights by exec, no
 * core dump, no tracing by others; if root, all capabilities but those that
 * start, drop and signal children.  0, or -1 with errno.
 */
int	privilege_reduce_supervisor(void);

/*
 * Child: become the identity for good, with no rights beyond it; then die
 * with the parent, which must still be the one of that pid.  0, or -1 with
 * errno (ESRCH: the parent is gone).
 */
int	privilege_drop_child(const struct privilege_identity *identity,
    pid_t parent);

#endif
