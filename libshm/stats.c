/* SPDX-License-Identifier: ISC */

/*
 * Sums and texts of the counters.  Any process may call.
 */
#include "stats.h"

static const struct stat_text {
	const char	*name;
	const char	*help;
	const char	*action;
	enum stats_level level;
} stat_texts[STAT_COUNT] = {
#define STAT(name, level, help, action) \
	{ #name, help, action, STATS_LEVEL_##level },
#include "stats.def"
#undef STAT
};

static const struct stat_text stat_unknown = { "", "", "", STATS_LEVEL_diag };

/* The number may be a caller's loop gone too far or a peer's. */
static const struct stat_text *
find_text(enum stat_id stat)
{
	return (unsigned int)stat < STAT_COUNT ? &stat_texts[stat] :
	    &stat_unknown;
}

uint64_t
stats_sum(const struct stats_block *blocks, uint32_t count,
    enum stat_id stat)
{
	uint64_t sum = 0;

	if ((unsigned int)stat >= STAT_COUNT) {
		return 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		/* Relaxed: statistics only, ordered with nothing. */
		sum += atomic_load_explicit(&blocks[i].value[stat],
		    memory_order_relaxed);
	}
	return sum;
}

const char *
stats_name(enum stat_id stat)
{
	return find_text(stat)->name;
}

const char *
stats_help(enum stat_id stat)
{
	return find_text(stat)->help;
}

const char *
stats_action(enum stat_id stat)
{
	return find_text(stat)->action;
}

enum stats_level
stats_level(enum stat_id stat)
{
	return find_text(stat)->level;
}
