/* SPDX-License-Identifier: ISC */

/*
 * Seeded simulation of an origin's limiter and breaker and of the flights of
 * a pool together: workers, their clients and those clients' callers of one
 * process in turn, a clock that is told, answers that come, come late or do
 * not come, deaths of clients, of workers, in the middle of an operation and
 * under the origin's lock.  A book says what each caller believes it may do.
 * --seed N --only one_seed replays one seed alone.
 *
 * tests/run: timeout_s 120
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "party.h"
#include "plain_test.h"
#include "shm_fence.h"
#include "stage.h"

/* One thread runs at a time: ThreadSanitizer, which is slow, finds little. */
#define QUICK_SEEDS	(SHM_TSAN ? 50 : 1000)
#define DEEP_SEEDS	(SHM_TSAN ? 500 : 100000)
#define COUNTDOWN_MOST	12u
#define VERIFY_ONE_IN	20u
#define FAILURES_SHOWN	5u
/* Longer than every lease, permit, wait, note and back-off. */
#define ALL_OVER_MS	200000u

/* The runner of deaths has no argument of ours. */
static struct party party;
static uint32_t step_caller;

static bool
is_due(const struct caller *caller)
{
	switch (caller->state) {
	case CALLER_JOINED:
		return caller->told ||
		    party.now.ms >= caller->lease.ticket.until_ms;
	case CALLER_QUEUED:
		return party.now.ms >= caller->place.deadline_ms;
	case CALLER_CALLING:
		return party.now.ms >= (caller->end_ms == PARTY_NEVER ?
		    caller->place.deadline_ms + 1 : caller->end_ms);
	default:
		return true;
	}
}

static void
serve_caller(uint32_t number)
{
	const struct caller *caller = &party.caller[number];

	switch (caller->state) {
	case CALLER_JOINED:
		party_collect_flight(&party, number);
		break;
	case CALLER_QUEUED:
		party_collect_place(&party, number);
		break;
	case CALLER_CALLING:
		party_end_call(&party, number);
		break;
	default:
		if (prng_one_in(&party.prng, 4)) {
			party_call(&party, number);
		} else {
			party_fetch(&party, number);
		}
		break;
	}
}

/* Runs where it may die. */
static void
act(struct stage *stage)
{
	uint32_t dice = prng_below(&party.prng, 100);

	(void)stage;
	if (step_caller < PARTY_CALLERS) {
		serve_caller(step_caller);
	} else if (dice < 10) {
		party_change(&party, prng_below(&party.prng, PARTY_KEYS));
	} else if (dice < 25) {
		party_sweep(&party);
	} else if (dice < 35 && party.by_hand) {
		party_by_hand(&party);
	} else {
		party_look(&party);
	}
}

static uint32_t
living_workers(void)
{
	uint32_t living = 0;

	for (uint32_t w = 0; w < PARTY_WORKERS; w++) {
		living += !party.worker[w].dead;
	}
	return living;
}

/* Who acts, and for whom. */
static void
choose(void)
{
	uint32_t number = prng_below(&party.prng, PARTY_CALLERS);
	const struct caller *caller = &party.caller[number];

	step_caller = PARTY_CALLERS;
	party.acting = prng_below(&party.prng, PARTY_WORKERS);
	if (prng_below(&party.prng, 100) < 75 && is_due(caller)) {
		step_caller = number;
		party.acting = party.client[caller->client].worker;
	}
	while (party.worker[party.acting].dead) {
		party.acting = (party.acting + 1) % PARTY_WORKERS;
	}
}

static void
advance(void)
{
	struct prng *prng = &party.prng;

	if (prng_one_in(prng, 3)) {
		party.now.ms += prng_below(prng, 40);
	}
	if (prng_one_in(prng, 60)) {
		party.now.ms += prng_below(prng, 3000);
	}
}

/* What happens beside the work of workers. */
static void
mishap(void)
{
	uint32_t dice = prng_below(&party.prng, 100);
	uint32_t number = prng_below(&party.prng, PARTY_CALLERS);

	party.acting = party.client[party.caller[number].client].worker;
	if (dice < 3) {
		party_kill_client(&party, party.caller[number].client);
	} else if (dice < 7) {
		party_leave(&party, number);
	} else if (dice < 9 && party.death_one_in != 0) {
		party_scribble(&party);
	}
}

static void
step(void)
{
	uint64_t countdown = 0;

	advance();
	mishap();
	choose();
	if (party.death_one_in != 0 && living_workers() > 1 &&
	    prng_one_in(&party.prng, party.death_one_in)) {
		countdown = 1 + prng_below(&party.prng, COUNTDOWN_MOST);
	}
	if (death_run(NULL, act, countdown)) {
		party_bury(&party);
	}
	party_check(&party);
	if (prng_one_in(&party.prng, VERIFY_ONE_IN)) {
		party_verify(&party);
	}
}

/* Those who are left leave, or are dead; then nothing may be left. */
static void
end(void)
{
	for (uint32_t i = 0; i < PARTY_CALLERS; i++) {
		party.acting = party.client[party.caller[i].client].worker;
		if (prng_one_in(&party.prng, 2)) {
			party_leave(&party, i);
		} else {
			party_kill_client(&party, party.caller[i].client);
		}
	}
	party_verify(&party);
	while (party.worker[party.acting].dead) {
		party.acting = (party.acting + 1) % PARTY_WORKERS;
	}
	party_sweep(&party);
	/* An offer to the dead is handed on; then its note is over, too. */
	for (unsigned i = 0; i < 3; i++) {
		party.now.ms += ALL_OVER_MS;
		for (uint32_t w = 0; w < PARTY_WORKERS; w++) {
			party.worker[w].dead = w != 0;
		}
		party.acting = 0;
		party_sweep(&party);
	}
	party_verify(&party);
	party_check(&party);
	party_check_idle(&party);
	for (uint32_t k = 0; k < PARTY_KEYS; k++) {
		party_read(&party, k);
	}
}

struct totals {
	uint64_t	steps;
	uint64_t	deaths;
	uint64_t	led;
	uint64_t	filled;
	uint64_t	granted;
	uint64_t	waited;
	uint64_t	refused;
	uint64_t	opened;
	uint64_t	half_granted;
};

static void
add_totals(struct totals *totals)
{
	struct origin_view view;

	totals->deaths += party.deaths;
	totals->led += party.led;
	totals->filled += party.filled;
	totals->granted += party.granted;
	totals->waited += party.waited;
	totals->refused += party.refused;
	totals->half_granted += party.half_granted;
	if (origin_look(&party.origin, party.now, &view) == OK) {
		totals->opened += view.opened_count;
	}
}

static bool
run_seed(uint64_t seed, struct totals *totals)
{
	if (!party_open(&party, seed)) {
		abort();	/* no memory for a test */
	}
	for (uint32_t i = 0; i < party.steps && !party_failed(&party); i++) {
		step();
		totals->steps++;
	}
	if (!party_failed(&party)) {
		end();
	}
	add_totals(totals);
	if (party_failed(&party)) {
		printf("# seed %" PRIu64 ": %s; again with: sim_origin "
		    "--seed %" PRIu64 " --only one_seed\n", seed,
		    party.error, seed);
	}
	party_close(&party);
	return !party_failed(&party);
}

int
main(int argc, char **argv)
{
	struct totals totals = { 0 };
	struct plain_test test;
	uint64_t seeds, failures = 0, run = 0;
	bool one;

	plain_start(&test, argc, argv);
	one = test.only != NULL && plain_wants(&test, "one_seed");
	seeds = one ? 1 : plain_amount(&test, QUICK_SEEDS, DEEP_SEEDS);
	if (one || plain_wants(&test, "many_seeds")) {
		for (; run < seeds && failures < FAILURES_SHOWN; run++) {
			failures += !run_seed(test.seed + run, &totals);
		}
		(void)plain_check(&test, one ? "one_seed" : "many_seeds",
		    failures == 0, "%" PRIu64 " of %" PRIu64 " seeds from %"
		    PRIu64, failures, run, test.seed);
	}
	printf("# %" PRIu64 " seeds, %" PRIu64 " steps, %" PRIu64 " deaths, %"
	    PRIu64 " flights led, %" PRIu64 " fills, %" PRIu64 " permits, %"
	    PRIu64 " places, %" PRIu64 " refused, %" PRIu64
	    " half granted, opened %" PRIu64 " times\n", run, totals.steps,
	    totals.deaths, totals.led, totals.filled, totals.granted,
	    totals.waited, totals.refused, totals.half_granted,
	    totals.opened);
	return plain_end(&test);
}
