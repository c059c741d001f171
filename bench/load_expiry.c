/* SPDX-License-Identifier: ISC */

/*
 * Keys stored within a moment, which live for a minute: what does the origin
 * get to see when that is over?
 */
#include "load.h"

#include <sys/mman.h>

#define KEYS		10000u
#define PREFIX		"expiring"
#define PER_SECOND	4000u
#define SPAN_S		80u	/* never scaled: it has to see the end */
#define TTL_MS		60000u
#define SLOTS		32u
#define PROCESSES	8u
#define THREADS		8u

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

static double
count_computed(const struct demand *demand)
{
	unsigned count = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		/* Relaxed: all have ended. */
		count += atomic_load_explicit(&demand->was_computed[i],
		    memory_order_relaxed);
	}
	return (double)count / KEYS;
}

static void
report(struct bench *b, const struct stage *stage,
    const struct swarm_tally *sum)
{
	const struct backend *backend = stage->demand.backend;
	double refetched = count_computed(&stage->demand);
	double busiest = backend_busiest_second(backend);

	load_begin_row(b, "synchronized expiry", sum);
	bench_add_number(b, "origin_calls",
	    (double)backend_count(&backend->calls));
	bench_add_number(b, "peak_in_flight",
	    backend_peak(&backend->peak_of_all));
	bench_add_number(b, "busiest_second", busiest);
	bench_add_number(b, "refetched", refetched);
	bench_add_bar(b, "expiry_peak_in_flight",
	    backend_peak(&backend->peak_of_all));
	bench_add_bar(b, "expiry_refetched", refetched);
	bench_add_bar(b, "expiry_client_errors",
	    (double)(sum->refused + sum->failed));
}

void
load_measure_expiry(struct bench *b)
{
	static struct daemon d;
	static struct stage stage;
	void *was_computed = mmap(NULL, KEYS, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct swarm swarm;
	struct swarm_tally sum;

	stage.demand = (struct demand){
		.backend = load_create_backend(b, SLOTS, 5),
		.value_bytes = LOAD_BODY_BYTES,
		.options = WEIR_FETCH_OPTIONS_INIT,
	};
	stage.demand.options.ttl_ms = TTL_MS;
	stage.demand.options.origin.partition = "/";
	stage.demand.options.origin.partition_length = 1;
	stage.pace = (struct demand_pace){ .per_second = PER_SECOND,
	    .phase_ns = { SPAN_S * LOAD_NS_PER_S } };
	if (was_computed == MAP_FAILED) {
		bench_fail(b, "no memory");
	}
	daemon_start(b, &d, "origin default {\n\tlimit = 32\n"
	    "\tpartition_limit = 32\n}\n");
	load_fetch_all(b, &d, &stage.demand, PREFIX, KEYS);
	stage.demand.was_computed = was_computed;
	swarm_start(b, &swarm, &d, PROCESSES, THREADS, ask_any, &stage);
	backend_restart(stage.demand.backend);
	swarm_go(&swarm, measure_now_ns() + LOAD_START_IN_NS);
	swarm_finish(&swarm);
	swarm_sum(&swarm, 0, &sum);
	report(b, &stage, &sum);
	swarm_free(&swarm);
	daemon_stop(&d);
	backend_destroy(stage.demand.backend);
	(void)munmap(was_computed, KEYS);
}
