/* SPDX-License-Identifier: ISC */

/*
 * The two clocks of Weir, as two types that cannot be mixed up.  Any process
 * may call.
 *
 * boot_ms counts the time since boot, suspend included: what expiry, leases
 * and deadlines are measured in.  wall_ms is for HTTP dates and for what goes
 * to disk; it can jump either way.
 *
 * Whatever decides by time takes the time as an argument; these functions are
 * called where a request begins.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_MS_PER_S	1000
#define CLOCK_NS_PER_MS	1000000
#define CLOCK_NS_PER_S	1000000000

struct boot_ms {
	uint64_t ms;
};

struct wall_ms {
	int64_t	ms;
};

/* One per thread, not shared; all zero is its state before the first use. */
struct clock_cache {
	uint64_t	coarse_ns;	/* coarse clock at the last look */
	struct boot_ms	boot;		/* boot clock at the last look */
};

struct boot_ms clock_boot_now(void);
struct wall_ms clock_wall_now(void);

/*
 * The boot clock for the hit path: a coarse look costs 4 ns, a boot look 18,
 * and the boot clock is looked at only when the coarse one has ticked.  The
 * coarse clock stands still in suspend and ticks on resume, so the first call
 * after a resume sees the time slept.  At most one tick (1 to 10 ms) behind.
 */
static inline struct boot_ms
clock_cached_now(struct clock_cache *cache)
{
	struct timespec ts = { 0 };
	uint64_t coarse_ns;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts); /* cannot fail */
	coarse_ns = (uint64_t)ts.tv_sec * CLOCK_NS_PER_S +
	    (uint64_t)ts.tv_nsec;
	if (coarse_ns != cache->coarse_ns) {
		cache->coarse_ns = coarse_ns;
		cache->boot = clock_boot_now();
	}
	return cache->boot;
}

#endif
