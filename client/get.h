/* SPDX-License-Identifier: ISC */

/*
 * What get.c and view.c share.
 */
#ifndef GET_H
#define GET_H

#include "reading.h"
#include "weir.h"

/* Of a hit; info may be NULL. */
void	get_fill_info(struct weir_info *info, const struct read_hit *hit,
    struct boot_ms now);

#endif
