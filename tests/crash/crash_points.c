/* SPDX-License-Identifier: ISC */

/*
 * A worker is killed at each named point, at its first and at later
 * arrivals, while another works on and a client reads.  Then recovery must
 * have run, verify find nothing, and every key read as the ledger says.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "plain_test.h"
#include "wait_until.h"
#include "world.h"

/* More than any profile needs to come to a point of it. */
#define VICTIM_OPERATIONS	30000u
#define SIBLING_OPERATIONS	UINT32_MAX
/* With room a pool takes so many rounds before it is full. */
#define POOL_KILLS		4u
#define LATER_ARRIVALS		12u
#define PARENT_OPERATIONS	100u

struct target {
	const char	*point;
	const char	*profile;
};

static const struct target targets[] = {
#define CRASH_POINT(name, profile)	{ #name, #profile },
#define RECOVERY_POINT(name)
#define OTHER_POINT(name, why)
#include "points.def"
#undef CRASH_POINT
#undef RECOVERY_POINT
#undef OTHER_POINT
};

static void
end_sibling(struct world *world, pid_t sibling)
{
	int status;

	world_stop_workers(world);
	if (!wait_until_exit(sibling, WORLD_DEADLINE_MS, &status) ||
	    status != 0) {
		world_fail(world->shared, "the sibling ended with %x",
		    status);
	}
}

/*
 * One death.  together: the sibling works from the start; else it comes when
 * the victim is dead, so that the run is the same each time.  False:
 * something is wrong.  *met: the point was come to.
 */
static bool
kill_once(struct world *world, const struct plan *plan, bool together,
    bool *met)
{
	static const struct plan no_plan;
	pid_t victim, sibling = 0;
	int status;

	atomic_store(&world->shared->stop_workers, 0);
	atomic_store(&world->shared->at_point, 0);
	victim = world_spawn(world, WORLD_VICTIM, plan, VICTIM_OPERATIONS);
	if (together) {
		sibling = world_spawn(world, WORLD_SIBLING, &no_plan,
		    SIBLING_OPERATIONS);
	}
	if (!wait_until_exit(victim, WORLD_DEADLINE_MS, &status)) {
		world_fail(world->shared, "the victim hangs");
	}
	*met = atomic_load(&world->shared->at_point) != 0;
	if (*met != (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
		world_fail(world->shared, "the victim ended with %x", status);
	}
	world_bury(world, WORLD_VICTIM);
	/* Nobody has repaired anything yet, unless they work together. */
	(void)world_reader_goes_on(world);
	if (!together) {
		sibling = world_spawn(world, WORLD_SIBLING, &no_plan,
		    SIBLING_OPERATIONS);
		(void)world_reader_goes_on(world);
	}
	end_sibling(world, sibling);
	if (!world_check(world)) {
		return false;
	}
	world_work(world, WORLD_PARENT, PARENT_OPERATIONS);
	return *world_error(world) == '\0';
}

struct figures {
	uint64_t	deaths;
	uint64_t	recoveries;
	uint64_t	forgotten;
	uint64_t	looked_at;
};

/* Some deaths in one pool.  False: why has the reason. */
static bool
run_pool(const struct target *target, uint64_t seed, struct prng *prng,
    struct figures *figures, char why[WORLD_ERROR_BYTES])
{
	struct world world;
	bool good = world_open(&world, world_profile(target->profile), seed);

	for (unsigned i = 0; good && i < POOL_KILLS; i++) {
		struct plan plan = { .point = target->point, .arrival = i == 0 ?
		    1 : 1 + prng_below(prng, LATER_ARRIVALS) };
		bool met;

		good = kill_once(&world, &plan, i % 2 == 1, &met);
		figures->deaths += met;
	}
	good = good && world_check(&world);
	figures->recoveries += world_stat(&world, STAT_recoveries);
	figures->forgotten += world.forgotten;
	figures->looked_at += world.looked_at;
	(void)snprintf(why, WORLD_ERROR_BYTES, "%s", world_error(&world));
	world_close(&world);
	return good;
}

static void
run_target(struct plain_test *test, const struct target *target)
{
	uint64_t pools = plain_amount(test, 1, 5), p = 0;
	struct figures figures = { 0 };
	char name[80], why[WORLD_ERROR_BYTES] = "";
	struct prng prng;
	bool good = true;

	(void)snprintf(name, sizeof(name), "kill_at_%s", target->point);
	if (!plain_wants(test, name)) {
		return;
	}
	prng_init(&prng, test->seed);
	for (; good && p < pools; p++) {
		good = run_pool(target, test->seed + p, &prng, &figures, why);
	}
	if (good && figures.deaths == 0) {
		plain_fail(test, name, "no worker came to the point");
	} else if (plain_check(test, name, good, "%s (seed %llu, pool %llu)",
	    why, (unsigned long long)test->seed, (unsigned long long)p)) {
		printf("# %s: %llu deaths, %llu recoveries, %llu of %llu "
		    "acked keys forgotten\n", name,
		    (unsigned long long)figures.deaths,
		    (unsigned long long)figures.recoveries,
		    (unsigned long long)figures.forgotten,
		    (unsigned long long)figures.looked_at);
	}
}

int
main(int argc, char **argv)
{
	struct plain_test test;

	plain_start(&test, argc, argv);
	if (world_cannot_be(&test, "crash_points")) {
		return plain_end(&test);
	}
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		run_target(&test, &targets[i]);
	}
	return plain_end(&test);
}
