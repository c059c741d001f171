/* SPDX-License-Identifier: ISC */

#include "duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS_PER_S	UINT64_C(1000)
#define MS_PER_MIN	(60 * MS_PER_S)
#define MS_PER_H	(60 * MS_PER_MIN)
#define MS_PER_D	(24 * MS_PER_H)

static const struct unit {
	const char	*written;
	const char	*shown;
	uint64_t	ms;
} units[] = {
	{ "d", "d", MS_PER_D },
	{ "h", "h", MS_PER_H },
	{ "m", "min", MS_PER_MIN },
	{ "s", "s", MS_PER_S },
	{ "ms", "ms", 1 },
};
#define UNIT_COUNT	(sizeof(units) / sizeof(units[0]))

bool
duration_parse(const char *text, uint64_t *ms)
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
	if (at == text) {
		return false;
	}
	if (*at == '\0' && value == 0) {
		*ms = 0;
		return true;
	}
	for (size_t i = 0; i < UNIT_COUNT; i++) {
		if (strcmp(at, units[i].written) == 0) {
			if (__builtin_mul_overflow(value, units[i].ms,
			    &value)) {
				return false;
			}
			*ms = value;
			return true;
		}
	}
	return false;
}

void
duration_format(char text[DURATION_TEXT_BYTES], uint64_t ms)
{
	size_t i = 0;

	if (ms < MS_PER_S) {
		(void)snprintf(text, DURATION_TEXT_BYTES, "%" PRIu64 " ms",
		    ms);
		return;
	}
	if (ms < MS_PER_MIN) {
		(void)snprintf(text, DURATION_TEXT_BYTES,
		    "%" PRIu64 ".%" PRIu64 " s", ms / MS_PER_S,
		    ms % MS_PER_S / 100);
		return;
	}
	while (units[i].ms > ms) {
		i++;
	}
	/* A minute or more: there is a smaller unit behind. */
	(void)snprintf(text, DURATION_TEXT_BYTES,
	    "%" PRIu64 " %s %" PRIu64 " %s", ms / units[i].ms,
	    units[i].shown, ms % units[i].ms / units[i + 1].ms,
	    units[i + 1].shown);
}
