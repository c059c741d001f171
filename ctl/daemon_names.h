/* SPDX-License-Identifier: ISC */

/*
 * The names of the daemon's pools and origins, for completion.  Where the
 * daemon does not answer at once there are none.  One thread.
 */
#ifndef DAEMON_NAMES_H
#define DAEMON_NAMES_H

#include <stddef.h>

struct connect;

/* Whom to ask; NULL: nobody. */
void	daemon_names_use(struct connect *link);

/*
 * The number-th name, NULL past the last; valid until number 0 of either is
 * asked for again, which asks the daemon.
 */
const char *daemon_names_pool(size_t number);
const char *daemon_names_origin(size_t number);

/* For the table of commands: the values of --pool. */
const char *daemon_names_value(const char *option, size_t number);

/* The same: the first word that follows a verb is an origin. */
const char *daemon_names_word(size_t position, size_t number);

#endif
