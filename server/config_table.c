/* SPDX-License-Identifier: ISC */

/*
 * The tables of options, and the guess at what a mistyped name meant.  The
 * supervisor alone.
 */
#include "config_table.h"

#include <string.h>

#include "control.h"

const struct config_option config_options[CONFIG_OPTIONS] = {
#define OPTION(name, field, kind, min, max, builtin, reload, text)	\
	{ #name, kind, offsetof(struct config, field),			\
	    sizeof(((struct config *)0)->field), min, max,		\
	    builtin, reload, text },
#define POOL_OPTION(name, field, kind, min, max, builtin, reload, text)
#define ORIGIN_OPTION(name, field, kind, min, max, builtin, reload, text)
#include "config.def"
#undef OPTION
#undef POOL_OPTION
#undef ORIGIN_OPTION
};

const struct config_option config_pool_options[CONFIG_POOL_OPTIONS] = {
#define OPTION(name, field, kind, min, max, builtin, reload, text)
#define POOL_OPTION(name, field, kind, min, max, builtin, reload, text)	\
	{ #name, kind, offsetof(struct config_pool, field),		\
	    sizeof(((struct config_pool *)0)->field), min, max,		\
	    builtin, reload, text },
#define ORIGIN_OPTION(name, field, kind, min, max, builtin, reload, text)
#include "config.def"
#undef OPTION
#undef POOL_OPTION
#undef ORIGIN_OPTION
};

const struct config_option
config_origin_options[CONFIG_ORIGIN_OPTIONS] = {
#define OPTION(name, field, kind, min, max, builtin, reload, text)
#define POOL_OPTION(name, field, kind, min, max, builtin, reload, text)
#define ORIGIN_OPTION(name, field, kind, min, max, builtin, reload, text)\
	{ #name, kind, offsetof(struct config_origin, config.field),	\
	    sizeof(((struct config_origin *)0)->config.field), min, max,\
	    builtin, reload, text },
#include "config.def"
#undef OPTION
#undef POOL_OPTION
#undef ORIGIN_OPTION
};

_Static_assert(BREAKER_PARTITIONS == 8, "breaker_partitions goes up to it");

/* Longer than any name of an option; longer input is meant for none. */
#define SUGGEST_MAX	32
/* Two typing errors are forgiven; at three most names look alike. */
#define SUGGEST_ERRORS	2

/*
 * Insertions, deletions, changes and swaps of neighbours that turn a into
 * b; both are shorter than SUGGEST_MAX.
 */
static unsigned
count_errors(const char *a, const char *b)
{
	unsigned cost[SUGGEST_MAX + 1][SUGGEST_MAX + 1];
	size_t rows = strlen(a);
	size_t columns = strlen(b);

	for (size_t i = 0; i <= rows; i++) {
		for (size_t j = 0; j <= columns; j++) {
			unsigned best;

			if (i == 0 || j == 0) {
				cost[i][j] = (unsigned)(i + j);
				continue;
			}
			best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (cost[i - 1][j] + 1 < best) {
				best = cost[i - 1][j] + 1;
			}
			if (cost[i][j - 1] + 1 < best) {
				best = cost[i][j - 1] + 1;
			}
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] &&
			    cost[i - 2][j - 2] + 1 < best) {
				best = cost[i - 2][j - 2] + 1;
			}
			cost[i][j] = best;
		}
	}
	return cost[rows][columns];
}

static void
try_name(const char *name, const char *known, const char **best,
    unsigned *errors)
{
	unsigned now = count_errors(name, known);

	if (now < *errors && now < strlen(known) / 2 + 1) {
		*errors = now;
		*best = known;
	}
}

const char *
config_suggest(const char *name, enum config_level level)
{
	static const struct {
		const struct config_option *table;
		size_t		count;
	} levels[] = {
		[CONFIG_LEVEL_TOP] = { config_options, CONFIG_OPTIONS },
		[CONFIG_LEVEL_POOL] = { config_pool_options,
		    CONFIG_POOL_OPTIONS },
		[CONFIG_LEVEL_ORIGIN] = { config_origin_options,
		    CONFIG_ORIGIN_OPTIONS },
	};
	unsigned errors = SUGGEST_ERRORS + 1;
	const char *best = NULL;

	if (strlen(name) >= SUGGEST_MAX) {
		return NULL;
	}
	for (size_t i = 0; i < levels[level].count; i++) {
		try_name(name, levels[level].table[i].name, &best, &errors);
	}
	if (level == CONFIG_LEVEL_TOP) {
		try_name(name, "pool", &best, &errors);
		try_name(name, "origin", &best, &errors);
	}
	return best;
}
