/* SPDX-License-Identifier: ISC */

/*
 * Hits at a fixed rate: how late is a value, seen from when it was wanted?
 * There is one client process to a core, which carries the schedules of all
 * its workers.  Steady hits: it sleeps until the next request is due, late
 * though it wakes, and asks for all that is due by then; that lateness is in
 * the latencies.  One that looks at the clock instead never leaves its core,
 * and a virtual machine whose cores never rest is stopped for milliseconds.
 * Cost at scale: a request is so rare that its own cost would drown in the
 * sleep's, so that client does look at the clock.
 */
#include "load.h"

#include <stdio.h>

#define PREFIX		"steady"
#define KEYS		10000u
#define MANY_KEYS	1000000u
#define WORKERS		64u
#define WINDOWS		6u
#define PAIRS		3u
#define PLACES		64u
#define TTL_MS		3600000u
#define SCALE_BYTES	1024u
#define SCALE_PER_S	200000u
#define WARM_REQUESTS	50000u
/* The looks at the clock around an idle request take the rest. */
#define IDLE_PART	0.8

struct stage {
	struct demand	demand;
	struct daemon	daemon;
	uint32_t	keys;
	double		interval_ns;	/* of a process; 0: none */
	uint64_t	span_ns;
	bool		sleeps;		/* until the next is due */
	/* 0: asks; else does nothing for so long instead of each request */
	uint64_t	idle_ns;
	/* windows so far */
	unsigned	count;
	double		p99_ns[WINDOWS];
	double		cpu_ms;		/* of the daemon */
	struct swarm_tally sum;
};

static void
ask_one(struct swarm_member *member, uint64_t intended,
    struct swarm_tally *tally)
{
	const struct stage *stage = member->arg;
	uint32_t number = prng_below(&member->prng, stage->keys);
	char key[DEMAND_KEY_MAX];
	size_t length = demand_make_key(key, PREFIX, number);

	if (stage->idle_ns > 0) {
		uint64_t end = measure_now_ns() + stage->idle_ns;

		tally->asked++;
		do {
			tally->last_ns = measure_now_ns();
		} while (tally->last_ns < end);
		swarm_record(tally, tally->last_ns - intended);
		return;
	}
	demand_fetch(member, &stage->demand, key, length, number, intended,
	    tally);
}

static void
ask_paced(struct swarm_member *member)
{
	const struct stage *stage = member->arg;
	struct swarm_tally *tally = member->tally;
	uint64_t start, now;

	(void)measure_pin_core(member->number);
	/* Pages are mapped, and ways are known: that is no request's part. */
	for (unsigned i = 0; i < WARM_REQUESTS; i++) {
		ask_one(member, measure_now_ns(), tally + 1);
	}
	start = swarm_wait_for_start(member);
	now = measure_now_ns();
	tally->first_ns = start;
	for (uint64_t n = 0; now < start + stage->span_ns; n++) {
		uint64_t intended = stage->interval_ns > 0 ? start +
		    (uint64_t)((double)n * stage->interval_ns) : now;

		if (stage->sleeps && now < intended) {
			swarm_sleep_until(intended);
			now = measure_now_ns();
		}
		while (now < intended) {
			now = measure_now_ns();
		}
		ask_one(member, intended, tally);
		now = tally->last_ns;
	}
}

/* One window; requests per second of it. */
static double
run_window(const struct bench *b, struct stage *stage, uint64_t span_ns,
    double per_second)
{
	unsigned cores = measure_count_cores();
	double cpu_ms;
	struct swarm swarm;
	struct swarm_tally sum;

	stage->span_ns = span_ns;
	stage->interval_ns = per_second > 0 ? 1e9 * cores / per_second : 0;
	swarm_start(b, &swarm, &stage->daemon, cores, 1, ask_paced, stage);
	cpu_ms = daemon_cpu_ms(&stage->daemon);
	swarm_go(&swarm, measure_now_ns() + LOAD_START_IN_NS);
	swarm_finish(&swarm);
	stage->cpu_ms += daemon_cpu_ms(&stage->daemon) - cpu_ms;
	swarm_sum(&swarm, 0, &sum);
	swarm_free(&swarm);
	if (per_second > 0 && stage->count < WINDOWS) {
		stage->p99_ns[stage->count++] = (double)histogram_quantile(
		    &sum.latency, 0.99);
	}
	if (sum.refused + sum.failed > 0) {
		bench_fail(b, "%llu of %llu fetches failed",
		    (unsigned long long)(sum.refused + sum.failed),
		    (unsigned long long)sum.asked);
	}
	stage->sum.asked += sum.asked;
	stage->sum.hits += sum.hits;
	stage->sum.stale += sum.stale;
	stage->sum.computed += sum.computed;
	stage->sum.waited += sum.waited;
	histogram_merge(&stage->sum.latency, &sum.latency);
	return (double)sum.asked * 1e9 / (double)(sum.last_ns -
	    sum.first_ns);
}

static void
restart(struct stage *stage)
{
	stage->idle_ns = 0;
	stage->count = 0;
	stage->cpu_ms = 0;
	stage->sum = (struct swarm_tally){ 0 };
	histogram_init(&stage->sum.latency);
}

static void
open_stage(const struct bench *b, struct stage *stage, uint32_t keys,
    size_t value_bytes, const char *config)
{
	stage->keys = keys;
	stage->demand = (struct demand){ .value_bytes = value_bytes,
	    .options = WEIR_FETCH_OPTIONS_INIT };
	stage->demand.options.ttl_ms = TTL_MS;
	daemon_start(b, &stage->daemon, config);
	restart(stage);
}

static double
report(struct bench *b, const struct stage *stage, const char *name)
{
	double p99 = measure_median(stage->p99_ns, stage->count);

	load_begin_row(b, name, &stage->sum);
	bench_add_number(b, "median_p99_us", p99 / 1e3);
	bench_add_number(b, "daemon_cpu_us_per_request", stage->cpu_ms * 1e3 /
	    (double)stage->sum.asked);
	return p99;
}

/* The rate, in turn with as much idle work in the place of requests. */
static void
run_windows(struct bench *b, struct stage *stage, double per_second)
{
	static struct stage alone;
	uint64_t window_ns = bench_amount(b, 3, 10, 10) * LOAD_NS_PER_S;

	alone = *stage;
	restart(&alone);
	/* Half of the time is taken, so that both catch up alike. */
	alone.idle_ns = (uint64_t)(1e9 * measure_count_cores() /
	    (2 * per_second) * IDLE_PART);
	for (unsigned i = 0; i < WINDOWS; i++) {
		(void)run_window(b, stage, window_ns, per_second);
		if (i % 2 == 0) {
			(void)run_window(b, &alone, window_ns, per_second);
		}
	}
	bench_add_setting(b, "steady", "%u workers' schedules in one client "
	    "process a core, which sleeps until the next is due; %u windows "
	    "of %llu s at half the saturated rate", WORKERS, WINDOWS,
	    (unsigned long long)(window_ns / LOAD_NS_PER_S));
	(void)report(b, &alone, "steady: idle work instead of requests");
	bench_add_number(b, "per_s", per_second);
}

void
load_measure_steady(struct bench *b)
{
	static struct stage stage;
	double saturated;

	open_stage(b, &stage, KEYS, LOAD_BODY_BYTES,
	    "origin default {\n\tlimit = 64\n\tpartition_limit = 0\n}\n");
	stage.demand.backend = load_create_backend(b, PLACES, 1);
	stage.sleeps = true;
	load_fetch_all(b, &stage.daemon, &stage.demand, PREFIX, KEYS);
	saturated = run_window(b, &stage, 2 * LOAD_NS_PER_S, 0);
	load_begin_row(b, "steady hits: saturated", &stage.sum);
	bench_add_number(b, "per_s", saturated);
	restart(&stage);
	run_windows(b, &stage, saturated / 2);
	bench_add_bar(b, "steady_p99_us", report(b, &stage,
	    "steady hits: paced") / 1e3);
	bench_add_number(b, "per_s", saturated / 2);
	bench_add_bar(b, "steady_hit_ratio", (double)stage.sum.hits /
	    (double)stage.sum.asked);
	daemon_stop(&stage.daemon);
	backend_destroy(stage.demand.backend);
}

static void
store_all(const struct bench *b, struct stage *stage)
{
	if (!demand_store_all(&stage->daemon, &stage->demand, PREFIX,
	    stage->keys)) {
		bench_fail(b, "%u entries could not be stored", stage->keys);
	}
}

void
load_measure_scale(struct bench *b)
{
	static struct stage few, many;
	uint64_t window_ns = bench_amount(b, 4, 10, 30) * LOAD_NS_PER_S;
	double few_p99, many_p99;

	open_stage(b, &few, KEYS, SCALE_BYTES,
	    "pool default {\n\tmemory = 64M\n}\n");
	open_stage(b, &many, MANY_KEYS, SCALE_BYTES,
	    "pool default {\n\tmemory = 1400M\n}\n");
	store_all(b, &few);
	store_all(b, &many);
	for (unsigned i = 0; i < PAIRS; i++) {
		(void)run_window(b, &few, window_ns, SCALE_PER_S);
		(void)run_window(b, &many, window_ns, SCALE_PER_S);
	}
	bench_add_setting(b, "scale", "%u B, %u requests a second from one "
	    "spinning client process a core, %u windows of %llu s each, in "
	    "turn", SCALE_BYTES, SCALE_PER_S, PAIRS,
	    (unsigned long long)(window_ns / LOAD_NS_PER_S));
	few_p99 = report(b, &few, "10,000 entries");
	many_p99 = report(b, &many, "1,000,000 entries");
	bench_add_bar(b, "p99_1m_over_10k", many_p99 / few_p99);
	bench_add_bar(b, "background_cpu_us_per_request", many.cpu_ms * 1e3 /
	    (double)many.sum.asked);
	daemon_stop(&few.daemon);
	daemon_stop(&many.daemon);
}
