/* SPDX-License-Identifier: ISC */

/*
 * What does each step cost by itself, in one process that may write: time,
 * allocations, and instructions of a hit where valgrind is installed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataset.h"
#include "instruction_count.h"
#include "interpose/allocation_count.h"
#include "micro_fetch.h"
#include "micro_origin.h"
#include "micro_steps.h"
#include "side.h"
#include "sweep.h"

#define KEYS		100000
#define DRAWS		(1u << 17)
#define COUNTED_KEYS	1000
#define COUNTED_HITS	10000
#define COUNTED_OPTION	"--counted-hits"
#define EXPIRE_MS	1000
#define SWEEP_BUDGET	4096

static const struct workload_draw *
draws_of(const struct micro *m, enum workload_stream stream)
{
	return m->data.w->draws + stream * m->data.w->draw_count;
}

static struct micro *
open_micro(const struct bench *b, uint64_t keys, uint64_t value_bytes)
{
	struct micro *m = calloc(1, sizeof(*m));

	if (m == NULL) {
		bench_fail(b, "short of memory");
	}
	m->b = b;
	m->hard_ms = UINT64_MAX;
	dataset_create(b, &m->data, keys, value_bytes, DRAWS, 0);
	return m;
}

static void
close_micro(struct micro *m)
{
	dataset_destroy(&m->data);
	free(m);
}

static void
add_row(struct bench *b, const char *step, uint64_t value_bytes,
    const double *ns, unsigned rounds)
{
	bench_begin_row(b);
	bench_add_text(b, "step", "%s", step);
	bench_add_text(b, "value", "%llu B",
	    (unsigned long long)value_bytes);
	bench_add_number(b, "ns", measure_median(ns, rounds));
}

/* Steps that may be repeated over the Zipf stream, or the absent keys. */
static void
measure_repeated(struct bench *b, uint64_t value_bytes)
{
	static const struct {
		const char	*step;
		micro_step_fn	*function;
		enum workload_stream stream;
	} steps[] = {
		{ "build a key", micro_key, WORKLOAD_ZIPF },
		{ "get, hit", micro_get, WORKLOAD_ZIPF },
		{ "get, miss", micro_miss, WORKLOAD_MISS },
		{ "get and count", micro_hit, WORKLOAD_ZIPF },
		{ "new expiry", micro_touch_expiry, WORKLOAD_ZIPF },
		{ "set over another", micro_set, WORKLOAD_ZIPF },
		{ "counter, add", micro_counter, WORKLOAD_ZIPF },
	};
	struct micro *m = open_micro(b, KEYS, value_bytes);
	unsigned rounds = (unsigned)bench_amount(b, 5, 11, 21);

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		double ns[MEASURE_MAX_ROUNDS];

		/* Warms up, makes the counters. */
		(void)micro_time(m, steps[i].function,
		    draws_of(m, steps[i].stream), DRAWS);
		for (unsigned round = 0; round < rounds; round++) {
			ns[round] = micro_time(m, steps[i].function,
			    draws_of(m, steps[i].stream), DRAWS);
		}
		add_row(b, steps[i].step, value_bytes, ns, rounds);
	}
	close_micro(m);
}

/* One draw of each key, in the order of their numbers. */
static struct workload_draw *
draw_each(const struct bench *b, uint32_t count)
{
	struct workload_draw *draws = calloc(count, sizeof(*draws));

	if (draws == NULL) {
		bench_fail(b, "short of memory");
	}
	for (uint32_t i = 0; i < count; i++) {
		draws[i].number = i;
		workload_make_key(draws[i].key, i);
	}
	return draws;
}

static uint64_t
count_buckets(const struct pool *pool)
{
	uint64_t buckets = 0;

	for (uint32_t shard = 0; shard < pool->g.shard_count; shard++) {
		/* Relaxed: this process writes it. */
		buckets += atomic_load_explicit(
		    &pool->shards[shard].bucket_count, memory_order_relaxed);
	}
	return buckets;
}

/*
 * Keys into a pool that has none: an insert with a split in it against one
 * without.  The clock's own cost falls out of the difference.
 */
static void
measure_split(struct bench *b, struct micro *m,
    const struct workload_draw *each)
{
	double with = 0, without = 0, split;
	uint64_t splits = 0;
	uint64_t buckets = count_buckets(&m->data.pool);

	for (uint32_t i = 0; i < KEYS; i++) {
		double ns = micro_time(m, micro_set, &each[i], 1);
		uint64_t now = count_buckets(&m->data.pool);

		if (now != buckets) {
			with += ns;
			splits++;
		} else {
			without += ns;
		}
		buckets = now;
	}
	if (splits == 0 || splits == KEYS) {
		bench_fail(b, "%llu splits in %d inserts",
		    (unsigned long long)splits, KEYS);
	}
	split = with / (double)splits - without / (double)(KEYS - splits);
	add_row(b, "split of a bucket", 64, &split, 1);
}

static void
measure_sweep(struct bench *b, struct micro *m)
{
	struct boot_ms after = { m->hard_ms + 1 };
	uint64_t start = measure_now_ns();
	uint64_t looked = 0;
	double ns;

	for (uint32_t shard = 0; shard < m->data.pool.g.shard_count;
	    shard++) {
		uint32_t got;

		do {
			got = sweep_shard(&m->data.pool, shard, SWEEP_BUDGET,
			    after);
			looked += got;
		} while (got >= SWEEP_BUDGET);
	}
	ns = (double)(measure_now_ns() - start) / (double)looked;
	if (looked < KEYS) {
		bench_fail(b, "a sweep saw %llu of %d entries",
		    (unsigned long long)looked, KEYS);
	}
	add_row(b, "sweep of an expired entry", 64, &ns, 1);
}

/* Steps that change what is there: each once over all keys. */
static void
measure_once(struct bench *b)
{
	struct workload_draw *each = draw_each(b, KEYS);
	struct micro *full = open_micro(b, KEYS, 64);
	struct micro *growing = open_micro(b, 1, 64);
	double ns;

	ns = micro_time(full, micro_delete, each, KEYS);
	add_row(b, "delete", 64, &ns, 1);
	ns = micro_time(full, micro_set, each, KEYS);
	add_row(b, "set, index of its size", 64, &ns, 1);
	full->hard_ms = clock_boot_now().ms + EXPIRE_MS;
	(void)micro_time(full, micro_set, each, KEYS);
	measure_sweep(b, full);
	measure_split(b, growing, each);
	close_micro(full);
	close_micro(growing);
	free(each);
}

static double
run_hits(void *micro)
{
	struct micro *m = micro;

	return micro_time(m, micro_hit, draws_of(m, WORKLOAD_ZIPF), DRAWS);
}

static double
run_floor(void *side)
{
	return side_ask(side, workload_order(WORKLOAD_ZIPF, 0));
}

static void
measure_over_floor(struct bench *b)
{
	struct micro *m = open_micro(b, KEYS, 1024);
	struct side floor;
	struct measure_side sides[] = {
		{ .run = run_hits, .argument = m },
		{ .run = run_floor, .argument = &floor },
	};
	uint64_t before, hits, misses;

	if (!side_exec(&floor, 0, "floor_hit", m->data.workload_fd) ||
	    !(run_floor(&floor) > 0)) {
		bench_fail(b, "floor_hit beside this program does not run");
	}
	(void)run_hits(m);
	measure_alternate(sides, 2, (unsigned)bench_amount(b, 7, 11, 21));
	bench_begin_row(b);
	bench_add_text(b, "step", "whole hit, no socket");
	bench_add_text(b, "value", "1024 B");
	bench_add_number(b, "ns", sides[0].median);
	bench_add_number(b, "floor_ns", sides[1].median);
	bench_add_bar(b, "hit_over_floor",
	    measure_ratio(&sides[0], &sides[1]));
	side_stop(&floor);

	before = allocation_count();
	(void)run_hits(m);
	hits = allocation_count() - before;
	before = allocation_count();
	/* Of the absent keys some come twice: one of each. */
	for (uint32_t i = 0; i < KEYS; i++) {
		struct workload_draw draw = { .number = 2 * KEYS + i };

		workload_make_key(draw.key, draw.number);
		(void)micro_time(m, micro_miss_and_set, &draw, 1);
	}
	misses = allocation_count() - before;
	bench_add_number(b, "allocations", (double)hits / DRAWS);
	bench_add_bar(b, "hit_allocations", (double)hits / DRAWS);
	bench_add_bar(b, "miss_allocations", (double)misses / KEYS);
	close_micro(m);
}
/* External, so that callgrind finds it by name; see measure_instructions(). */
void	micro_run_counted(struct micro *m);

void __attribute__((noinline))
micro_run_counted(struct micro *m)
{
	(void)micro_time(m, micro_hit, draws_of(m, WORKLOAD_ZIPF),
	    COUNTED_HITS);
}

/* What a run under callgrind is for; see instruction_count.h. */
static int
run_counted(const struct bench *b)
{
	struct micro *m = open_micro(b, COUNTED_KEYS, 1024);

	(void)run_hits(m);
	micro_run_counted(m);
	close_micro(m);
	return 0;
}

static void
measure_instructions(struct bench *b)
{
	uint64_t count = instruction_count(COUNTED_OPTION,
	    "micro_run_counted");

	if (count == 0) {
		bench_add_limit(b, "No instructions: valgrind is not "
		    "installed.");
		return;
	}
	bench_begin_row(b);
	bench_add_text(b, "step", "whole hit, no socket");
	bench_add_text(b, "value", "1024 B");
	bench_add_number(b, "instructions", (double)count / COUNTED_HITS);
}

int
main(int argc, char **argv)
{
	bool counted = argc == 2 && strcmp(argv[1], COUNTED_OPTION) == 0;
	bool fetched = micro_fetch_is_counted(argc, argv);
	struct bench *b = bench_create("micro", counted || fetched ? 1 :
	    argc, argv);

	if (counted) {
		return run_counted(b);
	}
	if (fetched) {
		return micro_fetch_run_counted(b, argv[1]);
	}
	(void)measure_pin_core(0);
	bench_add_setting(b, "keys", "%d, Zipf %.2f", KEYS, WORKLOAD_ZIPF_S);
	measure_repeated(b, 64);
	measure_repeated(b, 1024);
	measure_once(b);
	measure_over_floor(b);
	measure_instructions(b);
	micro_measure_fetch(b);
	micro_measure_origin(b);
	bench_add_limit(b, "Key, time and a wrong-value check are in each "
	    "step; steps above the segment (requests, freshness) are not in "
	    "it.  Of permits the limiter alone is: its origin's lock and "
	    "breaker come on top.");
	return bench_finish(b);
}
