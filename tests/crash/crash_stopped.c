/* SPDX-License-Identifier: ISC */

/*
 * A worker that is stopped inside a lock is not dead: nobody may repair
 * behind its back.  Others get BUSY in bounded time, readers read on; when
 * it is woken it goes on, when it is killed its shard is repaired.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "epoch.h"
#include "lock.h"
#include "plain_test.h"
#include "sweep.h"
#include "wait_until.h"
#include "worker.h"
#include "write.h"

/* How long a caller may be held up: some locks one after the other. */
#define HELD_UP_MS_MOST		(20ull * LOCK_TIMEOUT_MS)

/* So often is asked until somebody says BUSY, and then no more. */
#define CALLS_MOST		64u
#define BUSY_ENOUGH		3u

#define VICTIM_OPERATIONS	30000u
#define PARENT_OPERATIONS	500u
#define NS_PER_MS		1000000ull
#define MS_PER_S		1000ull

static uint64_t
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail */
	return (uint64_t)ts.tv_sec * MS_PER_S +
	    (uint64_t)ts.tv_nsec / NS_PER_MS;
}

struct tally {
	uint64_t	ok;
	uint64_t	busy;
	uint64_t	full;
	uint64_t	longest_ms;
};

/* One call of the parent, timed. */
static void
count(struct world *world, struct tally *tally, enum result result,
    uint64_t start_ms, const char *what)
{
	uint64_t spent_ms = now_ms() - start_ms;

	tally->ok += result == OK || result == MISS;
	tally->busy += result == BUSY;
	tally->full += result == FULL;
	if (spent_ms > tally->longest_ms) {
		tally->longest_ms = spent_ms;
	}
	if (result != OK && result != MISS && result != BUSY &&
	    result != FULL) {
		world_fail(world->shared, "%s: %s", what,
		    result_name(result));
	}
	if (spent_ms > HELD_UP_MS_MOST) {
		world_fail(world->shared, "%s took %llu ms", what,
		    (unsigned long long)spent_ms);
	}
}

/* The next key after *number that lies in that shard. */
static struct key
key_of_shard(const struct world *world, uint32_t shard, uint32_t *number,
    char *name)
{
	struct key key;

	do {
		key = worker_key(&world->pool, ++*number, name);
	} while (pool_shard_of(&world->pool, key.hash) != shard);
	return key;
}

/*
 * Keys that the ledger does not hold, in one shard after the other: what is
 * asked of them is whether the calls end.
 */
static void
call_all_shards(struct world *world, uint32_t calls, size_t bytes,
    struct tally *tally)
{
	struct boot_ms now = { atomic_load(&world->shared->now_ms) };
	uint8_t *value = calloc(1, bytes);
	uint32_t number = LEDGER_KEYS_MAX;

	for (uint32_t i = 0; value != NULL && i < calls &&
	    tally->busy < BUSY_ENOUGH; i++) {
		uint64_t start_ms = now_ms(), version;
		char name[16];
		struct key key = key_of_shard(world,
		    i % world->pool.g.shard_count, &number, name);
		struct entry_spec spec = {
			.key = &key, .value = value, .value_bytes = bytes,
			.soft_ms = UINT64_MAX, .hard_ms = UINT64_MAX,
			.epoch = epoch_now(&world->pool),
		};

		count(world, tally, write_set(&world->pool, &spec, now,
		    &version), start_ms, "set");
		if (*world_error(world) != '\0') {
			break;
		}
		start_ms = now_ms();
		count(world, tally, write_delete(&world->pool, &key, 0, now),
		    start_ms, "delete");
		start_ms = now_ms();
		(void)sweep_shard(&world->pool, i %
		    world->pool.g.shard_count, 100, now);
		count(world, tally, OK, start_ms, "sweep");
	}
	free(value);
}

struct stop_case {
	const char	*name;
	const char	*point;
	const char	*profile;
	size_t		bytes;
	bool		purge;
};

/* The stopped worker is there; what others see. */
static void
look_at_others(struct world *world, const struct stop_case *c)
{
	struct tally tally = { 0, 0, 0, 0 };
	uint64_t recoveries = world_stat(world, STAT_recoveries), number;

	(void)world_reader_goes_on(world);
	if (c->purge) {
		uint64_t start_ms = now_ms();

		count(world, &tally, epoch_purge_tag(&world->pool, 1,
		    EPOCH_KIND_SOFT, &number), start_ms, "purge");
	} else {
		call_all_shards(world, CALLS_MOST, c->bytes, &tally);
	}
	printf("# %s: %llu done, %llu busy, %llu full, longest %llu ms\n",
	    c->name, (unsigned long long)tally.ok,
	    (unsigned long long)tally.busy, (unsigned long long)tally.full,
	    (unsigned long long)tally.longest_ms);
	if (tally.busy == 0) {
		world_fail(world->shared, "nobody was told BUSY");
	}
	if (world_stat(world, STAT_recoveries) != recoveries) {
		world_fail(world->shared,
		    "a stopped worker was taken for dead");
	}
	(void)world_reader_goes_on(world);
}

/* Wake it: it works to its end.  Kill it: it is buried. */
static void
end_stopped(struct world *world, pid_t victim, bool killed)
{
	int status;

	world_stop_workers(world);
	(void)kill(victim, killed ? SIGKILL : SIGCONT);
	if (!wait_until_exit(victim, WORLD_DEADLINE_MS, &status) ||
	    (killed ? !WIFSIGNALED(status) : status != 0)) {
		world_fail(world->shared, "the victim ended with %x", status);
	}
	world_bury(world, WORLD_VICTIM);
}

static void
run_case(struct plain_test *test, const struct stop_case *c, bool killed)
{
	struct plan plan = { .point = c->point, .arrival = 2, .stop = true };
	struct world world;
	char name[80];
	pid_t victim;
	bool good;

	(void)snprintf(name, sizeof(name), "%s_then_%s", c->name,
	    killed ? "killed" : "woken");
	if (!plain_wants(test, name)) {
		return;
	}
	good = world_open(&world, world_profile(c->profile), test->seed);
	victim = world_spawn(&world, WORLD_VICTIM, &plan, VICTIM_OPERATIONS);
	if (!wait_until_word(&world.shared->at_point, 1,
	    WORLD_DEADLINE_MS) ||
	    !wait_until_stopped(victim, WORLD_DEADLINE_MS)) {
		world_fail(world.shared, "no worker stopped at %s",
		    c->point);
	} else {
		look_at_others(&world, c);
	}
	end_stopped(&world, victim, killed);
	good = good && world_check(&world);
	if (good) {
		world_work(&world, WORLD_PARENT, PARENT_OPERATIONS);
		good = world_check(&world);
	}
	(void)plain_check(test, name, good && *world_error(&world) == '\0',
	    "%s", world_error(&world));
	world_close(&world);
}

int
main(int argc, char **argv)
{
	static const struct stop_case cases[] = {
		{ "stopped_in_a_shard", "append_committed", "roomy", 100,
		    false },
		{ "stopped_in_a_reclaim", "move_linked", "tight", 2000,
		    false },
		{ "stopped_with_the_free_list", "extent_popped", "tight",
		    3000, false },
		{ "stopped_in_a_purge", "epoch_row_written", "roomy", 1, true },
	};
	struct plain_test test;

	plain_start(&test, argc, argv);
	if (world_cannot_be(&test, "crash_stopped")) {
		return plain_end(&test);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run_case(&test, &cases[i], false);
		run_case(&test, &cases[i], true);
	}
	return plain_end(&test);
}
