/* SPDX-License-Identifier: ISC */

#include "size.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Each suffix is worth ten bits more than the one before. */
static const char suffixes[] = "kmgt";

bool
size_parse(const char *text, uint64_t *size)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'),
		    &value)) {
			return false;
		}
	}
	if (value == 0) {
		return false;	/* nothing is written as 0 too */
	}
	if (*at != '\0') {
		const char *suffix = strchr(suffixes, *at | 0x20);
		unsigned bits;

		if (suffix == NULL || at[1] != '\0') {
			return false;
		}
		bits = 10 * (unsigned)(suffix - suffixes + 1);
		if (value > UINT64_MAX >> bits) {
			return false;
		}
		value <<= bits;
	}
	*size = value;
	return true;
}

void
size_format(char text[SIZE_TEXT_BYTES], uint64_t size_bytes)
{
	static const char shown[] = "KMGTPE";
	unsigned step = 0;

	if (size_bytes < 1024) {
		(void)snprintf(text, SIZE_TEXT_BYTES, "%" PRIu64 " B",
		    size_bytes);
		return;
	}
	while (step + 1 < sizeof(shown) - 1 &&
	    size_bytes >> 10 * (step + 2) != 0) {
		step++;
	}
	(void)snprintf(text, SIZE_TEXT_BYTES, "%.1f %ciB",
	    (double)size_bytes / (double)(UINT64_C(1) << 10 * (step + 1)),
	    shown[step]);
}
