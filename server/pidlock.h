/* SPDX-License-Identifier: ISC */

/*
 * One daemon a directory: a lock on a file in it, held for life.  The
 * supervisor alone; a child does not hold it.
 */
#ifndef PIDLOCK_H
#define PIDLOCK_H

#include "result.h"

#include <sys/types.h>

/*
 * OK with the descriptor that holds the lock; BUSY with who holds it (0 if
 * that is not known); SYSTEM with errno.
 */
enum result pidlock_acquire(const char *path, int *fd, pid_t *holder);

#endif
