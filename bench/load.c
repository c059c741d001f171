/* SPDX-License-Identifier: ISC */

/*
 * What the scenarios share.
 */
#include "load.h"

#define FILL_PROCESSES	8u
#define FILL_THREADS	4u

struct backend *
load_create_backend(const struct bench *b, uint32_t places,
    uint64_t median_ms)
{
	struct backend *backend = backend_create(places, median_ms *
	    LOAD_NS_PER_MS, LOAD_SIGMA);

	if (backend == NULL) {
		bench_fail(b, "no memory for an origin");
	}
	return backend;
}

struct fill {
	const struct demand *demand;
	const char	*prefix;
	uint64_t	count;
};

static void
fetch_claimed(struct swarm_member *member)
{
	const struct fill *fill = member->arg;
	uint64_t number;

	(void)swarm_wait_for_start(member);
	while ((number = swarm_claim(member)) < fill->count) {
		char key[DEMAND_KEY_MAX];
		size_t length = demand_make_key(key, fill->prefix, number);

		demand_fetch(member, fill->demand, key, length, number,
		    measure_now_ns(), member->tally);
	}
}

void
load_fetch_all(const struct bench *b, const struct daemon *d,
    const struct demand *demand, const char *prefix, uint64_t count)
{
	struct fill fill = { demand, prefix, count };
	struct swarm swarm;
	struct swarm_tally sum;

	swarm_start(b, &swarm, d, FILL_PROCESSES, FILL_THREADS,
	    fetch_claimed, &fill);
	swarm_go(&swarm, measure_now_ns());
	swarm_finish(&swarm);
	swarm_sum(&swarm, 0, &sum);
	swarm_free(&swarm);
	if (sum.computed != count) {
		bench_fail(b, "%llu of %llu values could be computed",
		    (unsigned long long)sum.computed,
		    (unsigned long long)count);
	}
}

void
load_begin_row(struct bench *b, const char *scenario,
    const struct swarm_tally *sum)
{
	bench_begin_row(b);
	bench_add_text(b, "scenario", "%s", scenario);
	bench_add_number(b, "asked", (double)sum->asked);
	bench_add_number(b, "hits", (double)sum->hits);
	bench_add_number(b, "stale", (double)sum->stale);
	bench_add_number(b, "computed", (double)sum->computed);
	bench_add_number(b, "waited", (double)sum->waited);
	bench_add_number(b, "refused", (double)sum->refused);
	bench_add_number(b, "failed", (double)sum->failed);
	bench_add_text(b, "failed_as", "%s", sum->failed == 0 ? "" :
	    weir_errname(sum->failed_as));
	bench_add_number(b, "dropped", (double)sum->dropped);
	bench_add_histogram(b, &sum->latency, 1000, "us");
}
