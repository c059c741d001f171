/* SPDX-License-Identifier: ISC */

/*
 * SipHash-2-4 through libsodium.  Any process may call.
 */
#include "hash.h"

#include <endian.h>
#include <sodium/crypto_shorthash.h>

_Static_assert(sizeof(struct hash_key) == crypto_shorthash_KEYBYTES,
    "the hash key is the library's key");
_Static_assert(sizeof(uint64_t) == crypto_shorthash_BYTES,
    "the hash has 64 bits");

uint64_t
hash_bytes(const struct hash_key *key, const void *bytes, size_t length)
{
	uint64_t hash;

	/* Always 0: the function has no way to fail. */
	(void)crypto_shorthash((unsigned char *)&hash, bytes, length,
	    key->bytes);
	return le64toh(hash);	/* little-endian by definition */
}
