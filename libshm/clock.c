/* SPDX-License-Identifier: ISC */

/*
 * Reading the two clocks.  Any process may call.
 */
#include "clock.h"

/* Neither call can fail: the clock exists and the address is good. */

struct boot_ms
clock_boot_now(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (struct boot_ms){
		.ms = (uint64_t)ts.tv_sec * CLOCK_MS_PER_S +
		    (uint64_t)ts.tv_nsec / CLOCK_NS_PER_MS,
	};
}

struct wall_ms
clock_wall_now(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (struct wall_ms){
		.ms = (int64_t)ts.tv_sec * CLOCK_MS_PER_S +
		    ts.tv_nsec / CLOCK_NS_PER_MS,
	};
}
