/* SPDX-License-Identifier: ISC */

/*
 * Each run asks for the whole trace once: workers take a part each, on the
 * cores in turn.  All keys are stored anew before they come near their end.
 */
#include "simyl.h"

#include "demand.h"
#include "side.h"

#include <stdio.h>
#include <string.h>

#define TTL_MS		60000u
/* Jitter takes up to a tenth; a run takes less than the rest. */
#define STORE_AFTER_NS	(20 * UINT64_C(1000000000))
#define START_IN_NS	UINT64_C(10000000)
/* One latency of so many: a look at the clock costs a fifth of a hit. */
#define SAMPLE_MASK	63u
#define KEY_PREFIX	"object"

static const unsigned worker_counts[SIMYL_SIDES] = { 0, 1, 2, 4, 8, 16 };

struct stage {
	const struct bench *b;
	const struct workload *w;
	struct daemon	daemon;
	struct demand	demand;
	struct side	floor;
	uint64_t	stored_ns;
};

struct run {
	struct stage	*stage;
	unsigned	workers;
	struct swarm_tally sum;		/* of all rounds but for the times */
};

/* Nothing but hits: a part of the trace as fast as it goes. */
static void
ask_part(struct swarm_member *member, const struct workload_draw *draw,
    const struct workload_draw *end, struct swarm_tally *tally)
{
	const struct stage *stage = member->arg;
	const struct weir_fetch_options *options = &stage->demand.options;
	size_t last = stage->demand.value_bytes - sizeof(uint64_t);
	static uint8_t buffer[DEMAND_VALUE_MAX];
	struct demand_call call = { .demand = &stage->demand,
	    .prng = &member->prng };

	tally->first_ns = measure_now_ns();
	for (uint64_t i = 0; draw < end; draw++, i++) {
		bool is_sample = (i & SAMPLE_MASK) == 0;
		uint64_t start = is_sample ? measure_now_ns() : 0;
		uint64_t word;

		call.number = draw->number;
		if (weir_fetch(member->weir, draw->key, WORKLOAD_KEY_BYTES,
		    buffer, sizeof(buffer), options, demand_compute, &call,
		    NULL) != WEIR_OK) {
			tally->failed++;
			continue;
		}
		memcpy(&word, buffer + last, sizeof(word));
		tally->wrong += word != demand_word(draw->number);
		tally->asked++;
		if (is_sample) {
			swarm_record(tally, measure_now_ns() - start);
		}
	}
	tally->last_ns = measure_now_ns();
	tally->computed = call.computes;
}

static void
ask_all(struct swarm_member *member)
{
	const struct stage *stage = member->arg;
	uint64_t count = stage->w->draw_count / member->swarm->member_count;
	const struct workload_draw *draw = stage->w->draws +
	    count * member->number;

	(void)measure_pin_core(member->number);
	/*
	 * All of it: a page that is met first costs a fault, and the more
	 * workers there are the more of their requests would meet one.
	 */
	ask_part(member, draw, draw + count, member->tally + 1);
	(void)swarm_wait_for_start(member);
	ask_part(member, draw, draw + count, member->tally);
}

static void
store_in_time(struct stage *stage)
{
	uint64_t now = measure_now_ns();

	if (stage->stored_ns != 0 && now < stage->stored_ns +
	    STORE_AFTER_NS) {
		return;
	}
	if (!demand_store_all(&stage->daemon, &stage->demand, KEY_PREFIX,
	    stage->w->key_count)) {
		bench_fail(stage->b, "the keys could not be stored");
	}
	stage->stored_ns = now;
}

static double
run_workers(void *argument)
{
	struct run *run = argument;
	struct stage *stage = run->stage;
	struct swarm swarm;
	struct swarm_tally sum;

	store_in_time(stage);
	swarm_start(stage->b, &swarm, &stage->daemon, run->workers, 1,
	    ask_all, stage);
	swarm_go(&swarm, measure_now_ns() + START_IN_NS);
	swarm_finish(&swarm);
	swarm_sum(&swarm, 0, &sum);
	if (sum.failed > 0) {
		bench_fail(stage->b, "%llu fetches failed",
		    (unsigned long long)sum.failed);
	}
	run->sum.computed += sum.computed;
	histogram_merge(&run->sum.latency, &sum.latency);
	swarm_free(&swarm);
	return (double)(sum.last_ns - sum.first_ns) / (double)sum.asked;
}

static double
run_floor_side(void *argument)
{
	const struct run *run = argument;
	double figure;

	(void)side_ask(&run->stage->floor, workload_order(WORKLOAD_ZIPF, 2));
	figure = side_ask(&run->stage->floor, workload_order(WORKLOAD_ZIPF,
	    0));
	if (!(figure > 0)) {
		bench_fail(run->stage->b, "floor_hit gave a wrong value");
	}
	return figure;
}

static void
report(struct bench *b, const struct measure_side *sides,
    const struct run *runs)
{
	for (unsigned i = 0; i < SIMYL_SIDES; i++) {
		bench_begin_row(b);
		if (i == SIMYL_FLOOR) {
			bench_add_text(b, "scenario", "floor of a hit");
		} else {
			bench_add_text(b, "scenario", "hits, %u workers",
			    worker_counts[i]);
			bench_add_number(b, "computes",
			    (double)runs[i].sum.computed);
		}
		bench_add_number(b, "per_s", 1e9 / sides[i].median);
		bench_add_side(b, "ns", &sides[i]);
		if (i != SIMYL_FLOOR) {
			bench_add_histogram(b, &runs[i].sum.latency, 1000,
			    "us");
		}
	}
}

void
simyl_measure_hits(struct bench *b, struct simyl_hits *hits,
    const struct workload *w, int w_fd, unsigned rounds)
{
	static struct stage stage;
	static struct run runs[SIMYL_SIDES];

	stage.b = b;
	stage.w = w;
	stage.demand.value_bytes = w->value_bytes;
	stage.demand.options = (struct weir_fetch_options)
	    WEIR_FETCH_OPTIONS_INIT;
	stage.demand.options.ttl_ms = TTL_MS;
	daemon_start(b, &stage.daemon, "pool default {\n\tmemory = 128M\n}\n");
	if (!side_exec(&stage.floor, 0, "floor_hit", w_fd)) {
		bench_fail(b, "floor_hit beside this program does not run");
	}
	for (unsigned i = 0; i < SIMYL_SIDES; i++) {
		runs[i].stage = &stage;
		runs[i].workers = worker_counts[i];
		histogram_init(&runs[i].sum.latency);
		hits->sides[i] = (struct measure_side){
			.run = i == SIMYL_FLOOR ? run_floor_side :
			    run_workers,
			.argument = &runs[i],
		};
	}
	measure_alternate(hits->sides, SIMYL_SIDES, rounds);
	report(b, hits->sides, runs);
	side_stop(&stage.floor);
	daemon_stop(&stage.daemon);
}
