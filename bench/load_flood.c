/* SPDX-License-Identifier: ISC */

/*
 * One path is asked for with queries that nobody repeats, so that no cache
 * helps: does the origin keep room for others, and do hits stay fast?
 */
#include "load.h"

#include <sys/mman.h>

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

/* Of all three phases. */
#define NORMAL_COUNT	((2 * SPAN_S + BETWEEN_S) * NORMAL_PER_S)

/* Phases of the normal clients. */
enum { ALONE, BETWEEN, BESIDE };

struct stage {
	/* Of each normal request; shared, written by who asks. */
	uint64_t	*latency_ns;
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
		stage->latency_ns[(intended - start) * NORMAL_PER_S /
		    LOAD_NS_PER_S] = tally->last_ns - intended;
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

static void
report(struct bench *b, const struct swarm *swarm, unsigned phase,
    const char *name)
{
	struct swarm_tally sum;

	swarm_sum(swarm, phase, &sum);
	load_begin_row(b, name, &sum);
	bench_add_number(b, "offered", (double)sum.asked /
	    (double)(sum.asked + sum.dropped));
}

/* The median of the p99 of each second, the first of which is second s. */
static double
report_normal(struct bench *b, const struct stage *stage,
    const struct swarm *swarm, unsigned phase, const char *name, unsigned s)
{
	double p99[SPAN_S];
	double median;

	for (unsigned i = 0; i < SPAN_S; i++) {
		const uint64_t *window = stage->latency_ns +
		    (s + i) * NORMAL_PER_S;
		struct histogram one;

		histogram_init(&one);
		for (unsigned n = 0; n < NORMAL_PER_S; n++) {
			histogram_record(&one, window[n]);
		}
		p99[i] = (double)histogram_quantile(&one, 0.99);
	}
	median = measure_median(p99, SPAN_S);
	report(b, swarm, phase, name);
	bench_add_number(b, "median_p99_us", median / 1e3);
	return median;
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
	alone = report_normal(b, stage, &normal, ALONE,
	    "normal traffic alone", 0);
	beside = report_normal(b, stage, &normal, BESIDE,
	    "normal beside the flood", SPAN_S + BETWEEN_S);
	report(b, &flood, 0, "the flood");
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
	size_t bytes = NORMAL_COUNT * sizeof(*stage.latency_ns);

	stage.latency_ns = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage.latency_ns == MAP_FAILED) {
		bench_fail(b, "no memory");
	}
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
	(void)munmap(stage.latency_ns, bytes);
}
