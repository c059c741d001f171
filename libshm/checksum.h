/* SPDX-License-Identifier: ISC */

/*
 * The checksum of stored records: 32 bits of XXH3.  Any process may call; no
 * state, no allocation.
 *
 * It finds damage, not malice: it has no key, and anyone can compute it.
 */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * One sum over two parts that need not be adjacent.  A byte that moves from
 * one part to the other changes it.  A part of length 0 may be NULL.
 */
uint32_t checksum_parts(const void *head, size_t head_len, const void *body,
    size_t body_len);

#endif
