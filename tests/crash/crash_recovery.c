/* SPDX-License-Identifier: ISC */

/*
 * Deaths inside the repair of a death, and deaths of two workers at once:
 * in two shards, or one of them with the pool's free list in its hands.
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
#define PARENT_OPERATIONS	200u

/* Runs a worker alone to its death at a point.  False: it did not die. */
static bool
die_at(struct world *world, uint32_t number, const char *point)
{
	struct plan plan = { .point = point, .arrival = 1 };
	pid_t worker;
	int status;

	atomic_store(&world->shared->stop_workers, 0);
	worker = world_spawn(world, number, &plan, VICTIM_OPERATIONS);
	if (!wait_until_exit(worker, WORLD_DEADLINE_MS, &status) ||
	    !WIFSIGNALED(status)) {
		world_fail(world->shared, "worker %u did not die at %s",
		    number, point);
		return false;
	}
	world_bury(world, number);
	return world_reader_goes_on(world);
}

/* The one shard whose recovery died, by its try counter. */
static uint32_t
half_repaired_shard(const struct world *world)
{
	for (uint32_t s = 0; s < world->pool.g.shard_count; s++) {
		if (world->pool.shards_private[s].recovering != 0) {
			return s;
		}
	}
	return WORLD_NO_SHARD;
}

/*
 * A death, a death in its repair, then somebody who repairs again: the shard
 * is emptied, and nothing else.
 */
static void
check_death_in_recovery(struct plain_test *test, const char *point)
{
	struct world world;
	char name[80];
	bool good;

	(void)snprintf(name, sizeof(name), "kill_in_recovery_at_%s", point);
	if (!plain_wants(test, name)) {
		return;
	}
	good = world_open(&world, world_profile("roomy"), test->seed) &&
	    die_at(&world, WORLD_VICTIM, "link_after") &&
	    die_at(&world, WORLD_SIBLING, point);
	world.emptied_shard = half_repaired_shard(&world);
	if (good && world.emptied_shard == WORLD_NO_SHARD) {
		world_fail(world.shared, "no recovery was under way");
	}
	good = good && world_check(&world);
	if (good && world_stat(&world, STAT_recovery_shard_emptied) != 1) {
		world_fail(world.shared, "%llu shards were emptied",
		    (unsigned long long)world_stat(&world,
		    STAT_recovery_shard_emptied));
	}
	if (good) {
		/* A shard that was emptied serves like any other. */
		world.emptied_shard = WORLD_NO_SHARD;
		world_work(&world, WORLD_PARENT, PARENT_OPERATIONS);
		good = world_check(&world);
	}
	(void)plain_check(test, name, good && *world_error(&world) == '\0',
	    "%s", world_error(&world));
	world_close(&world);
}

/* The emptying dies as well, twice, then it is done. */
static void
check_death_in_emptying(struct plain_test *test)
{
	static const char name[] = "kill_in_the_emptying_of_a_shard";
	struct world world;
	bool good;

	if (!plain_wants(test, name)) {
		return;
	}
	good = world_open(&world, world_profile("roomy"), test->seed) &&
	    die_at(&world, WORLD_VICTIM, "append_linked") &&
	    die_at(&world, WORLD_SIBLING, "recovery_index_done") &&
	    die_at(&world, WORLD_VICTIM, "extent_odd") &&
	    die_at(&world, WORLD_SIBLING, "recovery_listed") &&
	    die_at(&world, WORLD_VICTIM, "recovery_done");
	world.emptied_shard = half_repaired_shard(&world);
	good = good && world_check(&world);
	world.emptied_shard = WORLD_NO_SHARD;
	if (good) {
		world_work(&world, WORLD_PARENT, PARENT_OPERATIONS);
		good = world_check(&world);
	}
	(void)plain_check(test, name, good && *world_error(&world) == '\0',
	    "%s", world_error(&world));
	world_close(&world);
}

/* A recovery from one death is no reason to distrust the next. */
static void
check_deaths_in_turn(struct plain_test *test)
{
	static const char name[] = "deaths_in_turn_empty_no_shard";
	uint64_t deaths = plain_amount(test, 5, 50);
	struct world world;
	bool good;

	if (!plain_wants(test, name)) {
		return;
	}
	good = world_open(&world, world_profile("roomy"), test->seed);
	for (uint64_t i = 0; good && i < deaths; i++) {
		good = die_at(&world, (uint32_t)(i % 2), i % 3 == 0 ?
		    "append_committed" : "link_counted");
	}
	good = good && world_check(&world);
	if (good && world_stat(&world, STAT_recovery_shard_emptied) != 0) {
		world_fail(world.shared, "a shard was emptied");
	}
	if (good && world_stat(&world, STAT_recoveries) < deaths) {
		world_fail(world.shared, "%llu recoveries from %llu deaths",
		    (unsigned long long)world_stat(&world, STAT_recoveries),
		    (unsigned long long)deaths);
	}
	(void)plain_check(test, name, good && *world_error(&world) == '\0',
	    "%s", world_error(&world));
	world_close(&world);
}

/* Two workers die at once, each at its own point. */
static bool
die_together(struct world *world, const char *first, const char *second,
    struct prng *prng)
{
	const char *points[2] = { first, second };
	unsigned dead = 0;
	pid_t worker[2];
	int status;

	atomic_store(&world->shared->stop_workers, 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct plan plan = { points[i], 1 + prng_below(prng, 3),
		    false };

		worker[i] = world_spawn(world, i, &plan, VICTIM_OPERATIONS);
	}
	for (uint32_t i = 0; i < 2; i++) {
		if (!wait_until_exit(worker[i], WORLD_DEADLINE_MS, &status)) {
			world_fail(world->shared, "worker %u hangs", i);
		}
		dead += WIFSIGNALED(status);
		world_bury(world, i);
	}
	if (dead == 0) {
		world_fail(world->shared, "nobody died at %s or %s", first,
		    second);
	}
	return world_reader_goes_on(world) && world_check(world);
}

static void
check_two_deaths(struct plain_test *test)
{
	static const char *const pairs[][2] = {
		{ "append_committed", "extent_taken" },
		{ "extent_popped", "extent_freed" },
		{ "move_linked", "extent_freed" },
		{ "reclaim_unlinked", "link_after" },
		{ "extent_odd", "extent_popped" },
		{ "epoch_row_written", "extent_taken" },
	};
	static const char name[] = "two_workers_die_at_once";
	uint64_t rounds = plain_amount(test, 1, 20);
	struct world world;
	struct prng prng;
	bool good;

	if (!plain_wants(test, name)) {
		return;
	}
	prng_init(&prng, test->seed);
	good = world_open(&world, world_profile("tight"), test->seed);
	for (uint64_t i = 0; good && i < rounds; i++) {
		for (size_t p = 0; good && p < sizeof(pairs) /
		    sizeof(pairs[0]); p++) {
			good = die_together(&world, pairs[p][0],
			    pairs[p][1], &prng);
		}
	}
	(void)plain_check(test, name, good && *world_error(&world) == '\0',
	    "%s", world_error(&world));
	world_close(&world);
}

int
main(int argc, char **argv)
{
	struct plain_test test;

	plain_start(&test, argc, argv);
	if (world_cannot_be(&test, "crash_recovery")) {
		return plain_end(&test);
	}
#define CRASH_POINT(name, profile)
#define RECOVERY_POINT(name)	check_death_in_recovery(&test, #name);
#define OTHER_POINT(name, why)
#include "points.def"
#undef CRASH_POINT
#undef RECOVERY_POINT
#undef OTHER_POINT
	check_death_in_emptying(&test);
	check_deaths_in_turn(&test);
	check_two_deaths(&test);
	return plain_end(&test);
}
