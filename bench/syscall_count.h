/* SPDX-License-Identifier: ISC */

/*
 * System calls that a piece of work makes, counted by tracing a forked
 * process that does it.  Benches' first process calls.
 */
#ifndef SYSCALL_COUNT_H
#define SYSCALL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Forks, runs set_up(argument), which is not counted, then work(argument).
 * work answers false if it failed.  The number of system calls, or -1 where
 * tracing is refused or the work failed.
 */
int64_t	syscall_count(void (*set_up)(void *argument),
	    bool (*work)(void *argument), void *argument);

#endif
