/* SPDX-License-Identifier: ISC */

/*
 * Ctrl-C stops the running verb, not the shell: the one file of weir-ctl
 * that sees a signal.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <stdatomic.h>

/* SIGINT sets the flag from now on, and ends no process. */
void	interrupt_init(void);

/* True from a SIGINT until it is cleared. */
const atomic_bool *interrupt_flag(void);

void	interrupt_clear(void);

#endif
