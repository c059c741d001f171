/* SPDX-License-Identifier: ISC */

/*
 * The word of bypassed origins, the same in each pool.
 */
#include "origin_modes.h"

#include "origin_bypass.h"

void
origin_modes_publish(const struct heritage *heritage,
    const struct origin *origins, uint32_t count, struct boot_ms now)
{
	uint64_t bypassed = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (origin_mode_now(&origins[i], now) == ORIGIN_BYPASS) {
			bypassed |= origin_bypass_bit(origin_name(
			    &origins[i]));
		}
	}
	for (uint32_t p = 0; p < heritage->config.pool_count; p++) {
		_Atomic uint64_t *word =
		    &heritage->pools[p].header->bypassed;

		/* Relaxed: a client that sees it late asks a little late. */
		if (atomic_load_explicit(word, memory_order_relaxed) !=
		    bypassed) {
			atomic_store_explicit(word, bypassed,
			    memory_order_relaxed);
		}
	}
}
