/* SPDX-License-Identifier: ISC */

/*
 * Four workloads of in-process caches with a single flight, on one cache for
 * many processes: hits by the number of workers, misses with eviction, a cold
 * start, hot and cold keys.  Workers are processes that go through
 * weir_fetch(); computations and their time are counted by the origin.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "demand.h"
#include "simyl.h"

/* cpp-cache, one worker, such keys and values, a machine of this kind. */
#define CPP_CACHE_PER_S	2.61e6

#define HIT_KEYS	100000u
#define HIT_BYTES	100u
#define EVICT_KEYS	1000000u
#define EVICT_ROOM	10000u
#define EVICT_BYTES	1000u
#define COLD_KEYS	100u
#define COLD_WORKERS	64u
#define HOT_KEYS	200000u
#define WORKERS		16u
#define RUNS		3u
#define MS		UINT64_C(1000000)

/* What one of the last three scenarios is. */
struct scenario {
	const char	*name;
	const char	*config;
	const char	*bar;		/* over the formula, or NULL */
	uint64_t	keys;
	double		exponent;
	uint64_t	backend_ns;
	uint64_t	ttl_ms;
	unsigned	sliding;
	unsigned	workers;
	size_t		value_bytes;
	uint64_t	span_ns;	/* of a run */
};

struct asked {
	const struct workload *w;
	struct demand	demand;
	uint64_t	span_ns;
};

static void
ask_for_a_time(struct swarm_member *member)
{
	const struct asked *asked = member->arg;
	const struct workload *w = asked->w;
	uint64_t at = w->draw_count / member->swarm->member_count *
	    member->number;
	uint64_t now = swarm_wait_for_start(member);
	uint64_t end = now + asked->span_ns;

	member->tally->first_ns = now;
	while (now < end) {
		const struct workload_draw *draw = &w->draws[at++ %
		    w->draw_count];

		demand_fetch(member, &asked->demand, draw->key,
		    WORKLOAD_KEY_BYTES, draw->number, now, member->tally);
		now = member->tally->last_ns;
	}
}

static const struct workload *
draw_trace(const struct bench *b, uint64_t keys, uint64_t bytes,
    double exponent, int *fd)
{
	const struct workload *w;

	*fd = workload_create_zipf(keys, bytes, SIMYL_DRAWS, exponent);
	w = *fd < 0 ? NULL : workload_map(*fd);
	if (w == NULL) {
		bench_fail(b, "no memory for %u requests", SIMYL_DRAWS);
	}
	return w;
}

/* One run in a daemon of its own.  Ours over the formula. */
static double
run_scenario(struct bench *b, const struct scenario *s, struct asked *asked,
    unsigned run, double *computes)
{
	struct backend *backend = asked->demand.backend;
	static struct daemon d;
	struct swarm swarm;
	struct swarm_tally sum;
	double calls, real_ns, per_s, misses, formula;

	daemon_start(b, &d, s->config);
	swarm_start(b, &swarm, &d, s->workers, 1, ask_for_a_time, asked);
	backend_restart(backend);
	swarm_go(&swarm, measure_now_ns() + 20 * MS);
	swarm_finish(&swarm);
	swarm_sum(&swarm, 0, &sum);
	if (sum.refused + sum.failed + sum.stale > 0) {
		bench_fail(b, "%s: %llu fetches without a fresh value",
		    s->name, (unsigned long long)(sum.refused + sum.failed +
		    sum.stale));
	}
	calls = (double)backend_count(&backend->calls);
	real_ns = (double)backend_count(&backend->slept_ns) / calls;
	per_s = (double)sum.asked * 1e9 /
	    (double)(sum.last_ns - sum.first_ns);
	misses = calls / (double)sum.asked;
	formula = s->workers * 1e9 / (misses * real_ns);
	bench_begin_row(b);
	bench_add_text(b, "scenario", "%s, %u", s->name, run + 1);
	bench_add_number(b, "per_s", per_s);
	bench_add_number(b, "computes", calls);
	bench_add_number(b, "misses", misses);
	bench_add_number(b, "backend_ms", real_ns / 1e6);
	bench_add_number(b, "over_formula", per_s / formula);
	bench_add_number(b, "entries", (double)daemon_count_entries(&d));
	bench_add_histogram(b, &sum.latency, 1000, "us");
	*computes = calls;
	swarm_free(&swarm);
	daemon_stop(&d);
	return per_s / formula;
}

static void
measure_scenario(struct bench *b, const struct scenario *s)
{
	struct asked asked = {
		.demand = {
			.value_bytes = s->value_bytes,
			.options = WEIR_FETCH_OPTIONS_INIT,
		},
		.span_ns = s->span_ns,
	};
	double over[RUNS], computes, most = 0;
	int fd;

	asked.w = draw_trace(b, s->keys, s->value_bytes, s->exponent, &fd);
	asked.demand.options.ttl_ms = s->ttl_ms;
	asked.demand.options.sliding = s->sliding;
	asked.demand.backend = backend_create(COLD_WORKERS, s->backend_ns, 0);
	if (asked.demand.backend == NULL) {
		bench_fail(b, "no memory");
	}
	for (unsigned run = 0; run < RUNS; run++) {
		over[run] = run_scenario(b, s, &asked, run, &computes);
		most = computes > most ? computes : most;
	}
	if (s->bar != NULL) {
		bench_add_bar(b, s->bar, measure_median(over, RUNS));
	} else {
		bench_add_bar(b, "cold_start_computes", most);
	}
	backend_destroy(asked.demand.backend);
	workload_unmap(fd, asked.w);
	close(fd);
}

static void
measure_hits(struct bench *b)
{
	static struct simyl_hits hits;
	const struct measure_side *one = &hits.sides[SIMYL_ONE];
	const struct measure_side *two = &hits.sides[SIMYL_TWO];
	int fd;
	const struct workload *w = draw_trace(b, HIT_KEYS, HIT_BYTES,
	    WORKLOAD_ZIPF_S, &fd);

	simyl_measure_hits(b, &hits, w, fd, (unsigned)bench_amount(b, 3, 7,
	    15));
	bench_add_bar(b, "hits_1_worker_over_floor", measure_ratio(one,
	    &hits.sides[SIMYL_FLOOR]));
	bench_add_bar(b, "hits_1_worker_over_cpp_cache", 1e9 / one->median /
	    CPP_CACHE_PER_S);
	if (measure_count_cores() > 1) {
		bench_add_bar(b, "hits_2_over_1", measure_ratio(one, two));
	} else {
		bench_skip_bar(b, "hits_2_over_1", "there is one core");
	}
	bench_add_bar(b, "hits_16_over_2", measure_ratio(two,
	    &hits.sides[SIMYL_SIXTEEN]));
	workload_unmap(fd, w);
	close(fd);
}

int
main(int argc, char **argv)
{
	struct bench *b = bench_create("simyl", argc, argv);
	uint64_t span_ns = bench_amount(b, 5, 20, 60) * 1000 * MS;
	const struct scenario evict = { "misses with eviction",
	    "pool default {\n\tmemory = " SIMYL_EVICT_MEMORY "\n}\n",
	    "eviction_over_formula", EVICT_KEYS, 0.8, MS, 60000, 0, WORKERS,
	    EVICT_BYTES, span_ns };
	const struct scenario cold = { "cold start",
	    "pool default {\n\tmemory = 64M\n}\n", NULL, COLD_KEYS, 0,
	    50 * MS, 60000, 0, COLD_WORKERS, HIT_BYTES, 1000 * MS };
	const struct scenario hot = { "hot and cold keys",
	    "pool default {\n\tmemory = 256M\n}\n",
	    "hot_cold_over_formula", HOT_KEYS, 1, 2 * MS, 1000, 1, WORKERS,
	    HIT_BYTES, span_ns };

	bench_add_setting(b, "trace", "%u requests of a fixed seed, read "
	    "again from the start when they are over", SIMYL_DRAWS);
	bench_add_setting(b, "hits", "%u keys, Zipf %.2f, %u B copied out, "
	    "60 s to live", HIT_KEYS, WORKLOAD_ZIPF_S, HIT_BYTES);
	bench_add_setting(b, "eviction", "%u keys, Zipf 0.8, %u B, pool of "
	    "%s for about %u entries, 1 ms", EVICT_KEYS, EVICT_BYTES,
	    SIMYL_EVICT_MEMORY, EVICT_ROOM);
	bench_add_setting(b, "cold_start", "%u keys, %u workers, 50 ms",
	    COLD_KEYS, COLD_WORKERS);
	bench_add_setting(b, "hot_and_cold", "%u keys, Zipf 1.0, 2 ms, 1 s "
	    "sliding", HOT_KEYS);
	bench_add_setting(b, "sleeps", "timer slack of 1 ns in the workers");
	bench_add_setting(b, "weird", "-a off -l error, memory of the pool");
	measure_hits(b);
	measure_scenario(b, &evict);
	measure_scenario(b, &cold);
	measure_scenario(b, &hot);
	bench_add_limit(b, "cpp-cache itself does not run here: its bar is "
	    "a figure of 2.61 M/s with threads of one process and values "
	    "that are not copied, from a machine of this kind.");
	bench_add_limit(b, "Two cores: workers above two take turns.");
	return bench_finish(b);
}
