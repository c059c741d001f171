/* SPDX-License-Identifier: ISC */

/*
 * From an entry's header to what callers see of it.
 */
#ifndef INFO_H
#define INFO_H

#include "clock.h"
#include "entry.h"
#include "weir.h"

/* All but value_bytes and version of a chained value, and what a hit adds. */
void	info_fill(struct weir_info *info, const struct entry_head *head,
    uint64_t version, struct boot_ms now);

#endif
