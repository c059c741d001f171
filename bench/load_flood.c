/* SPDX-License-Identifier: ISC */

/*
 * One path is asked for with queries that nobody repeats, so that no cache
 * helps: does the origin keep room for others, and do hits stay fast?
 */
#include "load.h"

#define NORMAL_KEYS	200u
#define NORMAL_PREFIX	"normal"
#define NORMAL_PER_S	500u
#define NORMAL_PROCESSES 4u
#define NORMAL_THREADS	16u
#define FLOOD_PREFIX	"flood"
#define FLOOD_PER_S	5000u
#define FLOOD_PROCESSES	8u
#define FLOOD_THREADS	250u
#define FLOOD_CAP	"8"
#define PLACES		64u
#define SPAN_S		20u
/* Time for the flood's clients to get ready. */
#define BETWEEN_S	4u
/* A request that no client was free for. */
#define DROP_NS		(200 * LOAD_NS_PER_MS)

/* Phases of the normal clients. */
enum { ALONE, BETWEEN, BESIDE };

struct stage {
	struct demand	normal;
	struct demand	flood;
	struct demand_pace normal_pace;
	struct demand_pace flood_pace;
};

static void
ask_normal(struct swarm_member *member)
{
	const struct stage *stage = member->arg;
	uint64_t start = swarm_wait_for_start(member);
	struct swarm_tally *tally;
	uint64_t intended;

	while (demand_next(member, &stage->normal_pace, start, &intended,
	    &tally)) {
		uint32_t number = prng_below(&member->prng, NORMAL_KEYS);
		char key[DEMAND_KEY_MAX];
		size_t length = demand_make_key(key, NORMAL_PREFIX, number);

		demand_fetch(member, &stage->normal, key, length, number,
		    intended, tally);
	}
}

static void
ask_unique(struct swarm_member *member)
{
	const struct stage *stage = member->arg;
	uint64_t start = swarm_wait_for_start(member);
	struct swarm_tally *tally;
	uint64_t intended;

	while (demand_next(member, &stage->flood_pace, start, &intended,
	    &tally)) {
		/* Each time is one request's alone. */
		uint64_t number = intended - start;
		char key[DEMAND_KEY_MAX];
		size_t length = demand_make_key(key, FLOOD_PREFIX, number);

		demand_fetch(member, &stage->flood, key, length, number,
		    intended, tally);
	}
}

static double
report(struct bench *b, const struct swarm *swarm, unsigned phase,
    const char *name)
{
	struct swarm_tally sum;

	swarm_sum(swarm, phase, &sum);
	load_begin_row(b, name, &sum);
	bench_add_number(b, "offered", (double)sum.asked /
	    (double)(sum.asked + sum.dropped));
	return (double)histogram_quantile(&sum.latency, 0.99);
}

static void
run(struct bench *b, const struct daemon *d, struct stage *stage)
{
	struct backend *backend = stage->flood.backend;
	struct swarm normal, flood;
	uint64_t start;
	double alone, beside;

	swarm_start(b, &normal, d, NORMAL_PROCESSES, NORMAL_THREADS,
	    ask_normal, stage);
	start = measure_now_ns() + LOAD_START_IN_NS;
	swarm_go(&normal, start);
	swarm_sleep_until(start + SPAN_S * LOAD_NS_PER_S);
	swarm_start(b, &flood, d, FLOOD_PROCESSES, FLOOD_THREADS, ask_unique,
	    stage);
	backend_restart(backend);
	swarm_go(&flood, start + (SPAN_S + BETWEEN_S) * LOAD_NS_PER_S);
	swarm_finish(&normal);
	swarm_finish(&flood);
	alone = report(b, &normal, ALONE, "normal traffic alone");
	beside = report(b, &normal, BESIDE, "normal beside the flood");
	(void)report(b, &flood, 0, "the flood");
	bench_add_number(b, "origin_calls",
	    (double)backend_count(&backend->calls));
	bench_add_number(b, "peak_in_flight",
	    backend_peak(&backend->peak[BACKEND_FLOOD]));
	bench_add_bar(b, "flood_peak_in_flight",
	    backend_peak(&backend->peak[BACKEND_FLOOD]));
	bench_add_bar(b, "flood_normal_p99_ratio", beside / alone);
	swarm_free(&normal);
	swarm_free(&flood);
}

void
load_measure_flood(struct bench *b)
{
	static struct daemon d;
	static struct stage stage;

	stage.normal = (struct demand){
		.backend = load_create_backend(b, PLACES, 5),
		.value_bytes = LOAD_BODY_BYTES,
		.options = WEIR_FETCH_OPTIONS_INIT,
	};
	stage.normal.options.ttl_ms = 3600000;
	stage.flood = stage.normal;
	stage.flood.caller = BACKEND_FLOOD;
	stage.normal.options.origin.partition = "/normal";
	stage.normal.options.origin.partition_length = 7;
	stage.flood.options.origin.partition = "/flood";
	stage.flood.options.origin.partition_length = 6;
	stage.normal_pace = (struct demand_pace){
		.per_second = NORMAL_PER_S,
		.phase_ns = { SPAN_S * LOAD_NS_PER_S,
		    BETWEEN_S * LOAD_NS_PER_S, SPAN_S * LOAD_NS_PER_S },
	};
	stage.flood_pace = (struct demand_pace){
		.per_second = FLOOD_PER_S,
		.phase_ns = { SPAN_S * LOAD_NS_PER_S },
		.drop_ns = DROP_NS,
	};
	daemon_start(b, &d, "origin default {\n\tlimit = 64\n"
	    "\tpartition_limit = " FLOOD_CAP "\n\tqueue = 1024\n}\n");
	load_fetch_all(b, &d, &stage.normal, NORMAL_PREFIX, NORMAL_KEYS);
	run(b, &d, &stage);
	daemon_stop(&d);
	backend_destroy(stage.normal.backend);
}
