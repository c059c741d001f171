/* SPDX-License-Identifier: ISC */

/*
 * The copies of racy_copy.h for the build with ThreadSanitizer; other builds
 * have them in the header.  Any process may call.
 */
#include "racy_copy.h"

#include <stdatomic.h>
#include <stdint.h>

#if SHM_TSAN

#define WORD_BYTES	sizeof(uint64_t)

/*
 * Whole words where the shared address allows it, else single bytes.  Every
 * load acquires and every store releases, in place of the fences that this
 * build leaves out: a reader that meets a byte of a writer has met all that
 * the writer did before it, the odd generation first of all.
 */
static uint64_t
load_word(const void *shared)
{
	return atomic_load_explicit((const _Atomic uint64_t *)shared,
	    memory_order_acquire);
}

static uint8_t
load_byte(const void *shared)
{
	return atomic_load_explicit((const _Atomic uint8_t *)shared,
	    memory_order_acquire);
}

static size_t
step_bytes(const uint8_t *shared, size_t left)
{
	return (uintptr_t)shared % WORD_BYTES == 0 && left >= WORD_BYTES ?
	    WORD_BYTES : 1;
}

void
racy_copy(void *own, const void *shared, size_t length)
{
	const uint8_t *from = shared;
	uint8_t *to = own;

	for (size_t i = 0, step; i < length; i += step) {
		step = step_bytes(from + i, length - i);
		if (step == WORD_BYTES) {
			uint64_t word = load_word(from + i);

			memcpy(to + i, &word, WORD_BYTES);
		} else {
			to[i] = load_byte(from + i);
		}
	}
}

bool
racy_equal(const void *shared, const void *own, size_t length)
{
	const uint8_t *one = shared;
	const uint8_t *other = own;

	for (size_t i = 0; i < length; i++) {
		if (load_byte(one + i) != other[i]) {
			return false;
		}
	}
	return true;
}

void
racy_fill(void *shared, const void *own, size_t length)
{
	const uint8_t *from = own;
	uint8_t *to = shared;

	for (size_t i = 0, step; i < length; i += step) {
		step = step_bytes(to + i, length - i);
		if (step == WORD_BYTES) {
			uint64_t word;

			memcpy(&word, from + i, WORD_BYTES);
			atomic_store_explicit(
			    (_Atomic uint64_t *)(void *)(to + i), word,
			    memory_order_release);
		} else {
			atomic_store_explicit((_Atomic uint8_t *)(to + i),
			    from[i], memory_order_release);
		}
	}
}

#endif
