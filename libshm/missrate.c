/* SPDX-License-Identifier: ISC */

/*
 * The heaviest partitions of a window, and which of them miss too often.
 * Daemon processes, with the origin's lock.
 */
#include "missrate.h"

#include <string.h>

/* Windows are numbered from 1: 0 is before the first. */
static uint64_t
window_of(const struct missrate_config *config, struct boot_ms now)
{
	return now.ms / (config->window_ms == 0 ? 1 : config->window_ms) + 1;
}

static void
start_window(struct missrate *missrate, uint64_t window)
{
	memset(missrate->partition, 0, sizeof(missrate->partition));
	memset(missrate->row, 0, sizeof(missrate->row));
	missrate->window = window;
}

static unsigned
lightest_row(const struct missrate *missrate)
{
	unsigned lightest = 0;

	for (unsigned i = 0; i < MISSRATE_ROWS; i++) {
		if (missrate->partition[i] == 0) {
			return i;
		}
		if (missrate->row[i].weight < missrate->row[lightest].weight) {
			lightest = i;
		}
	}
	return lightest;
}

static struct missrate_row *
row_of(struct missrate *missrate, uint64_t partition)
{
	struct missrate_row *row;
	unsigned i;

	for (i = 0; i < MISSRATE_ROWS; i++) {
		if (missrate->partition[i] == partition) {
			return &missrate->row[i];
		}
	}
	i = lightest_row(missrate);
	row = &missrate->row[i];
	/* The weight stays: the newcomer may have been as heavy. */
	row->misses = 0;
	row->hits = 0;
	missrate->partition[i] = partition;
	return row;
}

/* In which window it was told last; 0 never. */
static uint64_t
told_in(const struct missrate *missrate, uint64_t partition)
{
	for (unsigned i = 0; i < MISSRATE_ROWS; i++) {
		if (missrate->flooded[i] == partition) {
			return missrate->flooded_in[i];
		}
	}
	return 0;
}

static void
tell(struct missrate *missrate, uint64_t partition, struct boot_ms now)
{
	unsigned at = 0;

	for (unsigned i = 0; i < MISSRATE_ROWS; i++) {
		if (missrate->flooded[i] == partition) {
			at = i;
			break;
		}
		/* A number that is yet to come is nobody's. */
		if (missrate->flooded_in[i] > missrate->window + 1) {
			missrate->flooded_in[i] = 0;
		}
		if (missrate->flooded_in[i] < missrate->flooded_in[at]) {
			at = i;
		}
	}
	missrate->flooded[at] = partition;
	missrate->flooded_in[at] = missrate->window;
	missrate->floods++;
	missrate->last_flood = partition;
	missrate->last_flood_ms = now.ms;
}

static void
add(uint32_t *sum, uint32_t more)
{
	*sum = more > UINT32_MAX - *sum ? UINT32_MAX : *sum + more;
}

static bool
is_flood(const struct missrate_row *row,
    const struct missrate_config *config)
{
	uint64_t all = (uint64_t)row->misses + row->hits;

	return row->misses != 0 && row->misses >= config->min_misses &&
	    (uint64_t)row->misses * 100 >= all * config->miss_pct;
}

bool
missrate_note(struct missrate *missrate,
    const struct missrate_config *config, uint64_t partition, uint32_t hits,
    uint32_t misses, struct boot_ms now)
{
	uint64_t window = window_of(config, now);
	struct missrate_row *row;

	if (!config->enabled || partition == 0 || (hits | misses) == 0) {
		return false;
	}
	/* Clocks of processes differ by a tick: not back by one. */
	if (missrate->window != window && missrate->window != window + 1) {
		start_window(missrate, window);
	}
	row = row_of(missrate, partition);
	row->weight += (uint64_t)hits + misses;
	add(&row->hits, hits);
	add(&row->misses, misses);
	if (!is_flood(row, config) ||
	    told_in(missrate, partition) == missrate->window) {
		return false;
	}
	tell(missrate, partition, now);
	return true;
}

uint32_t
missrate_cap(const struct missrate *missrate,
    const struct missrate_config *config, uint64_t partition,
    struct boot_ms now)
{
	uint64_t window = window_of(config, now);
	uint64_t told;

	if (!config->enabled || !config->throttle || partition == 0) {
		return 0;
	}
	told = told_in(missrate, partition);
	return told != 0 && told <= window + 1 && window <= told + 1 ? 1 : 0;
}
