/* SPDX-License-Identifier: ISC */

/*
 * Random calls, deaths, limits and times: after each the limiter has granted,
 * refused and told what the naive one has, and verify finds no fault.
 */
#include "limiter.h"

#include <criterion/criterion.h>
#include <string.h>

#include "limiter_fixture.h"
#include "limiter_model.h"
#include "prng.h"

#define SEEDS		50u
#define STEPS		2000u
#define PERMITS		12u
#define OWNERS		12u
#define WORKERS		4u
#define INCARNATIONS	3u
#define WAIT_MS		1500u

struct run {
	struct fixture	f;
	struct model	model;
	struct prng	p;
	uint64_t	seed;
	unsigned	step;
};

static void
expect(const struct run *run, const char *what, uint64_t got, uint64_t wanted)
{
	cr_assert_eq(got, wanted, "seed %llu, step %u: %s %llu, not %llu",
	    (unsigned long long)run->seed, run->step, what,
	    (unsigned long long)got, (unsigned long long)wanted);
}

static uint64_t
any_worker(struct run *run)
{
	return limiter_worker(prng_below(&run->p, WORKERS),
	    1 + prng_below(&run->p, INCARNATIONS));
}

static struct limiter_request
any_request(struct run *run)
{
	struct prng *p = &run->p;
	struct limiter_request request = {
		.owner = 1 + prng_below(p, OWNERS),
		.client = prng_below(p, 5),
		.partition = prng_below(p, MODEL_PARTITIONS),
		.host = prng_below(p, MODEL_HOSTS),
		.worker = any_worker(run),
		.class = prng_one_in(p, 5) ? LIMITER_BACKGROUND :
		    LIMITER_FOREGROUND,
		.marked = prng_one_in(p, 3),
		.partition_cap = prng_one_in(p, 6) ? 1 + prng_below(p, 2) : 0,
		.wait_ms = prng_one_in(p, 10) ? 0 :
		    1 + prng_below(p, WAIT_MS),
	};

	return request;
}

/* A caller in that state, or NULL. */
static struct model_caller *
any_caller(struct run *run, enum model_state state)
{
	uint32_t count = model_count(&run->model, state);
	uint32_t skip = count == 0 ? 0 : prng_below(&run->p, count);

	for (uint32_t i = 0; i < run->model.count; i++) {
		struct model_caller *caller = &run->model.callers[i];

		if (caller->state == state && skip-- == 0) {
			return caller;
		}
	}
	return NULL;
}

static void
step_acquire(struct run *run)
{
	struct limiter_request request = any_request(run);
	struct model_caller *caller = NULL;
	struct limiter_ticket ticket;
	enum limiter_refusal why;
	enum result wanted = model_acquire(&run->model, &run->f.config,
	    &request, run->f.now, &caller, &why);

	expect(run, "acquire", (uint64_t)limited_acquire(&run->f, &request,
	    &ticket), (uint64_t)wanted);
	expect(run, "refusal", ticket.refusal, why);
	if (caller != NULL) {
		caller->ticket = ticket;
		expect(run, "deadline", ticket.deadline_ms,
		    caller->deadline_ms);
	}
}

static void
step_release(struct run *run)
{
	struct model_caller *caller = any_caller(run, MODEL_HELD);

	if (caller == NULL) {
		return;
	}
	limited_release(&run->f, &caller->ticket);
	run->model.told = 0;
	model_end(&run->model, caller);
	model_grant(&run->model, &run->f.config, run->f.now);
}

static void
step_cancel(struct run *run)
{
	struct model_caller *caller = any_caller(run,
	    prng_one_in(&run->p, 2) ? MODEL_WAITING : MODEL_GRANTED);

	if (caller == NULL) {
		return;
	}
	run->f.told = run->model.told = 0;
	limiter_cancel(&run->f.limiter, &run->f.config, &caller->ticket,
	    run->f.now, &run->f.told);
	model_end(&run->model, caller);
	model_grant(&run->model, &run->f.config, run->f.now);
}

static void
step_collect(struct run *run)
{
	struct model_caller *waits = any_caller(run, MODEL_WAITING);
	struct model_caller *granted = any_caller(run, MODEL_GRANTED);
	enum result wanted = GROWING;

	if (waits != NULL) {
		if (run->f.now.ms >= waits->deadline_ms) {
			wanted = TIMEOUT;
			run->model.refused[LIMITER_QUEUE_TIMEOUT]++;
			model_end(&run->model, waits);
		}
		expect(run, "collect", (uint64_t)limited_collect(&run->f,
		    &waits->ticket), (uint64_t)wanted);
	}
	if (granted != NULL) {
		expect(run, "collect", (uint64_t)limited_collect(&run->f,
		    &granted->ticket), OK);
		expect(run, "deadline", granted->ticket.deadline_ms,
		    granted->deadline_ms);
		granted->state = MODEL_HELD;
		granted->listed = 0;
	}
}

static void
step_next_granted(struct run *run)
{
	uint64_t worker = any_worker(run);
	const struct model_caller *caller = model_next_granted(&run->model,
	    worker);

	expect(run, "place", limiter_next_granted(&run->f.limiter, worker),
	    caller == NULL ? 0 : caller->ticket.place);
}

static void
step_limit(struct run *run)
{
	run->f.config.limit = 1 + prng_below(&run->p, PERMITS);
	run->f.told = run->model.told = 0;
	limiter_grant(&run->f.limiter, &run->f.config, run->f.now,
	    &run->f.told);
	model_grant(&run->model, &run->f.config, run->f.now);
}

static void
step_death(struct run *run)
{
	bool rebuild = prng_one_in(&run->p, 2);

	memset(run->f.dead, 0, sizeof(run->f.dead));
	run->f.dead[1 + prng_below(&run->p, 2 * OWNERS)] = true;
	run->f.dead_worker = prng_one_in(&run->p, 3) ? any_worker(run) : 0;
	if (rebuild && prng_one_in(&run->p, 2)) {
		limited_scribble(&run->f, prng_next(&run->p));
	}
	if (rebuild && prng_one_in(&run->p, 2)) {
		run->f.config.partition_cap = prng_below(&run->p, 4);
		run->f.config.host_cap = prng_below(&run->p, 6);
	}
	model_sweep(&run->model, run->f.dead, run->f.dead_worker,
	    run->f.now);
	if (rebuild) {
		model_rebuild(&run->model);
		limited_rebuild(&run->f);
	} else {
		limited_sweep(&run->f);
	}
	model_grant(&run->model, &run->f.config, run->f.now);
}

static void
compare(struct run *run)
{
	const struct limiter_state *state = run->f.limiter.state;

	expect(run, "faults", limited_faults(&run->f), 0);
	expect(run, "told", run->f.told, run->model.told);
	expect(run, "in flight", state->in_flight,
	    model_in_flight(&run->model));
	expect(run, "waiting", state->waiting,
	    model_count(&run->model, MODEL_WAITING));
	for (unsigned i = 0; i < LIMITER_REFUSALS; i++) {
		expect(run, limiter_refusal_name(i), state->refused[i],
		    run->model.refused[i]);
	}
	for (uint32_t i = 0; i < run->model.count; i++) {
		const struct model_caller *caller = &run->model.callers[i];

		if (caller->state == MODEL_WAITING ||
		    caller->state == MODEL_GRANTED) {
			expect(run, "granted", limited_is_granted(&run->f,
			    &caller->ticket),
			    caller->state == MODEL_GRANTED);
		}
	}
}

static void
step(struct run *run)
{
	static void (*const steps[])(struct run *) = {
		step_release, step_release, step_release, step_collect,
		step_collect, step_cancel, step_next_granted, step_acquire,
		step_acquire, step_acquire, step_acquire, step_acquire,
	};
	/* Busier and idler by turns. */
	uint32_t lowest = run->step / 100 % 3;

	run->f.told = run->model.told = 0;
	run->f.now.ms += prng_below(&run->p, 20);
	if (prng_one_in(&run->p, 50)) {
		step_death(run);
	} else if (prng_one_in(&run->p, 50)) {
		step_limit(run);
	} else {
		steps[lowest + prng_below(&run->p,
		    sizeof(steps) / sizeof(*steps) - lowest)](run);
	}
	compare(run);
}

static void
run_seed(uint64_t seed, struct limiter_state *sum)
{
	struct run run = { .seed = seed };

	prng_init(&run.p, seed);
	limited_open(&run.f, PERMITS, 5 + seed % 40);
	run.f.config.partition_cap = seed % 4;
	run.f.config.host_cap = seed % 3 * 3;
	run.f.config.client_cap = seed % 5 == 0 ? 0 : 10;
	run.f.config.partition_places = 1 + seed % 6;
	run.f.config.permit_ms = 2000;
	for (; run.step < STEPS; run.step++) {
		step(&run);
	}
	for (unsigned i = 0; i < LIMITER_REFUSALS; i++) {
		sum->refused[i] += run.f.limiter.state->refused[i];
	}
	sum->waited += run.f.limiter.state->waited;
	sum->overdue += run.f.limiter.state->overdue;
	sum->swept += run.f.limiter.state->swept;
	limited_close(&run.f);
}

Test(limiter_model, it_does_what_a_naive_one_does)
{
	struct limiter_state sum = { 0 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		run_seed(seed, &sum);
	}
	/* All of it happened. */
	for (unsigned i = LIMITER_NOT_REFUSED + 1; i < LIMITER_REFUSALS; i++) {
		cr_assert_neq(sum.refused[i], 0, "%s",
		    limiter_refusal_name(i));
	}
	cr_assert_neq(sum.waited, 0);
	cr_assert_neq(sum.overdue, 0);
	cr_assert_neq(sum.swept, 0);
}
