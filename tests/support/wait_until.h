/* SPDX-License-Identifier: ISC */

/*
 * Waiting for something in a test: polled, with a deadline, never a fixed
 * sleep.  A deadline is how long a broken run hangs, not how long a good one
 * takes; seconds are fine.
 */
#ifndef WAIT_UNTIL_H
#define WAIT_UNTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef bool (wait_condition_fn)(void *argument);

/* True as soon as the condition is; false when `deadline_ms` have gone by. */
bool	wait_until(wait_condition_fn *condition, void *argument,
    uint32_t deadline_ms);

/* Waits for the word, which another process or thread stores (acquire). */
bool	wait_until_word(const _Atomic uint32_t *word, uint32_t value,
    uint32_t deadline_ms);

/*
 * Reaps the child and puts its waitpid() status in *status.  At the deadline
 * it is killed and reaped, and the answer is false.
 */
bool	wait_until_exit(pid_t child, uint32_t deadline_ms, int *status);

/* True when the process is stopped or dead, by its line in /proc. */
bool	wait_until_stopped(pid_t child, uint32_t deadline_ms);

#endif
