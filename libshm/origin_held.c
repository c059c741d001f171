/* SPDX-License-Identifier: ISC */

/*
 * A walk over the permits that are taken.
 */
#include "origin_held.h"

#include "origin_record.h"

/* Those after number `after` of one pool; how many there are by then. */
static uint32_t
list_pool(const struct limiter *pool, bool upload, uint64_t owner,
    uint32_t after, struct origin_held *held, uint32_t most, uint32_t count)
{
	uint32_t taken = pool->state->in_flight;

	/* Free ones are taken from the front: the rest is mostly free. */
	for (uint32_t i = 1; i <= pool->permit_capacity && taken > 0 &&
	    count < most; i++) {
		const struct limiter_permit *permit = &pool->permits[i];

		if (permit->owner == 0) {
			continue;
		}
		taken--;
		if (permit->owner == owner && i > after) {
			held[count++] = (struct origin_held){
				.permit = i,
				.upload = upload,
				.token = permit->token,
			};
		}
	}
	return count;
}

enum result
origin_list_held(struct origin *origin, uint64_t owner,
    struct origin_held *after, struct origin_held *held, uint32_t most,
    uint32_t *count, struct boot_ms now)
{
	*count = 0;
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	if (!after->upload) {
		*count = list_pool(&origin->limiter, false, owner,
		    after->permit, held, most, 0);
	}
	*count = list_pool(&origin->upload, true, owner,
	    after->upload ? after->permit : 0, held, most, *count);
	origin_unlock(origin);
	if (*count > 0) {
		*after = held[*count - 1];
	}
	return OK;
}
