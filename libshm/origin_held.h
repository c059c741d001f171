/* SPDX-License-Identifier: ISC */

/*
 * Whose permits are out.  Daemon processes alone.
 */
#ifndef ORIGIN_HELD_H
#define ORIGIN_HELD_H

#include "origin.h"

/* As origin_release() takes it. */
struct origin_held {
	uint32_t	permit;
	bool		upload;
	uint64_t	token;
};

/*
 * Permits of that owner, uploads last, at most `most`, after *after, which is
 * all zero at first and the last of them then.  OK with *count, 0 if there is
 * none; BUSY: locked.
 */
enum result origin_list_held(struct origin *origin, uint64_t owner,
    struct origin_held *after, struct origin_held *held, uint32_t most,
    uint32_t *count, struct boot_ms now);

#endif
