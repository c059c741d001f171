/* SPDX-License-Identifier: ISC */

/*
 * How long a child that died waits for its restart.  Pure.
 */
#ifndef BACKOFF_H
#define BACKOFF_H

#include <stdint.h>

#define BACKOFF_FIRST_MS	100
#define BACKOFF_MAX_MS		10000
/* Who lived that long starts with the first wait again. */
#define BACKOFF_RESET_MS	60000

struct backoff {
	uint32_t	failures;	/* deaths in a row */
};

/*
 * A death after lived_ms: the wait, which doubles with each death in a row,
 * less up to a quarter by chance, so that children that died of one cause
 * do not come back in one instant.
 */
uint32_t backoff_next_ms(struct backoff *backoff, uint64_t lived_ms,
    uint32_t random);

#endif
