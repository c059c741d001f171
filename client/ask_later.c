/* SPDX-License-Identifier: ISC */

/*
 * Rows by hash; only the slow half of a fetch looks at them.
 */
#include "ask_later.h"

#include "hash.h"
#include "lane.h"

static uint64_t
hash_of(const struct lane *lane, const void *key, size_t key_length)
{
	return hash_bytes(&lane->pool.hash_key, key, key_length);
}

void
ask_later_note(struct lane *lane, const void *key, size_t key_length,
    uint64_t until_ms)
{
	uint64_t hash = hash_of(lane, key, key_length);
	struct lane_later *row = &lane->later[hash % LANE_LATER_ROWS];

	row->hash = hash;
	row->until_ms = until_ms;
}

uint64_t
ask_later_until(const struct lane *lane, const void *key, size_t key_length)
{
	uint64_t hash = hash_of(lane, key, key_length);
	const struct lane_later *row = &lane->later[hash % LANE_LATER_ROWS];

	return row->hash == hash ? row->until_ms : 0;
}
