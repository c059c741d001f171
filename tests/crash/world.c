/* SPDX-License-Identifier: ISC */

/*
 * Making a world, its processes, and burying the dead.
 */
#include "world.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "epoch.h"
#include "pin.h"
#include "point.h"
#include "shm_fence.h"
#include "verify.h"
#include "wait_until.h"
#include "worker.h"

#define NS_PER_S	1000000000ull
#define FIRST_MS	100000u
/* A read has no lock to wait for; this is many time slices. */
#define READ_LONGEST_NS	(5 * NS_PER_S)

static const struct profile profiles[] = {
	{
		/* room for all that is ever appended to it */
		.name = "roomy", .pool_bytes = 32 << 20,
		.extent_bytes = 128 << 10, .keys = 3000,
		.value_most_bytes = 200, .delete_one_in = 5,
		.purge_one_in = 40, .sweep_one_in = 60, .pin_one_in = 50,
		.expiring_one_in = 4, .fill_ops = 3000, .keeps_all = true,
	}, {
		/* few keys that last: nearly every set is an overwrite */
		.name = "lasting", .pool_bytes = 32 << 20,
		.extent_bytes = 128 << 10, .keys = 300,
		.value_most_bytes = 200, .delete_one_in = 40,
		.sweep_one_in = 60, .pin_one_in = 50,
		.fill_ops = 2000, .keeps_all = true,
	}, {
		/* small values and an index that grows */
		.name = "growing", .pool_bytes = 16 << 20,
		.extent_bytes = 64 << 10, .keys = LEDGER_KEYS_MAX,
		.value_most_bytes = 16, .delete_one_in = 12,
		.fill_ops = 1000, .keeps_all = true,
	}, {
		/* small extents, so that the index wants many */
		.name = "pages", .pool_bytes = 4 << 20,
		.extent_bytes = 16 << 10, .keys = LEDGER_KEYS_MAX,
		.value_most_bytes = 16, .delete_one_in = 50,
	}, {
		/* more than fits: evicts all the time */
		.name = "tight", .pool_bytes = 4 << 20,
		.extent_bytes = 16 << 10, .keys = 3000,
		.value_most_bytes = 3500, .large_one_in = 200,
		.delete_one_in = 40, .purge_one_in = 2000,
		.sweep_one_in = 50, .pin_one_in = 100,
		.fill_ops = 6000,
	}, {
		/* extents that die and are compacted, with room */
		.name = "compact", .pool_bytes = 32 << 20,
		.extent_bytes = 64 << 10, .keys = 3000,
		.value_most_bytes = 40, .delete_one_in = 20,
		.purge_one_in = 3000, .sweep_one_in = 12,
		.expiring_one_in = 2, .fill_ops = 3000, .keeps_all = true,
	}, {
		/* purges that leave whole extents dead, with room */
		.name = "dying", .pool_bytes = 32 << 20,
		.extent_bytes = 16 << 10, .keys = 1500,
		.value_most_bytes = 1500, .delete_one_in = 20,
		.purge_one_in = 30, .sweep_one_in = 8,
		.expiring_one_in = 2, .fill_ops = 3000, .keeps_all = true,
	}, {
		/* pins everywhere, so that extents wait in limbo */
		.name = "pinned", .pool_bytes = 4 << 20,
		.extent_bytes = 16 << 10, .keys = 2000,
		.value_most_bytes = 3500, .delete_one_in = 40,
		.sweep_one_in = 50, .pin_one_in = 3,
		.fill_ops = 6000,
	}, {
		/* large values, with room */
		.name = "large", .pool_bytes = 32 << 20,
		.extent_bytes = 16 << 10, .keys = 200,
		.value_most_bytes = 1000, .large_one_in = 3,
		.delete_one_in = 10, .purge_one_in = 300,
		.sweep_one_in = 50, .pin_one_in = 20,
		.expiring_one_in = 8, .fill_ops = 500, .keeps_all = true,
	}, {
		/* large values, more of them than fit */
		.name = "chains", .pool_bytes = 4 << 20,
		.extent_bytes = 16 << 10, .keys = 600,
		.value_most_bytes = 1000, .large_one_in = 2,
		.delete_one_in = 20, .purge_one_in = 1000,
		.sweep_one_in = 50, .pin_one_in = 50,
		.expiring_one_in = 8, .fill_ops = 2000,
	},
};

bool
world_cannot_be(struct plain_test *test, const char *name)
{
	if (SHM_TSAN) {
		plain_skip(test, name, "%s",
		    "ThreadSanitizer sees nothing between processes");
	}
	return SHM_TSAN;
}

const struct profile *
world_profile(const char *name)
{
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		if (strcmp(profiles[i].name, name) == 0) {
			return &profiles[i];
		}
	}
	return NULL;
}

void
world_fail(struct world_shared *shared, const char *format, ...)
{
	va_list args;

	if (atomic_exchange(&shared->error_claimed, 1) != 0) {
		return;
	}
	va_start(args, format);
	(void)vsnprintf(shared->error, sizeof(shared->error), format, args);
	va_end(args);
	atomic_store(&shared->error_set, 1);
}

const char *
world_error(const struct world *world)
{
	return atomic_load(&world->shared->error_set) != 0 ?
	    world->shared->error : "";
}

uint64_t
world_stat(const struct world *world, enum stat_id stat)
{
	return stats_sum(world->pool.all_stats, world->pool.g.stats_blocks,
	    stat);
}

static uint64_t
now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail */
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* One pass over all keys.  False: a wrong value, or a stop. */
static bool
read_all(struct world_shared *shared, const struct pool *pool, uint32_t keys,
    uint8_t *buffer)
{
	for (uint32_t key = 0; key < keys; key++) {
		uint64_t start = now_ns(), spent;
		struct read_hit hit;
		bool found;

		if (atomic_load(&shared->stop_reader) != 0 ||
		    !worker_look(shared, pool, key, buffer, &hit, &found)) {
			return false;
		}
		spent = now_ns() - start;
		if (spent > atomic_load(&shared->reader_longest_ns)) {
			atomic_store(&shared->reader_longest_ns, spent);
		}
		if (spent > READ_LONGEST_NS) {
			world_fail(shared, "a read took %llu ns",
			    (unsigned long long)spent);
			return false;
		}
		atomic_fetch_add(&shared->reader_hits, found);
	}
	atomic_fetch_add(&shared->reader_passes, 1);
	return true;
}

static pid_t
spawn_reader(struct world *world)
{
	int fd = dup(world->pool.segment.fd);
	pid_t parent = getpid();
	pid_t child = fork();
	static struct stats_block stats;
	struct pool pool;
	uint8_t *buffer;

	if (child != 0) {
		(void)close(fd);
		return child;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	buffer = malloc(WORKER_VALUE_MAX);
	if (getppid() != parent || buffer == NULL ||
	    pool_attach(&pool, fd, &stats) != OK) {
		_exit(2);
	}
	while (read_all(world->shared, &pool, world->profile->keys, buffer)) {
		continue;
	}
	_exit(atomic_load(&world->shared->stop_reader) != 0 ? 0 : 1);
}

bool
world_open(struct world *world, const struct profile *profile, uint64_t seed)
{
	struct pool_params params = {
		.name = "crash",
		.pool_bytes = profile->pool_bytes,
		.extent_bytes = profile->extent_bytes,
		.worker_count = WORLD_WORKERS,
		.now = { FIRST_MS },
	};

	memset(world, 0, sizeof(*world));
	world->profile = profile;
	world->seed = seed;
	world->emptied_shard = WORLD_NO_SHARD;
	world->shared = mmap(NULL, sizeof(*world->shared),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (world->shared == MAP_FAILED ||
	    pool_create(&world->pool, &params) != OK) {
		abort();	/* no memory for a test */
	}
	pool_become_worker(&world->pool, WORLD_PARENT);
	world->scratch = malloc(verify_scratch_bytes(&world->pool));
	atomic_store(&world->shared->now_ms, FIRST_MS);
	for (uint32_t number = 0; number < WORLD_WORKERS; number++) {
		world_work(world, number, profile->fill_ops / WORLD_WORKERS);
	}
	world->reader = spawn_reader(world);
	return world->scratch != NULL && world->reader > 0 &&
	    *world_error(world) == '\0';
}

void
world_close(struct world *world)
{
	int status;

	atomic_store(&world->shared->stop_reader, 1);
	if (world->reader > 0) {
		(void)wait_until_exit(world->reader, WORLD_DEADLINE_MS,
		    &status);
	}
	free(world->scratch);
	pool_destroy(&world->pool);
	(void)munmap(world->shared, sizeof(*world->shared));
}

/* Set in a child before it works; the hook has no argument of its own. */
static struct {
	struct plan	plan;
	struct world_shared *shared;
} own;

static void
meet_point(const char *name)
{
	if (strcmp(name, own.plan.point) != 0 || own.plan.arrival == 0 ||
	    --own.plan.arrival != 0) {
		return;
	}
	atomic_fetch_add(&own.shared->at_point, 1);
	(void)kill(getpid(), own.plan.stop ? SIGSTOP : SIGKILL);
}

pid_t
world_spawn(struct world *world, uint32_t number, const struct plan *plan,
    uint32_t operations)
{
	pid_t parent = getpid();
	pid_t child = fork();
	struct worker worker;
	uint8_t *buffer;
	bool good = true;

	world->rounds++;
	if (child != 0) {
		return child;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	buffer = malloc(WORKER_VALUE_MAX);
	if (getppid() != parent || buffer == NULL) {
		_exit(2);
	}
	own.plan = *plan;
	own.shared = world->shared;
	shm_point_hook = plan->point != NULL ? meet_point : NULL;
	worker_init(&worker, world, number, world->seed * 1000003 +
	    world->rounds * 16 + number, buffer);
	for (uint32_t i = 0; good && i < operations &&
	    atomic_load(&world->shared->stop_workers) == 0; i++) {
		good = worker_step(&worker);
	}
	shm_point_hook = NULL;
	worker_end(&worker);
	_exit(good ? 0 : 1);
}

void
world_stop_workers(struct world *world)
{
	atomic_store(&world->shared->stop_workers, 1);
}

struct passes_wait {
	const struct world *world;
	uint64_t	wanted;
};

static bool
passes_reached(void *argument)
{
	const struct passes_wait *wait = argument;

	return atomic_load(&wait->world->shared->reader_passes) >=
	    wait->wanted || *world_error(wait->world) != '\0';
}

bool
world_reader_goes_on(struct world *world)
{
	struct passes_wait wait = {
		world, atomic_load(&world->shared->reader_passes) + 2,
	};

	if (!wait_until(passes_reached, &wait, WORLD_DEADLINE_MS)) {
		world_fail(world->shared, "the reader stands still");
	}
	return *world_error(world) == '\0';
}

void
world_bury(struct world *world, uint32_t number)
{
	pin_clear_worker(&world->pool, number);
	if (number == WORLD_VICTIM) {
		ledger_purge_settle(&world->shared->ledger,
		    epoch_now(&world->pool));
	}
}

void
world_work(struct world *world, uint32_t number, uint32_t operations)
{
	uint8_t *buffer = malloc(WORKER_VALUE_MAX);
	struct worker worker;

	if (buffer == NULL) {
		abort();	/* no memory for a test */
	}
	worker_init(&worker, world, number, world->seed * 7919 +
	    ++world->rounds, buffer);
	for (uint32_t i = 0; i < operations && worker_step(&worker); i++) {
		continue;
	}
	worker_end(&worker);
	free(buffer);
}
