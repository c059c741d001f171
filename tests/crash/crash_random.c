/* SPDX-License-Identifier: ISC */

/*
 * Workers are killed at no point in particular: one of two or both at once,
 * again and again in the same pool.
 *
 * tests/run: timeout_s 120
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "plain_test.h"
#include "wait_until.h"
#include "world.h"

#define OPERATIONS_MOST	1500u
#define PARENT_OPERATIONS 50u

struct operations_wait {
	struct world	*world;
	uint64_t	wanted;
};

static bool
operations_reached(void *argument)
{
	const struct operations_wait *wait = argument;

	return atomic_load(&wait->world->shared->operations) >=
	    wait->wanted || *world_error(wait->world) != '\0';
}

/* Kill it or let it end.  False: it ended in a way of its own. */
static bool
end_worker(struct world *world, pid_t worker, uint32_t number, bool killed)
{
	int status;

	if (!wait_until_exit(worker, WORLD_DEADLINE_MS, &status) ||
	    (killed ? !WIFSIGNALED(status) : status != 0)) {
		world_fail(world->shared, "worker %u ended with %x", number,
		    status);
		return false;
	}
	if (killed) {
		world_bury(world, number);
	}
	return true;
}

static bool
kill_some(struct world *world, struct prng *prng)
{
	static const struct plan no_plan;
	struct operations_wait wait = { world, 0 };
	bool kills[2] = { true, true };
	pid_t worker[2];

	if (!prng_one_in(prng, 3)) {
		kills[prng_below(prng, 2)] = false;
	}
	atomic_store(&world->shared->stop_workers, 0);
	for (uint32_t i = 0; i < 2; i++) {
		worker[i] = world_spawn(world, i, &no_plan, UINT32_MAX);
	}
	wait.wanted = atomic_load(&world->shared->operations) + 1 +
	    prng_below(prng, OPERATIONS_MOST);
	if (!wait_until(operations_reached, &wait, WORLD_DEADLINE_MS)) {
		world_fail(world->shared, "the workers stand still");
	}
	for (uint32_t i = 0; i < 2; i++) {
		if (kills[i]) {
			(void)kill(worker[i], SIGKILL);
		}
	}
	(void)world_reader_goes_on(world);
	world_stop_workers(world);
	for (uint32_t i = 0; i < 2; i++) {
		(void)end_worker(world, worker[i], i, kills[i]);
	}
	if (!world_check(world)) {
		return false;
	}
	world_work(world, WORLD_PARENT, PARENT_OPERATIONS);
	return *world_error(world) == '\0';
}

static void
run_profile(struct plain_test *test, const char *profile)
{
	/* With room a pool takes so many rounds before it is full. */
	uint64_t pools = plain_amount(test, 1, 40), rounds = 6;
	uint64_t recoveries = 0, forgotten = 0, looked_at = 0, done = 0;
	struct prng prng;
	struct world world;
	char name[80];
	bool good = true;

	(void)snprintf(name, sizeof(name), "kill_at_random_%s", profile);
	if (!plain_wants(test, name)) {
		return;
	}
	prng_init(&prng, test->seed);
	for (uint64_t p = 0; good && p < pools; p++) {
		good = world_open(&world, world_profile(profile),
		    test->seed + p);
		if (good) {
			atomic_store(&world.shared->all_hold_back, 1);
		}
		for (uint64_t i = 0; good && i < rounds; i++) {
			good = kill_some(&world, &prng);
			done++;
		}
		recoveries += world_stat(&world, STAT_recoveries);
		forgotten += world.forgotten;
		looked_at += world.looked_at;
		if (!good) {
			plain_fail(test, name, "%s (seed %llu, pool %llu)",
			    world_error(&world),
			    (unsigned long long)test->seed,
			    (unsigned long long)p);
		}
		world_close(&world);
	}
	if (good) {
		plain_pass(test, name);
	}
	printf("# %s: %llu rounds, %llu recoveries, %llu of %llu acked keys "
	    "forgotten\n", name, (unsigned long long)done,
	    (unsigned long long)recoveries, (unsigned long long)forgotten,
	    (unsigned long long)looked_at);
}

int
main(int argc, char **argv)
{
	static const char *const profiles[] = {
		"roomy", "growing", "tight", "compact", "dying", "pinned",
		"large", "chains",
	};
	struct plain_test test;

	plain_start(&test, argc, argv);
	if (world_cannot_be(&test, "crash_random")) {
		return plain_end(&test);
	}
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		run_profile(&test, profiles[i]);
	}
	return plain_end(&test);
}
