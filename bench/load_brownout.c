/* SPDX-License-Identifier: ISC */

/*
 * An origin that becomes so slow that most calls to it are given up: callers
 * are served what is stale, and the origin is left alone meanwhile.
 */
#include "load.h"

#define KEYS		200u
#define PREFIX		"brown"
#define PER_SECOND	2000u
#define PROCESSES	4u
#define THREADS		8u
#define PLACES		32u
#define MEDIAN_MS	5u
#define SLOWER		20u
#define TIME_OUT_MS	80u
#define TTL_MS		2000u
#define STALE_IF_ERROR_MS 600000u

enum { BEFORE, DURING, AFTER };

static const unsigned phase_s[SWARM_PHASES] = { 6, 30, 10 };
static const char *const phase_names[SWARM_PHASES] = {
	"brown-out: before", "brown-out: during", "brown-out: after"
};

struct stage {
	struct demand	demand;
	struct demand_pace pace;
};

static void
ask_any(struct swarm_member *member)
{
	const struct stage *stage = member->arg;
	uint64_t start = swarm_wait_for_start(member);
	struct swarm_tally *tally;
	uint64_t intended;

	while (demand_next(member, &stage->pace, start, &intended, &tally)) {
		uint32_t number = prng_below(&member->prng, KEYS);
		char key[DEMAND_KEY_MAX];
		size_t length = demand_make_key(key, PREFIX, number);

		demand_fetch(member, &stage->demand, key, length, number,
		    intended, tally);
	}
}

static void
report(struct bench *b, const struct swarm *swarm, const struct daemon *d,
    const struct backend *backend)
{
	struct swarm_tally sum;
	uint64_t opened = 0;
	bool is_closed = false;

	if (!daemon_look_breaker(d, &opened, &is_closed)) {
		bench_fail(b, "the breaker cannot be looked at");
	}
	for (unsigned phase = 0; phase < SWARM_PHASES; phase++) {
		swarm_sum(swarm, phase, &sum);
		load_begin_row(b, phase_names[phase], &sum);
		bench_add_number(b, "with_value", (double)(sum.asked -
		    sum.refused - sum.failed) / (double)sum.asked);
		if (phase == DURING) {
			bench_add_bar(b, "brownout_2xx", (double)(sum.asked -
			    sum.refused - sum.failed) / (double)sum.asked);
		}
	}
	bench_add_number(b, "origin_calls",
	    (double)backend_count(&backend->calls));
	bench_add_number(b, "peak_in_flight",
	    backend_peak(&backend->peak_of_all));
	bench_add_number(b, "breaker_opened", (double)opened);
	bench_add_text(b, "breaker_at_end", "%s", is_closed ? "closed" :
	    "open");
	/* One that stays open has not served its purpose. */
	bench_add_bar(b, "brownout_breaker_opened", is_closed ?
	    (double)opened : 0);
}

void
load_measure_brownout(struct bench *b)
{
	static struct daemon d;
	static struct stage stage;
	struct backend *backend = load_create_backend(b, PLACES, MEDIAN_MS);
	struct swarm swarm;
	uint64_t at;

	backend->time_out_ns = TIME_OUT_MS * LOAD_NS_PER_MS;
	stage.demand = (struct demand){
		.backend = backend,
		.value_bytes = LOAD_BODY_BYTES,
		.options = WEIR_FETCH_OPTIONS_INIT,
	};
	stage.demand.options.ttl_ms = TTL_MS;
	stage.demand.options.stale_if_error_ms = STALE_IF_ERROR_MS;
	stage.pace.per_second = PER_SECOND;
	for (unsigned i = 0; i < SWARM_PHASES; i++) {
		stage.pace.phase_ns[i] = phase_s[i] * LOAD_NS_PER_S;
	}
	daemon_start(b, &d, "origin default {\n\tlimit = 32\n"
	    "\tqueue_wait = 100ms\n\tbreaker_window = 2s\n"
	    "\tbreaker_calls = 20\n\tbreaker_open = 1s\n"
	    "\tbreaker_open_max = 2s\n}\n");
	swarm_start(b, &swarm, &d, PROCESSES, THREADS, ask_any, &stage);
	backend_restart(backend);
	at = measure_now_ns() + LOAD_START_IN_NS;
	swarm_go(&swarm, at);
	swarm_sleep_until(at += phase_s[BEFORE] * LOAD_NS_PER_S);
	backend_set_median(backend, MEDIAN_MS * SLOWER * LOAD_NS_PER_MS);
	swarm_sleep_until(at + phase_s[DURING] * LOAD_NS_PER_S);
	backend_set_median(backend, MEDIAN_MS * LOAD_NS_PER_MS);
	swarm_finish(&swarm);
	report(b, &swarm, &d, backend);
	swarm_free(&swarm);
	daemon_stop(&d);
	backend_destroy(backend);
}
