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

/*
 * weir_get() and weir_get_dup() with all that is known of the hit: of OK,
 * STALE, TOO_LARGE and GROWING; a negative entry is MISS, with *negative.
 * *now is the time of the look.
 */
struct get_look {
	struct read_hit	hit;
	struct boot_ms	now;
	bool		negative;
	struct lane	*lane;		/* of a hit */
	uint64_t	bypassed;	/* of a hit: see origin_bypass.h */
};
int	get_copy(struct weir *handle, const void *key, size_t key_length,
    void *buffer, size_t size, struct get_look *look);
int	get_dup(struct weir *handle, const void *key, size_t key_length,
    void **value, struct get_look *look);

#endif
