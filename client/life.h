/* SPDX-License-Identifier: ISC */

/*
 * Is this the process that it was?  A page that the kernel wipes in the child
 * of a fork holds a number; a handle holds the number it last saw.  One load
 * and one compare instead of a system call.
 *
 *	parent		page = 1, handle = 1
 *	child		page = 0: takes the next number, page = 2;
 *			handle = 1: whoever sees the difference first makes
 *			the handle its own (handle = 2 | LIFE_CHANGING, then
 *			2), others wait for the 2
 *	grandchild	that was forked between the two: page = 0, takes 3
 */
#ifndef LIFE_H
#define LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#define LIFE_CHANGING	(UINT64_C(1) << 63)

/* Set by life_begin(), then read-only; the word is wiped by fork. */
extern _Atomic uint64_t *life_word;

/* Once per process and idempotent; false: no memory. */
bool	life_begin(void);

/* The number of this process; takes one after a fork. */
uint64_t life_number(void);

/*
 * The slow half of life_check(): the handle is another process's.  Forget
 * its socket, ring, requests and the lanes of threads that are not here.  The
 * mapping of the pool stays, and hits go on in it.
 */
void	life_adopt(struct weir *handle);

#endif
