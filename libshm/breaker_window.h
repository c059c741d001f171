/* SPDX-License-Identifier: ISC */

/*
 * The rolling window of a breaker; breaker.c alone calls it, with the
 * origin's lock held.  breaker_window() of breaker.h is here too.
 */
#ifndef BREAKER_WINDOW_H
#define BREAKER_WINDOW_H

#include "breaker.h"

void	breaker_window_note(struct breaker *breaker,
    const struct breaker_config *config, uint64_t partition, bool failed,
    struct boot_ms now);

void	breaker_window_forget(struct breaker *breaker);

/* Enough outcomes, enough of them failures, in enough partitions. */
bool	breaker_window_is_bad(const struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now);

#endif
