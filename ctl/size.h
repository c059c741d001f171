/* SPDX-License-Identifier: ISC */

/*
 * Sizes as people write and read them: 4096, 64k, 2m, 1g, 1t.  A suffix
 * multiplies by powers of 1024; its case does not matter.
 */
#ifndef SIZE_H
#define SIZE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * False, with *size untouched, for anything else: empty, signed, zero, a
 * fraction, trailing bytes, more than 64 bits.
 */
bool	size_parse(const char *text, uint64_t *size);

#define SIZE_TEXT_BYTES	32u

/* "512 B", "64.0 MiB": one unit, one digit after the point. */
void	size_format(char text[SIZE_TEXT_BYTES], uint64_t size_bytes);

#endif
