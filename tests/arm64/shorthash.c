/* SPDX-License-Identifier: ISC */

/*
 * SipHash-2-4 under libsodium's names, for the arm64 run, whose machine has
 * no arm64 libsodium.  test_hash.c holds it to the published vectors.
 * Nothing else is built with it.
 */
#include <sodium.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

struct sip {
	uint64_t	v[4];
};

static uint64_t
rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void
mix(struct sip *s, unsigned rounds)
{
	uint64_t *v = s->v;

	while (rounds-- > 0) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static void
take_word(struct sip *s, uint64_t word)
{
	s->v[3] ^= word;
	mix(s, 2);
	s->v[0] ^= word;
}

int
sodium_init(void)
{
	return 0;
}

void
randombytes_buf(void * const buf, const size_t size)
{
	/* Up to 256 bytes come whole; tests ask for keys. */
	if (getrandom(buf, size, 0) != (ssize_t)size) {
		__builtin_trap();
	}
}

int
crypto_shorthash(unsigned char *out, const unsigned char *in,
    unsigned long long in_len, const unsigned char *key)
{
	uint64_t k[2];
	uint64_t word;
	uint64_t last = (uint64_t)in_len << 56;
	struct sip s;

	memcpy(k, key, sizeof(k));
	s.v[0] = k[0] ^ UINT64_C(0x736f6d6570736575);
	s.v[1] = k[1] ^ UINT64_C(0x646f72616e646f6d);
	s.v[2] = k[0] ^ UINT64_C(0x6c7967656e657261);
	s.v[3] = k[1] ^ UINT64_C(0x7465646279746573);
	for (; in_len >= 8; in_len -= 8, in += 8) {
		memcpy(&word, in, sizeof(word));
		take_word(&s, word);
	}
	for (unsigned i = 0; i < in_len; i++) {
		last |= (uint64_t)in[i] << (8 * i);
	}
	take_word(&s, last);
	s.v[2] ^= 0xff;
	mix(&s, 4);
	word = s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
	memcpy(out, &word, sizeof(word));
	return 0;
}
