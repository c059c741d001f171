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
 *
 * Two sides go in turn, a short window each, and the figure of a side is the
 * median over its windows: so short that most have no such stop.  The p99
 * over all of them stands beside it.
 */
#include "load.h"

#include <stdio.h>

#define PREFIX		"steady"
#define KEYS		10000u
#define MANY_KEYS	1000000u
#define WORKERS		64u
#define WINDOWS_MAX	2400u
#define WINDOW_MS	20u
#define WINDOW_NS	(WINDOW_MS * LOAD_NS_PER_MS)
/* With time for what is late by then. */
#define TURN_NS		(25 * LOAD_NS_PER_MS)
#define SATURATED_WINDOWS 80u
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
	bool		sleeps;		/* until the next is due */
	/* 0: asks; else does nothing for so long instead of each request */
	uint64_t	idle_ns;
	double		interval_ns;	/* of a process; 0: none */
	/* Window w has turn (w * turns + turn). */
	unsigned	windows;
	unsigned	turn;
	unsigned	turns;
	struct swarm	swarm;
	/* what came of it */
	double		p99_ns[WINDOWS_MAX];
	double		cpu_ms;		/* of the daemon */
	struct swarm_tally sum;
};

static void
ask_one(struct swarm_member *member, uint32_t number, uint64_t intended,
    struct swarm_tally *tally)
{
	const struct stage *stage = member->arg;
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
ask_window(struct swarm_member *member, uint64_t start,
    struct swarm_tally *tally)
{
	const struct stage *stage = member->arg;
	uint64_t now = measure_now_ns();

	tally->first_ns = start;
	for (uint64_t n = 0;; n++) {
		uint64_t intended = stage->interval_ns > 0 ? start +
		    (uint64_t)((double)n * stage->interval_ns) : now;

		if (intended >= start + WINDOW_NS) {
			return;
		}
		if (stage->sleeps && now < intended) {
			swarm_sleep_until(intended);
			now = measure_now_ns();
		}
		while (now < intended) {
			now = measure_now_ns();
		}
		ask_one(member, prng_below(&member->prng, stage->keys),
		    intended, tally);
		now = tally->last_ns;
	}
}

static void
ask_paced(struct swarm_member *member)
{
	const struct stage *stage = member->arg;
	uint32_t warm = stage->keys > WARM_REQUESTS ? stage->keys :
	    WARM_REQUESTS;
	uint64_t start;

	(void)measure_pin_core(member->number);
	/* Pages are mapped, and ways are known: that is no request's part. */
	for (uint32_t i = 0; i < warm && stage->idle_ns == 0; i++) {
		ask_one(member, i % stage->keys, measure_now_ns(),
		    member->tally + stage->windows);
	}
	start = swarm_wait_for_start(member);
	for (unsigned w = 0; w < stage->windows; w++) {
		uint64_t begin = start + (w * stage->turns + stage->turn) *
		    TURN_NS;

		swarm_sleep_until(begin);
		ask_window(member, begin, member->tally + w);
	}
}

static void
begin(const struct bench *b, struct stage *stage, double per_second,
    unsigned windows, unsigned turn, unsigned turns)
{
	unsigned cores = measure_count_cores();

	stage->interval_ns = per_second > 0 ? 1e9 * cores / per_second : 0;
	stage->windows = windows;
	stage->turn = turn;
	stage->turns = turns;
	/* The last phase is that of warming up. */
	swarm_start_phases(b, &stage->swarm, &stage->daemon, cores, 1,
	    ask_paced, stage, windows + 1);
	stage->cpu_ms = -daemon_cpu_ms(&stage->daemon);
}

static void
end(const struct bench *b, struct stage *stage)
{
	struct swarm_tally window;

	swarm_finish(&stage->swarm);
	stage->cpu_ms += daemon_cpu_ms(&stage->daemon);
	stage->sum = (struct swarm_tally){ .first_ns = UINT64_MAX };
	histogram_init(&stage->sum.latency);
	for (unsigned w = 0; w < stage->windows; w++) {
		swarm_sum(&stage->swarm, w, &window);
		stage->p99_ns[w] = (double)histogram_quantile(
		    &window.latency, 0.99);
		swarm_add(&stage->sum, &window);
	}
	swarm_free(&stage->swarm);
	if (stage->sum.refused + stage->sum.failed > 0) {
		bench_fail(b, "%llu of %llu fetches failed",
		    (unsigned long long)(stage->sum.refused +
		    stage->sum.failed), (unsigned long long)stage->sum.asked);
	}
}

/* Both at that rate, in turn. */
static void
run_both(const struct bench *b, struct stage *one, struct stage *other,
    unsigned windows, double per_second)
{
	uint64_t start;

	begin(b, one, per_second, windows, 0, 2);
	begin(b, other, per_second, windows, 1, 2);
	start = measure_now_ns() + LOAD_START_IN_NS;
	swarm_go(&one->swarm, start);
	swarm_go(&other->swarm, start);
	end(b, one);
	end(b, other);
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
}

static double
report(struct bench *b, const struct stage *stage, const char *name)
{
	double p99 = measure_median(stage->p99_ns, stage->windows);

	load_begin_row(b, name, &stage->sum);
	bench_add_number(b, "median_p99_us", p99 / 1e3);
	bench_add_number(b, "daemon_cpu_us_per_request", stage->cpu_ms * 1e3 /
	    (double)stage->sum.asked);
	return p99;
}

/* What the clients reach when nothing paces them. */
static double
saturate(struct bench *b, struct stage *stage)
{
	double per_second;

	begin(b, stage, 0, SATURATED_WINDOWS, 0, 1);
	swarm_go(&stage->swarm, measure_now_ns() + LOAD_START_IN_NS);
	end(b, stage);
	per_second = (double)stage->sum.asked * LOAD_NS_PER_S /
	    (SATURATED_WINDOWS * WINDOW_NS);
	load_begin_row(b, "steady hits: saturated", &stage->sum);
	bench_add_number(b, "per_s", per_second);
	return per_second;
}

/* Half of that, in turn with as much idle work in the place of requests. */
void
load_measure_steady(struct bench *b)
{
	static struct stage stage, alone;
	unsigned windows = (unsigned)bench_amount(b, 400, 1200, 2400);
	double per_second;

	open_stage(b, &stage, KEYS, LOAD_BODY_BYTES,
	    "origin default {\n\tlimit = 64\n\tpartition_limit = 0\n}\n");
	stage.demand.backend = load_create_backend(b, PLACES, 1);
	stage.sleeps = true;
	load_fetch_all(b, &stage.daemon, &stage.demand, PREFIX, KEYS);
	per_second = saturate(b, &stage) / 2;
	alone = stage;
	/* Half of the time is taken, so that both catch up alike. */
	alone.idle_ns = (uint64_t)(1e9 * measure_count_cores() /
	    (2 * per_second) * IDLE_PART);
	run_both(b, &stage, &alone, windows, per_second);
	bench_add_setting(b, "steady", "%u workers' schedules in one client "
	    "process a core, which sleeps until the next is due; %u windows "
	    "of %u ms at half the saturated rate", WORKERS, windows,
	    WINDOW_MS);
	(void)report(b, &alone, "steady: idle work instead of requests");
	bench_add_number(b, "per_s", per_second);
	bench_add_bar(b, "steady_p99_us", report(b, &stage,
	    "steady hits: paced") / 1e3);
	bench_add_number(b, "per_s", per_second);
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
	unsigned windows = (unsigned)bench_amount(b, 300, 1200, 2400);
	double few_p99, many_p99;

	open_stage(b, &few, KEYS, SCALE_BYTES,
	    "pool default {\n\tmemory = 64M\n}\n");
	open_stage(b, &many, MANY_KEYS, SCALE_BYTES,
	    "pool default {\n\tmemory = 1400M\n}\n");
	store_all(b, &few);
	store_all(b, &many);
	run_both(b, &few, &many, windows, SCALE_PER_S);
	bench_add_setting(b, "scale", "%u B, %u requests a second from one "
	    "spinning client process a core, %u windows of %u ms each, in "
	    "turn", SCALE_BYTES, SCALE_PER_S, windows, WINDOW_MS);
	few_p99 = report(b, &few, "10,000 entries");
	many_p99 = report(b, &many, "1,000,000 entries");
	bench_add_bar(b, "p99_1m_over_10k", many_p99 / few_p99);
	bench_add_bar(b, "background_cpu_us_per_request", many.cpu_ms * 1e3 /
	    (double)many.sum.asked);
	daemon_stop(&few.daemon);
	daemon_stop(&many.daemon);
}
