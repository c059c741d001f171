/* SPDX-License-Identifier: ISC */

/*
 * A limit that follows the latency of its origin.  Its words lie in the
 * control segment; daemon processes call it, with the origin's lock held.
 * Time is an argument.
 *
 * Once a window the average latency (the short one) is compared with the long
 * average, which stands for an origin that is not loaded:
 *
 *	gradient = tolerance x long / short, within 1/2 .. 1
 *	aim	 = limit x gradient + sqrt(limit)
 *	limit	 = limit + (aim - limit) / 5, within the floor and the ceiling
 *
 * 1. It starts at the ceiling, the configured limit, and is never clamped to
 *    learn: a restart sheds nobody.
 * 2. It moves only while it is in use: a quiet night raises nothing, and a
 *    slow call in it lowers nothing.
 * 3. The long average follows at once when latency falls and slowly when it
 *    rises: an overloaded origin is not taken for the normal one, and one
 *    that stays slower is got used to in some minutes.
 * 4. The floor holds whatever the latency, and failures are the breaker's:
 *    one that was fast says nothing of the load and is left out.
 *
 * Any content of the words gives a limit within floor and ceiling.
 */
#ifndef ADAPTIVE_H
#define ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* Defaults. */
#define ADAPTIVE_WINDOW_MS	1000u
#define ADAPTIVE_MIN_CALLS	10u
#define ADAPTIVE_TOLERANCE_PCT	200u
#define ADAPTIVE_MIN_LIMIT	4u

struct adaptive_config {
	uint32_t	enabled;
	uint32_t	window_ms;
	uint32_t	min_calls;	/* for a window to count */
	uint32_t	tolerance_pct;	/* of the long average, from 100 */
	uint32_t	min_limit;	/* the floor, from 1 */
	uint32_t	unused;
};
#define ADAPTIVE_CONFIG_INIT						\
	{ 0, ADAPTIVE_WINDOW_MS, ADAPTIVE_MIN_CALLS,			\
	    ADAPTIVE_TOLERANCE_PCT, ADAPTIVE_MIN_LIMIT, 0 }

/* In shared memory; all zero has seen nothing. */
struct adaptive {
	uint64_t	window_ms;	/* when this window began */
	uint64_t	sum_us;		/* of its calls */
	uint64_t	long_us;	/* 0 none yet */
	uint64_t	short_us;	/* of the last window that counted */
	uint32_t	calls;
	uint32_t	most_in_flight;
	uint32_t	limit_q8;	/* limit x 256; 0 is the ceiling */
	uint32_t	unused;
};
_Static_assert(sizeof(struct adaptive) == 48,
    "the layout of an adaptive limit changed");

/* The limit now; the ceiling itself when this is not enabled. */
uint32_t adaptive_limit(const struct adaptive *adaptive,
    const struct adaptive_config *config, uint32_t ceiling);

/*
 * A call came back.  in_flight counts it still; failed: the breaker's
 * BREAKER_FAILURE.  True: the limit is another one now.
 */
bool	adaptive_note(struct adaptive *adaptive,
    const struct adaptive_config *config, uint64_t latency_us, bool failed,
    uint32_t in_flight, uint32_t ceiling, struct boot_ms now);

#endif
