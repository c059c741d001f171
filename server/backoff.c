/* SPDX-License-Identifier: ISC */

/*
 * The wait before a restart.
 */
#include "backoff.h"

/* 100 ms doubled 7 times is above the maximum. */
#define DOUBLINGS_MAX	7

uint32_t
backoff_next_ms(struct backoff *backoff, uint64_t lived_ms, uint32_t random)
{
	uint32_t doublings;
	uint32_t wait_ms;

	if (lived_ms >= BACKOFF_RESET_MS) {
		backoff->failures = 0;
	}
	doublings = backoff->failures < DOUBLINGS_MAX ? backoff->failures :
	    DOUBLINGS_MAX;
	backoff->failures++;
	wait_ms = BACKOFF_FIRST_MS << doublings;
	if (wait_ms > BACKOFF_MAX_MS) {
		wait_ms = BACKOFF_MAX_MS;
	}
	return wait_ms - random % (wait_ms / 4);
}
