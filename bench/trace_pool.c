/* SPDX-License-Identifier: ISC */

/*
 * The processes and their turns.
 */
#include "trace_pool.h"

#include "access.h"
#include "epoch.h"
#include "pool.h"
#include "read.h"
#include "write.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY_BYTES	24
#define VALUE_BYTES	(TRACE_POOL_OBJECT_BYTES - KEY_BYTES)
#define NOW_MS		1000000
#define MAX_PROCESSES	64

/*
 * Requests to a turn.  It changes nothing in the result, as the order stays
 * that of the trace; turns cost a wake-up each.
 */
#define TURN_REQUESTS	16

/* Shared by the processes, which write it in their turns. */
struct turns {
	_Atomic uint32_t turn;		/* also the futex */
	_Atomic uint32_t failed;	/* a result, negated */
	uint64_t	misses;
};

struct player {
	const struct trace_pool *t;
	struct turns	*turns;
	struct pool	*pool;
};

static void
wait_for_turn(struct turns *turns, uint32_t turn)
{
	uint32_t seen;

	/* Acquire: the misses so far; pairs with pass_turn(). */
	while ((seen = atomic_load_explicit(&turns->turn,
	    memory_order_acquire)) != turn) {
		(void)syscall(SYS_futex, &turns->turn, FUTEX_WAIT, seen, NULL,
		    NULL, 0);
	}
}

static void
pass_turn(struct turns *turns)
{
	(void)atomic_fetch_add_explicit(&turns->turn, 1,
	    memory_order_release);
	/* All wait for different turns; the one it is has to be among them. */
	(void)syscall(SYS_futex, &turns->turn, FUTEX_WAKE, MAX_PROCESSES,
	    NULL, NULL, 0);
}

/* One request: OK a hit, MISS a miss that was stored, else what is wrong. */
static enum result
get_or_set(struct pool *pool, uint64_t id)
{
	char key_bytes[KEY_BYTES + 1];
	uint8_t value[VALUE_BYTES];
	struct key key;
	struct read_hit hit;
	struct boot_ms now = { NOW_MS };
	struct entry_spec spec = {
		.key = &key,
		.value = value,
		.value_bytes = sizeof(value),
		.soft_ms = UINT64_MAX,
		.hard_ms = UINT64_MAX,
	};
	uint64_t version;
	enum result result;

	(void)snprintf(key_bytes, sizeof(key_bytes), "object:%017llx",
	    (unsigned long long)id);
	(void)key_init(&key, pool, key_bytes, KEY_BYTES); /* is in range */
	result = read_copy(pool, &key, now, value, sizeof(value), &hit);
	if (result == OK) {
		access_touch(pool, &hit);
		return memcmp(value, &id, sizeof(id)) == 0 ? OK : CORRUPT;
	}
	if (result != MISS) {
		return result;
	}
	memset(value, 0, sizeof(value));
	memcpy(value, &id, sizeof(id));
	spec.epoch = epoch_now(pool);
	result = write_set(pool, &spec, now, &version);
	return result == OK ? MISS : result;
}

static void
play(const struct player *p, unsigned process)
{
	uint64_t turn = process;

	pool_become_worker(p->pool, process);
	for (; turn * TURN_REQUESTS < p->t->request_count;
	    turn += p->t->process_count) {
		uint64_t first = turn * TURN_REQUESTS;
		uint64_t end = first + TURN_REQUESTS;

		wait_for_turn(p->turns, (uint32_t)turn);
		for (uint64_t i = first; i < end &&
		    i < p->t->request_count; i++) {
			enum result result = get_or_set(p->pool,
			    p->t->ids[i]);

			p->turns->misses += result == MISS;
			if (result != OK && result != MISS) {
				/* Relaxed: read once all have ended. */
				atomic_store_explicit(&p->turns->failed,
				    (uint32_t)-result, memory_order_relaxed);
			}
		}
		pass_turn(p->turns);
	}
}

static enum result
play_all(const struct player *p)
{
	pid_t players[MAX_PROCESSES];
	enum result result = OK;
	int status;

	(void)fflush(NULL);
	for (unsigned i = 0; i < p->t->process_count; i++) {
		players[i] = fork();
		if (players[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			play(p, i);
			_exit(0);
		}
		if (players[i] < 0) {
			result = SYSTEM;
		}
	}
	for (;;) {
		/* The others would wait for ever for a dead one's turn. */
		for (unsigned i = 0; result != OK &&
		    i < p->t->process_count; i++) {
			if (players[i] > 0) {
				(void)kill(players[i], SIGKILL);
			}
		}
		if (wait(&status) < 0) {
			break;	/* all have ended */
		}
		if (status != 0) {
			result = SYSTEM;
		}
	}
	if (result == OK) {
		/* Relaxed: their writer has ended. */
		result = (enum result)-(int)atomic_load_explicit(
		    &p->turns->failed, memory_order_relaxed);
	}
	return result;
}

static uint64_t
count_entries(const struct pool *pool)
{
	uint64_t entries = 0;

	for (uint32_t shard = 0; shard < pool->g.shard_count; shard++) {
		/* Relaxed: nobody writes any more. */
		entries += atomic_load_explicit(
		    &pool->shards[shard].entry_count, memory_order_relaxed);
	}
	return entries;
}

enum result
trace_pool_run(struct trace_pool *t)
{
	struct pool pool;
	struct pool_params params = {
		.name = "trace",
		.pool_bytes = t->pool_bytes,
		.extent_bytes = TRACE_POOL_EXTENT_BYTES,
		.worker_count = t->process_count,
		.hash_key = { .bytes = "one key, one run" },
		.now = { NOW_MS },
	};
	struct player p = { .t = t, .pool = &pool };
	enum result result;

	if (t->process_count < 1 || t->process_count > MAX_PROCESSES) {
		return INVALID;
	}
	p.turns = mmap(NULL, sizeof(*p.turns), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p.turns == MAP_FAILED) {
		return NO_MEMORY;
	}
	result = pool_create(&pool, &params);
	if (result == OK) {
		result = play_all(&p);
		t->misses = p.turns->misses;
		t->entries = count_entries(&pool);
		pool_destroy(&pool);
	}
	(void)munmap(p.turns, sizeof(*p.turns));
	return result;
}
