/* SPDX-License-Identifier: ISC */

/*
 * The detector of floods of misses: a partition whose requests nearly all
 * miss, as from a query that is different each time.  Its words lie in the
 * control segment; daemon processes call it, with the origin's lock held.
 * Time is an argument.
 *
 * The 64 heaviest partitions of a window are counted (Space-Saving: a new one
 * takes the row, and the weight, of the lightest).  Misses and hits are those
 * noted since the partition got its row, so that a row taken over never makes
 * a flood; a partition with less than 1/64 of all that is noted may be missed.
 *
 * A flood is told once a window.  Where it is asked for, the partition may
 * have one call at a time until the end of the next window, which tells anew
 * if it goes on.  That lets whoever makes misses slow down that partition, so
 * it is off by default.
 */
#ifndef MISSRATE_H
#define MISSRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define MISSRATE_ROWS		64u

/* Defaults. */
#define MISSRATE_WINDOW_MS	10000u
#define MISSRATE_MIN_MISSES	500u
#define MISSRATE_MISS_PCT	90u

struct missrate_config {
	uint32_t	enabled;
	uint32_t	throttle;	/* flooded ones: one call at a time */
	uint32_t	window_ms;
	uint32_t	min_misses;	/* in a window */
	uint32_t	miss_pct;	/* of what was noted */
	uint32_t	unused;
};
#define MISSRATE_CONFIG_INIT						\
	{ 1, 0, MISSRATE_WINDOW_MS, MISSRATE_MIN_MISSES,		\
	    MISSRATE_MISS_PCT, 0 }

struct missrate_row {
	uint64_t	weight;		/* with that of those before it */
	uint32_t	misses;		/* its own */
	uint32_t	hits;
};

/* In shared memory; all zero has seen nothing. */
struct missrate {
	uint64_t	window;		/* number of the one that is counted */
	uint64_t	floods;		/* since creation */
	uint64_t	last_flood;	/* the partition */
	uint64_t	last_flood_ms;
	uint64_t	partition[MISSRATE_ROWS]; /* 0 is an unused row */
	struct missrate_row row[MISSRATE_ROWS];
	/* Partitions that were told, and in which window. */
	uint64_t	flooded[MISSRATE_ROWS];
	uint64_t	flooded_in[MISSRATE_ROWS];
};
_Static_assert(sizeof(struct missrate) == 32 + 40 * MISSRATE_ROWS,
    "the layout of the miss-rate detector changed");

/* partition is a hash; 0, none, is not noted.  True: newly flooded. */
bool	missrate_note(struct missrate *missrate,
    const struct missrate_config *config, uint64_t partition, uint32_t hits,
    uint32_t misses, struct boot_ms now);

/* How many calls the partition may have: 1, or 0 for no cap of ours. */
uint32_t missrate_cap(const struct missrate *missrate,
    const struct missrate_config *config, uint64_t partition,
    struct boot_ms now);

#endif
