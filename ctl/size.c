/* SPDX-License-Identifier: ISC */

#include "size.h"

#include <stddef.h>
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
