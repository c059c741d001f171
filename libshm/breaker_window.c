/* SPDX-License-Identifier: ISC */

/*
 * What a breaker has seen lately: outcomes in ten slices of its window, and
 * in which partitions.  Daemon processes, with the origin's lock.
 */
#include "breaker_window.h"

#include <string.h>

/* Calls without a partition are one of their own. */
#define NO_PARTITION	1u

/* Also when it is a little ahead: clocks of processes differ by a tick. */
static bool
is_near(uint64_t then_ms, struct boot_ms now, uint32_t span_ms)
{
	return (then_ms > now.ms ? then_ms - now.ms : now.ms - then_ms) <
	    span_ms;
}

/* The row of the partition; else an unused, an outdated or the oldest one. */
static struct breaker_partition *
find_partition(struct breaker *breaker, const struct breaker_config *config,
    uint64_t hash, struct boot_ms now)
{
	struct breaker_partition *worst = &breaker->partition[0];

	for (unsigned i = 0; i < BREAKER_PARTITIONS; i++) {
		struct breaker_partition *row = &breaker->partition[i];

		if (row->hash == hash) {
			return row;
		}
		if (row->hash == 0 ||
		    !is_near(row->seen_ms, now, config->window_ms)) {
			row->seen_ms = 0;
		}
		if (row->seen_ms < worst->seen_ms) {
			worst = row;
		}
	}
	worst->hash = hash;
	worst->failed_ms = 0;
	return worst;
}

static void
note_partition(struct breaker *breaker, const struct breaker_config *config,
    uint64_t partition, bool failed, struct boot_ms now)
{
	struct breaker_partition *row = find_partition(breaker, config,
	    partition == 0 ? NO_PARTITION : partition, now);

	row->seen_ms = now.ms;
	if (failed) {
		row->failed_ms = now.ms;
	}
}

/* Failures span min(min_partitions, partitions seen in the window). */
static bool
enough_partitions(const struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now)
{
	uint32_t seen = 0, failed = 0;

	for (unsigned i = 0; i < BREAKER_PARTITIONS; i++) {
		const struct breaker_partition *row = &breaker->partition[i];

		if (row->hash == 0) {
			continue;
		}
		seen += is_near(row->seen_ms, now, config->window_ms);
		failed += row->failed_ms != 0 &&
		    is_near(row->failed_ms, now, config->window_ms);
	}
	return failed >= (seen < config->min_partitions ? seen :
	    config->min_partitions);
}

static uint64_t
slice_of(const struct breaker_config *config, struct boot_ms now)
{
	uint32_t ms = config->window_ms / BREAKER_BUCKETS;

	/* From 1: a zero bucket is of no time. */
	return now.ms / (ms == 0 ? 1 : ms) + 1;
}

void
breaker_window(const struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now,
    uint32_t *successes, uint32_t *failures)
{
	uint64_t slice = slice_of(config, now);
	uint64_t good = 0, bad = 0;

	for (unsigned i = 0; i < BREAKER_BUCKETS; i++) {
		const struct breaker_bucket *bucket = &breaker->bucket[i];

		if (bucket->number <= slice &&
		    slice - bucket->number < BREAKER_BUCKETS) {
			good += bucket->successes;
			bad += bucket->failures;
		}
	}
	*successes = good > UINT32_MAX ? UINT32_MAX : (uint32_t)good;
	*failures = bad > UINT32_MAX ? UINT32_MAX : (uint32_t)bad;
}

static void
count_outcome(struct breaker *breaker, const struct breaker_config *config,
    bool failed, struct boot_ms now)
{
	uint64_t slice = slice_of(config, now);
	struct breaker_bucket *bucket =
	    &breaker->bucket[slice % BREAKER_BUCKETS];
	uint32_t *count = failed ? &bucket->failures : &bucket->successes;

	if (bucket->number != slice) {
		bucket->successes = 0;
		bucket->failures = 0;
		bucket->number = slice;
	}
	if (*count < UINT32_MAX) {
		(*count)++;
	}
}

void
breaker_window_note(struct breaker *breaker,
    const struct breaker_config *config, uint64_t partition, bool failed,
    struct boot_ms now)
{
	note_partition(breaker, config, partition, failed, now);
	count_outcome(breaker, config, failed, now);
}

void
breaker_window_forget(struct breaker *breaker)
{
	memset(breaker->bucket, 0, sizeof(breaker->bucket));
	memset(breaker->partition, 0, sizeof(breaker->partition));
}

bool
breaker_window_is_bad(const struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now)
{
	uint32_t successes, failures;
	uint64_t all;

	breaker_window(breaker, config, now, &successes, &failures);
	all = (uint64_t)successes + failures;
	return all >= config->min_outcomes && failures > 0 &&
	    (uint64_t)failures * 100 >= all * config->failure_pct &&
	    enough_partitions(breaker, config, now);
}
