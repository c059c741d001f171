/* SPDX-License-Identifier: ISC */

/*
 * The keyed hash that places keys: SipHash-2-4, 64 bits.  Any process may
 * call; no state, no set-up.
 *
 * The key is random and belongs to the pool, so that whoever supplies cache
 * keys from outside cannot aim at one shard or one bucket.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint8_t	bytes[16];
};
_Static_assert(sizeof(struct hash_key) == 16, "the hash key is shared");

/* The same number on every machine, whatever its byte order. */
uint64_t hash_bytes(const struct hash_key *key, const void *bytes,
    size_t length);

#endif
