/* SPDX-License-Identifier: ISC */

/*
 * How much more does Weir miss than S3-FIFO over single objects?  Traces of
 * the folder that WEIR_TRACES names: through the policy alone, and through a
 * real pool with four processes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "layout.h"
#include "sim_run.h"
#include "trace_pool.h"

#define PROCESSES	4
#define READ_AT_ONCE	4096
#define POLICY_MIN_OBJECTS 500
#define POOL_MIN_OBJECTS 2000

/*
 * The rows of the published table whose size holds enough objects.  Sizes
 * are 1 and 10 hundredths of the bytes of all objects, in the trace's units.
 */
static const struct row {
	const char	*trace;
	uint64_t	size;
	uint64_t	objects;	/* of mean size that fit */
	bool		unit;		/* objects of size 1 */
} rows[] = {
	{ "cache2k_web07", 2048, 2048, true },
	{ "cache2k_orm-night", 564, 564, true },
	{ "cache2k_orm-night", 5646, 5646, true },
	{ "lirs_multi2", 568, 568, true },
	{ "lirs_sprite", 707, 707, true },
	{ "cloudPhysicsIO", 202976972, 4897, false },
};
#define ROW_COUNT	(sizeof(rows) / sizeof(*rows))

struct requests {
	uint64_t	*ids;
	uint64_t	count;
};

static struct trace_reader *
open_trace(const struct bench *b, const struct row *row)
{
	char path[4096];
	struct trace_reader *reader;

	(void)snprintf(path, sizeof(path), "%s/%s.oracleGeneral.zst",
	    getenv("WEIR_TRACES"), row->trace);
	reader = trace_open(path);
	if (reader == NULL || trace_fault(reader) != TRACE_FINE) {
		bench_fail(b, "%s: %s", path, reader == NULL ?
		    "short of memory" : trace_fault_text(reader));
	}
	return reader;
}

/* Miss ratios of the simulated weir and of s3fifo. */
static void
simulate(const struct bench *b, const struct row *row, uint64_t size,
    double *weir, double *s3fifo)
{
	struct sim_row sims[] = {
		{ .policy = &sim_weir, .capacity = size },
		{ .policy = &sim_s3fifo, .capacity = size },
	};
	struct trace_reader *reader = open_trace(b, row);

	if (sim_run(reader, sims, 2, NULL) != SIM_DONE) {
		bench_fail(b, "%s: %s", row->trace, trace_fault_text(reader));
	}
	trace_close(reader);
	*weir = (double)sims[0].misses / (double)sims[0].requests;
	*s3fifo = (double)sims[1].misses / (double)sims[1].requests;
}

static void
begin_row(struct bench *b, const struct row *row, const char *through,
    uint64_t size)
{
	bench_begin_row(b);
	bench_add_text(b, "through", "%s", through);
	bench_add_text(b, "trace", "%s", row->trace);
	bench_add_text(b, "size", "%llu", (unsigned long long)size);
}

static void
add_excess(struct bench *b, double weir, double s3fifo)
{
	bench_add_number(b, "weir", weir);
	bench_add_number(b, "s3fifo", s3fifo);
	bench_add_number(b, "excess", weir - s3fifo);
}

static double
measure_policy(struct bench *b, const struct row *row)
{
	double weir, s3fifo;

	simulate(b, row, row->size, &weir, &s3fifo);
	begin_row(b, row, "policy", row->size);
	add_excess(b, weir, s3fifo);
	return weir - s3fifo;
}

static struct requests
read_requests(const struct bench *b, const struct row *row)
{
	struct trace_reader *reader = open_trace(b, row);
	struct trace_record records[READ_AT_ONCE];
	struct requests r = { NULL, 0 };
	ssize_t got;

	while ((got = trace_read(reader, records, READ_AT_ONCE)) > 0) {
		r.ids = reallocarray(r.ids, r.count + (uint64_t)got,
		    sizeof(*r.ids));
		if (r.ids == NULL) {
			bench_fail(b, "short of memory");
		}
		for (ssize_t i = 0; i < got; i++) {
			r.ids[r.count++] = records[i].object_id;
		}
	}
	if (got < 0) {
		bench_fail(b, "%s: %s", row->trace, trace_fault_text(reader));
	}
	trace_close(reader);
	return r;
}

/*
 * The pool has the bytes of that many objects, or the fewest a pool can
 * have, and s3fifo as many objects as the pool has bytes for: headers, index
 * and spare extents count against Weir.
 */
static double
measure_pool(struct bench *b, const struct row *row)
{
	struct requests r = read_requests(b, row);
	uint64_t bytes = row->size * TRACE_POOL_OBJECT_BYTES;
	struct trace_pool t = {
		.ids = r.ids,
		.request_count = r.count,
		.pool_bytes = bytes < POOL_MIN_BYTES ? POOL_MIN_BYTES : bytes,
		.process_count = PROCESSES,
	};
	uint64_t size = t.pool_bytes / TRACE_POOL_OBJECT_BYTES;
	uint64_t start = measure_now_ns();
	enum result result = trace_pool_run(&t);
	double seconds = (double)(measure_now_ns() - start) / 1e9;
	double miss = (double)t.misses / (double)r.count;
	double weir, s3fifo;

	if (result != OK) {
		bench_fail(b, "%s through a pool: %s", row->trace,
		    result_name(result));
	}
	simulate(b, row, size, &weir, &s3fifo);
	begin_row(b, row, "pool", size);
	add_excess(b, miss, s3fifo);
	bench_add_number(b, "entries_at_end", (double)t.entries);
	bench_add_number(b, "seconds", seconds);
	free(r.ids);
	return miss - s3fifo;
}

static void
measure_all(struct bench *b)
{
	double policy = -INFINITY, pool = -INFINITY;

	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].objects >= POLICY_MIN_OBJECTS) {
			policy = fmax(policy, measure_policy(b, &rows[i]));
		}
		if (rows[i].unit && rows[i].objects >= POOL_MIN_OBJECTS) {
			pool = fmax(pool, measure_pool(b, &rows[i]));
		}
	}
	bench_add_bar(b, "policy_excess_over_s3fifo", policy);
	bench_add_bar(b, "pool_excess_over_s3fifo", pool);
}

int
main(int argc, char **argv)
{
	struct bench *b = bench_create("hitratio", argc, argv);

	bench_add_setting(b, "pool", "%d processes, %d bytes of key and "
	    "value, the size in those bytes but at least %llu, extents of %u",
	    PROCESSES, TRACE_POOL_OBJECT_BYTES, POOL_MIN_BYTES,
	    TRACE_POOL_EXTENT_BYTES);
	if (getenv("WEIR_TRACES") == NULL) {
		bench_skip_bar(b, "policy_excess_over_s3fifo",
		    "WEIR_TRACES names no folder");
		bench_skip_bar(b, "pool_excess_over_s3fifo",
		    "WEIR_TRACES names no folder");
	} else {
		measure_all(b);
	}
	bench_add_limit(b, "Five public traces; s3fifo is the simulator's, "
	    "which the tests hold to published figures.");
	bench_add_limit(b, "The pool's processes write it themselves: no "
	    "access hint is lost on the way, as a client's may be.");
	return bench_finish(b);
}
