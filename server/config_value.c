/* SPDX-License-Identifier: ISC */

/*
 * Units and names in the text of values.  A value is refused rather than
 * guessed at: 10 is no time, 64k5 no size.
 */
#include "config_value.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char	*name;
	uint64_t	factor;
};

static const struct unit sizes[] = {
	{ "T", 1ull << 40 },
	{ "G", 1ull << 30 },
	{ "M", 1ull << 20 },
	{ "K", 1ull << 10 },
};

static const struct unit times[] = {
	{ "h", 3600u * 1000 },
	{ "m", 60u * 1000 },
	{ "s", 1000 },
	{ "ms", 1 },
};

static const char *const levels[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

#define COUNT_OF(array)	(sizeof(array) / sizeof((array)[0]))

/* Digits of a base at *text, which is moved past them. */
static bool
take_digits(const char **text, unsigned base, uint64_t *number)
{
	const char *at = *text;
	uint64_t sum = 0;

	while (*at >= '0' && (unsigned)(*at - '0') < base) {
		if (__builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, (unsigned)(*at - '0'),
		    &sum)) {
			return false;
		}
		at++;
	}
	if (at == *text) {
		return false;
	}
	*text = at;
	*number = sum;
	return true;
}

static bool
apply_unit(const char *name, const struct unit *units, size_t count,
    uint64_t *number)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(name, units[i].name) == 0) {
			return !__builtin_mul_overflow(*number,
			    units[i].factor, number);
		}
	}
	return false;
}

bool
config_value_parse_number(const char *text, uint64_t *number)
{
	return take_digits(&text, 10, number) && *text == '\0';
}

bool
config_value_parse_size(const char *text, uint64_t *bytes)
{
	return take_digits(&text, 10, bytes) && (*text == '\0' ||
	    apply_unit(text, sizes, COUNT_OF(sizes), bytes));
}

bool
config_value_parse_time(const char *text, uint64_t *ms)
{
	if (!take_digits(&text, 10, ms)) {
		return false;
	}
	return *text == '\0' ? *ms == 0 :
	    apply_unit(text, times, COUNT_OF(times), ms);
}

bool
config_value_parse_mode(const char *text, uint64_t *mode)
{
	return take_digits(&text, 8, mode) && *text == '\0';
}

bool
config_value_parse_level(const char *text, enum log_level *level)
{
	for (size_t i = 0; i < COUNT_OF(levels); i++) {
		if (strcmp(text, levels[i]) == 0) {
			*level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

const char *
config_value_format_size(uint64_t bytes, char *out, size_t room)
{
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		if (bytes != 0 && bytes % sizes[i].factor == 0) {
			(void)snprintf(out, room, "%llu%s",
			    (unsigned long long)(bytes / sizes[i].factor),
			    sizes[i].name);
			return out;
		}
	}
	(void)snprintf(out, room, "%llu", (unsigned long long)bytes);
	return out;
}

const char *
config_value_format_time(uint64_t ms, char *out, size_t room)
{
	for (size_t i = 0; i < COUNT_OF(times); i++) {
		if (ms != 0 && ms % times[i].factor == 0) {
			(void)snprintf(out, room, "%llu%s",
			    (unsigned long long)(ms / times[i].factor),
			    times[i].name);
			return out;
		}
	}
	(void)snprintf(out, room, "0");
	return out;
}

const char *
config_value_level_name(enum log_level level)
{
	return (size_t)level < COUNT_OF(levels) ? levels[level] : "unknown";
}

const char *
config_value_round_size(uint64_t bytes, char *out, size_t room)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB" };
	double number = (double)bytes / 1024;
	size_t unit = 0;

	while (number >= 1024 && unit < COUNT_OF(names) - 1) {
		number /= 1024;
		unit++;
	}
	(void)snprintf(out, room, "%.1f %s", number, names[unit]);
	return out;
}
