/* SPDX-License-Identifier: ISC */

/*
 * Ages and times left, in ms.  Pure.
 */
#include "info.h"

#include <string.h>

static uint64_t
left_ms(const struct entry_head *head, uint32_t span, struct boot_ms now)
{
	uint64_t at_ms = entry_expiry_ms(head, span);

	if (at_ms == UINT64_MAX) {
		return UINT64_MAX;
	}
	return at_ms > now.ms ? at_ms - now.ms : 0;
}

void
info_fill(struct weir_info *info, const struct entry_head *head,
    uint64_t version, struct boot_ms now)
{
	memset(info, 0, sizeof(*info));
	info->version = version;
	info->value_bytes = head->value_bytes;
	info->age_ms = now.ms > head->created_ms ?
	    now.ms - head->created_ms : 0;
	info->ttl_ms = left_ms(head, head->hard, now);
	info->soft_ttl_ms = left_ms(head, head->soft, now);
	info->is_counter = (head->flags & ENTRY_COUNTER) != 0;
}
