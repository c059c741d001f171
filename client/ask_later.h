/* SPDX-License-Identifier: ISC */

/*
 * Keys that a thread does not ask about before a time, so that a value whose
 * refresh fails is served without a round trip for each hit.  A few rows to a
 * thread, by the hash of the key; one that is overwritten costs one request.
 */
#ifndef ASK_LATER_H
#define ASK_LATER_H

#include <stddef.h>
#include <stdint.h>

struct lane;

/* Own boot clock, ms. */
void	ask_later_note(struct lane *lane, const void *key, size_t key_length,
    uint64_t until_ms);
/* 0: at any time. */
uint64_t ask_later_until(const struct lane *lane, const void *key,
    size_t key_length);

#endif
