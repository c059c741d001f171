/* SPDX-License-Identifier: ISC */

/*
 * The key hash against the published vectors of SipHash-2-4: key 00 to 0f,
 * input 00, 01, 02 and so on.
 */
#include "hash.h"

#include <criterion/criterion.h>

static struct hash_key
counting_key(void)
{
	struct hash_key key;

	for (uint8_t i = 0; i < sizeof(key.bytes); i++) {
		key.bytes[i] = i;
	}
	return key;
}

Test(hash, gives_the_published_vectors)
{
	static const struct {
		size_t		length;
		uint64_t	hash;
	} vectors[] = {
		{ 0, UINT64_C(0x726fdb47dd0e0e31) },
		{ 1, UINT64_C(0x74f839c593dc67fd) },
		{ 8, UINT64_C(0x93f5f5799a932462) },
		{ 15, UINT64_C(0xa129ca6149be45e5) },
		{ 63, UINT64_C(0x958a324ceb064572) },
	};
	struct hash_key key = counting_key();
	uint8_t input[64];

	for (uint8_t i = 0; i < sizeof(input); i++) {
		input[i] = i;
	}
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		uint64_t hash = hash_bytes(&key, input, vectors[i].length);

		cr_assert_eq(hash, vectors[i].hash, "length %zu: %jx",
		    vectors[i].length, (uintmax_t)hash);
	}
}

Test(hash, needs_no_alignment)
{
	struct hash_key key = counting_key();
	uint8_t input[16];

	for (uint8_t i = 0; i < 15; i++) {
		input[i + 1] = i;
	}
	cr_assert_eq(hash_bytes(&key, input + 1, 15),
	    UINT64_C(0xa129ca6149be45e5));
}

Test(hash, every_bit_of_the_key_matters)
{
	struct hash_key key = counting_key();
	uint64_t first = hash_bytes(&key, "weir", 4);

	for (size_t bit = 0; bit < 8 * sizeof(key.bytes); bit++) {
		struct hash_key other = key;

		other.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		cr_assert_neq(hash_bytes(&other, "weir", 4), first,
		    "bit %zu", bit);
	}
}
