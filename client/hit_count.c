/* SPDX-License-Identifier: ISC */

/*
 * What a LEASE says of the hits before it.
 */
#include "hit_count.h"

#include <string.h>

#define MIX	UINT64_C(0x9e3779b97f4a7c15)

static uint64_t
mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * MIX;
	return hash ^ hash >> 32;
}

/*
 * Of all bytes, in a few instructions: it need not stand up to anybody, as
 * the names are the program's own.
 */
uint64_t
hit_count_hash(const void *partition, size_t length)
{
	const uint8_t *bytes = partition;
	uint64_t hash = length * MIX;
	uint32_t first, last;
	uint64_t word;

	if (length >= sizeof(word)) {
		for (size_t at = 0; at + sizeof(word) <= length;
		    at += sizeof(word)) {
			memcpy(&word, bytes + at, sizeof(word));
			hash = mix(hash, word);
		}
		memcpy(&word, bytes + length - sizeof(word), sizeof(word));
		return mix(hash, word);
	}
	if (length >= sizeof(first)) {
		memcpy(&first, bytes, sizeof(first));
		memcpy(&last, bytes + length - sizeof(last), sizeof(last));
		return mix(hash, first | (uint64_t)last << 32);
	}
	return mix(hash, bytes[0] | (uint64_t)bytes[length / 2] <<
	    8 | (uint64_t)bytes[length - 1] << 16);
}

static struct lane_hits *
row_of(struct lane *lane, uint64_t hash)
{
	return &lane->partition_hits[hash % LANE_HIT_ROWS];
}

void
hit_count_add(struct lane *lane, const struct weir_origin *origin)
{
	uint64_t hash;
	struct lane_hits *row;

	if (origin->partition == NULL) {
		return;
	}
	hash = hit_count_hash(origin->partition, origin->partition_length);
	row = row_of(lane, hash);
	if (row->hash == hash) {
		row->hits += row->hits < UINT32_MAX / HIT_COUNT_EVERY;
	} else if (row->hits == 0) {
		row->hash = hash;
		row->hits = 1;
	} else {
		row->hits--;
	}
}

uint32_t
hit_count_take(struct lane *lane, const struct weir_origin *origin)
{
	uint64_t hash;
	struct lane_hits *row;
	uint32_t hits = 0;

	if (origin->partition == NULL || origin->partition_length == 0) {
		return 0;
	}
	hash = hit_count_hash(origin->partition, origin->partition_length);
	row = row_of(lane, hash);
	if (row->hash == hash) {
		hits = row->hits * HIT_COUNT_EVERY;
		row->hits = 0;
	}
	return hits;
}

uint32_t
hit_count_take_all(struct lane *lane)
{
	uint64_t hits = stats_sum(&lane->stats, 1, STAT_get_hits) +
	    stats_sum(&lane->stats, 1, STAT_get_stale);
	uint64_t since = hits - lane->hits_told;

	lane->hits_told = hits;
	return since < UINT32_MAX ? (uint32_t)since : UINT32_MAX;
}
