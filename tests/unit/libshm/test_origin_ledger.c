/* SPDX-License-Identifier: ISC */

/*
 * The ledger: what is in it, when, and what a next life makes of it.
 */
#include "origin_ledger.h"

#include "origin.h"

#include "origin_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ALICE	FIRST_OWNER
#define BOB	(FIRST_OWNER + 1)
/* An owner that ends with the daemon. */
#define WORKER	(FIRST_OWNER + 500)
/* In one test. */
#define LEDGERS_MAX	2

static _Atomic uint32_t closing;

static bool
describe(void *arg, uint64_t owner, struct origin_caller *caller)
{
	(void)arg;
	caller->pid = (uint32_t)owner;
	caller->secret = owner * 3;
	return owner != WORKER;
}

static struct origin_ledger_entry *made[LEDGERS_MAX];
static unsigned made_count;

static void
drop_ledgers(void)
{
	while (made_count > 0) {
		free(made[--made_count]);
	}
}

TestSuite(origin_ledger, .fini = drop_ledgers);

static struct origin_ledger
make_ledger(const struct world *world)
{
	struct origin_ledger ledger = {
		.caller = describe,
		.closing = &closing,
	};
	uint32_t all = origin_ledger_entries(&world->config,
	    &ledger.upload_count);

	ledger.call_count = all - ledger.upload_count;
	ledger.calls = calloc(all, sizeof(*ledger.calls));
	cr_assert_not_null(ledger.calls);
	cr_assert_lt(made_count, LEDGERS_MAX);
	made[made_count++] = ledger.calls;
	ledger.uploads = ledger.calls + ledger.call_count;
	return ledger;
}

static struct origin_ledger
start(struct world *world)
{
	struct origin_ledger ledger;

	world_start(world);
	ledger = make_ledger(world);
	cr_assert(origin_keep_ledger(&world->origin, &ledger));
	return ledger;
}

static unsigned
count(const struct origin_ledger *ledger)
{
	unsigned used = 0;

	for (uint32_t i = 0; i < ledger->call_count + ledger->upload_count;
	    i++) {
		used += ledger->calls[i].token != 0;
	}
	return used;
}

Test(origin_ledger, of_another_size_is_refused)
{
	struct world world;
	struct origin_ledger ledger;

	world_start(&world);
	ledger = make_ledger(&world);
	ledger.call_count--;
	cr_assert_not(origin_keep_ledger(&world.origin, &ledger));
}

Test(origin_ledger, has_a_permit_from_its_grant_to_its_release)
{
	struct world world;
	struct origin_ledger ledger = start(&world);
	struct origin_ticket ticket;
	const struct origin_ledger_entry *entry;

	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &ticket),
	    ORIGIN_GRANTED);
	cr_assert_eq(count(&ledger), 1);
	entry = &ledger.calls[ticket.permit - 1];
	cr_assert_eq(entry->token, ticket.token);
	cr_assert_eq(entry->owner, ALICE);
	cr_assert_eq(entry->partition, PARTITION);
	cr_assert_eq(entry->deadline_ms, ticket.deadline_ms);
	cr_assert_eq(entry->caller.pid, ALICE);
	cr_assert_eq(entry->caller.secret, ALICE * 3);
	cr_assert_eq(world_release(&world, ALICE, &ticket, BREAKER_NEUTRAL),
	    OK);
	cr_assert_eq(count(&ledger), 0);
}

Test(origin_ledger, has_uploads_apart)
{
	struct world world;
	struct origin_ledger ledger = start(&world);
	struct origin_request request = world_request(ALICE, PARTITION);
	struct origin_ticket ticket;

	request.upload = true;
	cr_assert_eq(world_ask(&world, &request, &ticket), ORIGIN_GRANTED);
	cr_assert_eq(ledger.uploads[ticket.permit - 1].token, ticket.token);
	cr_assert_eq(count(&ledger), 1);
}

Test(origin_ledger, has_a_waiter_s_permit_when_it_is_collected)
{
	struct world world;
	struct origin_ledger ledger = start(&world);
	struct origin_ticket held[LIMITER_LIMIT], waits;

	world_fill(&world, held, LIMITER_LIMIT);
	cr_assert_eq(world_acquire(&world, BOB, 0, &waits), ORIGIN_WAIT);
	cr_assert_eq(world_release(&world, FIRST_OWNER, &held[0],
	    BREAKER_SUCCESS), OK);
	cr_assert_eq(count(&ledger), LIMITER_LIMIT - 1, "it was not told");
	cr_assert_eq(world_collect(&world, BOB, &waits), ORIGIN_GRANTED);
	cr_assert_eq(ledger.calls[waits.permit - 1].owner, BOB);
	cr_assert_eq(count(&ledger), LIMITER_LIMIT);
}

Test(origin_ledger, has_none_of_those_who_end_with_the_daemon)
{
	struct world world;
	struct origin_ledger ledger = start(&world);
	struct origin_ticket ticket;

	cr_assert_eq(world_acquire(&world, WORKER, PARTITION, &ticket),
	    ORIGIN_GRANTED);
	cr_assert_eq(count(&ledger), 0);
}

Test(origin_ledger, forgets_what_a_sweep_frees)
{
	struct world world;
	struct origin_ledger ledger = start(&world);
	struct origin_ticket dead, alive, late;

	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &dead),
	    ORIGIN_GRANTED);
	cr_assert_eq(world_acquire(&world, BOB, PARTITION, &alive),
	    ORIGIN_GRANTED);
	world.dead_below = BOB;
	world_sweep(&world);
	cr_assert_eq(count(&ledger), 1);
	cr_assert_eq(ledger.calls[alive.permit - 1].owner, BOB);
	world.now.ms = alive.deadline_ms;
	world_sweep(&world);
	cr_assert_eq(count(&ledger), 0, "its time is over");
	cr_assert_eq(world_acquire(&world, BOB, PARTITION, &late),
	    ORIGIN_GRANTED);
	cr_assert_eq(count(&ledger), 1, "what comes later is entered again");
}

Test(origin_ledger, of_a_daemon_that_ends_forgets_results_alone)
{
	struct world world;
	struct origin_ledger ledger = start(&world);
	struct origin_ticket tickets[3];

	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(world_acquire(&world, ALICE + i, PARTITION,
		    &tickets[i]), ORIGIN_GRANTED);
	}
	atomic_store(&closing, 1);
	cr_assert_eq(world_release(&world, ALICE, &tickets[0],
	    BREAKER_FAILURE), OK);
	cr_assert_eq(world_release(&world, ALICE + 1, &tickets[1],
	    BREAKER_NEUTRAL), OK);
	world.dead_below = ALICE + 3;
	world_sweep(&world);
	atomic_store(&closing, 0);
	cr_assert_eq(world_look(&world).in_flight, 0);
	cr_assert_eq(count(&ledger), 2);
	cr_assert_eq(ledger.calls[tickets[0].permit - 1].token, 0);
}

Test(origin_ledger, of_a_life_before_counts_until_it_is_given_back)
{
	struct world before, after;
	struct origin_ledger old = start(&before);
	struct origin_ledger ledger = start(&after);
	struct origin_ticket held[LIMITER_LIMIT], more;

	world_fill(&before, held, LIMITER_LIMIT);
	for (unsigned i = 0; i < LIMITER_LIMIT; i++) {
		uint32_t number = held[i].permit;

		cr_assert_eq(origin_restore(&after.origin, false, number,
		    &old.calls[number - 1], after.now), OK);
		cr_assert_eq(origin_restore(&after.origin, false, number,
		    &old.calls[number - 1], after.now), FULL);
	}
	cr_assert(origin_restored(&after.origin, after.now));
	cr_assert_eq(origin_verify(&after.origin, after.now), 0);
	cr_assert_eq(world_look(&after).in_flight, LIMITER_LIMIT);
	cr_assert_eq(count(&ledger), LIMITER_LIMIT,
	    "a third life knows of them too");
	cr_assert_eq(world_acquire(&after, BOB, 0, &more), ORIGIN_WAIT);
	cr_assert_eq(world_release(&after, FIRST_OWNER, &held[0],
	    BREAKER_FAILURE), OK);
	cr_assert_eq(world_look(&after).window_failures, 0,
	    "the breaker did not admit it");
	cr_assert_eq(world_collect(&after, BOB, &more), ORIGIN_GRANTED);
	cr_assert_gt(more.token, held[LIMITER_LIMIT - 1].token,
	    "no token is used twice");
	after.now.ms = held[1].deadline_ms;
	world_sweep(&after);
	cr_assert_eq(world_look(&after).in_flight, 0, "their time is over");
	cr_assert_eq(count(&ledger), 0);
}

Test(origin_ledger, without_sense_is_refused)
{
	struct world world;
	struct origin_ledger ledger = start(&world);
	const struct origin_ledger_entry good = {
		.token = 9, .owner = ALICE, .number = 7,
		.deadline_ms = world.now.ms + 1,
	};
	struct origin_ledger_entry bad[5] = { good, good, good, good, good };

	bad[0].owner = 0;
	bad[1].token = UINT64_MAX;
	bad[2].number = 10;
	bad[3].number = 0;
	bad[4].deadline_ms = world.now.ms;
	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(origin_restore(&world.origin, false, 1, &bad[i],
		    world.now), INVALID, "%u", i);
	}
	cr_assert_eq(origin_restore(&world.origin, false, 0, &good,
	    world.now), INVALID);
	cr_assert_eq(origin_restore(&world.origin, false,
	    ledger.call_count + 1, &good, world.now), INVALID);
	cr_assert(origin_restored(&world.origin, world.now));
	cr_assert_eq(world_look(&world).in_flight, 0);
}

Test(origin_ledger, no_time_reaches_beyond_a_permit_s)
{
	struct world world;
	const struct origin_ledger_entry entry = {
		.token = 9, .owner = ALICE, .number = 7,
		.deadline_ms = UINT64_MAX,
	};

	(void)start(&world);
	cr_assert_eq(origin_restore(&world.origin, true, 1, &entry,
	    world.now), OK);
	cr_assert(origin_restored(&world.origin, world.now));
	cr_assert_eq(world_look(&world).upload_in_flight, 1);
	world.now.ms += LIMITER_PERMIT_MS;
	world_sweep(&world);
	cr_assert_eq(world_look(&world).upload_in_flight, 0);
}
