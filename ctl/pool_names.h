/* SPDX-License-Identifier: ISC */

/*
 * The names of the daemon's pools, for completion of --pool.  Where the
 * daemon does not answer at once there are none.  One thread.
 */
#ifndef POOL_NAMES_H
#define POOL_NAMES_H

#include <stddef.h>

struct connect;

/* Whom to ask; NULL: nobody. */
void	pool_names_use(struct connect *link);

/*
 * The number-th name, NULL past the last; valid until number 0 is asked for
 * again, which asks the daemon.
 */
const char *pool_names_at(size_t number);

/* The same for the table of commands: the values of --pool. */
const char *pool_names_value(const char *option, size_t number);

#endif
