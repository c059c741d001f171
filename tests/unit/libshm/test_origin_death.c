/* SPDX-License-Identifier: ISC */

/*
 * What deaths leave at an origin: permits, places, probes, a held lock.
 */
#include "origin.h"

#include "origin_fixture.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <unistd.h>

/* How long a broken run may hang. */
#define DEADLINE_MS	10000
#define ALICE		FIRST_OWNER
#define BOB		(FIRST_OWNER + 1)

Test(origin_death, the_probe_of_a_dead_owner_is_the_next_caller_s)
{
	struct world world;
	struct origin_ticket probe, next;

	world_start(&world);
	world_fail_until_open(&world);
	world.now.ms = world_look(&world).open_until_ms;
	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &probe),
	    ORIGIN_GRANTED);
	cr_assert_eq(world_acquire(&world, BOB, PARTITION, &next),
	    ORIGIN_OPEN);
	world.dead_below = BOB;
	cr_assert_eq(world_acquire(&world, BOB, PARTITION, &next),
	    ORIGIN_GRANTED);
	/* An answer that the dead one sent before counts nothing. */
	cr_assert_eq(world_release(&world, ALICE, &probe, BREAKER_FAILURE),
	    OK);
	cr_assert_eq(world_look(&world).breaker, BREAKER_HALF_OPEN);
	cr_assert_eq(world_release(&world, BOB, &next, BREAKER_SUCCESS), OK);
	cr_assert_eq(world_look(&world).breaker, BREAKER_CLOSED);
	world_expect_idle(&world);
}

Test(origin_death, a_sweep_frees_the_probe_of_a_dead_owner)
{
	struct world world;
	struct origin_ticket probe;

	world_start(&world);
	world_fail_until_open(&world);
	world.now.ms = world_look(&world).open_until_ms;
	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &probe),
	    ORIGIN_GRANTED);
	world_sweep(&world);
	cr_assert_eq(world_look(&world).probe_owner, ALICE);
	world.dead_below = BOB;
	world_sweep(&world);
	cr_assert_eq(world_look(&world).probe_owner, 0);
	world_expect_idle(&world);
}

Test(origin_death, what_dead_owners_hold_is_swept)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits[10];

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	for (unsigned i = 0; i < 10; i++) {
		cr_assert_eq(world_acquire(&world, i < 5 ? FIRST_OWNER :
		    1000, 1 + i, &waits[i]), ORIGIN_WAIT);
	}
	world.dead_below = FIRST_OWNER + LIMITER_LIMIT;
	world_sweep(&world);
	cr_assert_eq(world_look(&world).in_flight, 5, "granted to the rest");
	cr_assert_eq(world_look(&world).waiting, 0);
	cr_assert_eq(world.told, UINT64_C(1) << 1);
	cr_assert_eq(world_collect(&world, FIRST_OWNER, &waits[0]),
	    ORIGIN_LOST);
	world.dead_below = 1001;
	world_sweep(&world);
	world_expect_idle(&world);
}

Test(origin_death, the_places_of_a_dead_worker_are_swept)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits;
	struct origin_request request = world_request(1000, 1);

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	request.worker = limiter_worker(5, 9);
	cr_assert_eq(world_ask(&world, &request, &waits), ORIGIN_WAIT);
	world.dead_worker = request.worker;
	world_sweep(&world);
	cr_assert_eq(world_look(&world).waiting, 0);
	cr_assert_eq(world_look(&world).in_flight, LIMITER_LIMIT);
}

Test(origin_death, a_permit_past_its_time_is_freed_and_its_answer_lost)
{
	struct world world;
	struct origin_ticket ticket;

	world_start(&world);
	cr_assert_eq(world_acquire(&world, ALICE, PARTITION, &ticket),
	    ORIGIN_GRANTED);
	world.now.ms = ticket.deadline_ms;
	world_sweep(&world);
	cr_assert_eq(world_release(&world, ALICE, &ticket, BREAKER_FAILURE),
	    LEASE_LOST);
	cr_assert_eq(world_look(&world).failures, 0);
	world_expect_idle(&world);
}

/* A child that gets the signal under the lock, just after it granted. */
static pid_t
start_under_the_lock(struct world *world, const struct origin_ticket *held,
    int signal)
{
	struct origin_ticket ticket;
	pid_t pid = fork();

	cr_assert_neq(pid, -1);
	if (pid == 0) {
		(void)world_acquire(world, ALICE - 1, 77, &ticket);
		world->signal_when_told = signal;
		(void)world_release(world, FIRST_OWNER, held,
		    BREAKER_SUCCESS);
		_exit(0);
	}
	return pid;
}

Test(origin_death, after_a_death_under_the_lock_everything_is_made_anew)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits, ticket;
	int status;
	pid_t pid;

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	cr_assert_eq(world_acquire(&world, 1000, 1, &waits), ORIGIN_WAIT);
	pid = start_under_the_lock(&world, &held[0], SIGKILL);
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	world.dead_below = ALICE;
	/* As if it had been in the middle of a count. */
	world.origin.limiter.state->in_flight += 9;
	cr_assert_eq(world_acquire(&world, 1001, 2, &ticket), ORIGIN_WAIT);
	cr_assert(world.events & ORIGIN_REBUILT);
	cr_assert_eq(world.told, UINT64_MAX, "the dead one told nobody");
	cr_assert_eq(origin_verify(&world.origin, world.now), 0);
	cr_assert_eq(world_look(&world).in_flight, LIMITER_LIMIT);
	cr_assert_eq(world_look(&world).waiting, 1,
	    "the dead one's place is free");
	cr_assert_eq(world_collect(&world, 1000, &waits), ORIGIN_GRANTED);
	cr_assert_eq(world_look(&world).rebuilt, 1);
	/* Told once. */
	world.events = 0;
	world_sweep(&world);
	cr_assert_eq(world.events, ORIGIN_NO_EVENT);
}

Test(origin_death, behind_a_stopped_holder_it_is_locked_and_changes_nothing)
{
	struct world world;
	struct origin_ticket held[LIMITER_LIMIT], waits, ticket;
	struct origin_view view;
	uint32_t place;
	bool upload;
	int status;
	pid_t pid;

	world_start(&world);
	world_fill(&world, held, LIMITER_LIMIT);
	cr_assert_eq(world_acquire(&world, 1000, 1, &waits), ORIGIN_WAIT);
	pid = start_under_the_lock(&world, &held[0], SIGSTOP);
	cr_assert(wait_until_stopped(pid, DEADLINE_MS));
	cr_assert_eq(world_acquire(&world, 1001, 2, &ticket),
	    ORIGIN_LOCKED);
	cr_assert_eq(world_collect(&world, 1000, &waits), ORIGIN_LOCKED);
	cr_assert_eq(origin_next_granted(&world.origin, 1, world.now,
	    &place, &upload), BUSY);
	cr_assert_eq(world_release(&world, FIRST_OWNER + 1, &held[1],
	    BREAKER_SUCCESS), BUSY);
	cr_assert_not(origin_cancel(&world.origin, &held[1],
	    FIRST_OWNER + 1, 0, world.now));
	cr_assert_neq(held[1].permit, 0);
	cr_assert_eq(origin_look(&world.origin, world.now, &view), BUSY);
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert(wait_until_exit(pid, DEADLINE_MS, &status));
	cr_assert_eq(world_collect(&world, 1000, &waits), ORIGIN_GRANTED);
	cr_assert_eq(world_release(&world, FIRST_OWNER + 1, &held[1],
	    BREAKER_SUCCESS), OK);
}
