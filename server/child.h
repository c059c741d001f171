/* SPDX-License-Identifier: ISC */

/*
 * From the fork to a child's own code.  The supervisor calls, from its only
 * thread.
 */
#ifndef CHILD_H
#define CHILD_H

#include <sys/types.h>

#include "heritage.h"
#include "privilege.h"

/*
 * Start process number index of the control table: a worker, or the keeper
 * behind the last.  The pid, or -1 with errno.  The child never returns.
 */
pid_t	child_start(struct heritage *heritage, uint32_t index,
    const struct privilege_identity *identity);

/* "worker-3" or "keeper", for people. */
const char *child_name(const struct heritage *heritage, uint32_t index,
    char *out, size_t room);

#endif
