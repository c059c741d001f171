/* SPDX-License-Identifier: ISC */

/*
 * Pools for tests; any test process may call.
 */
#include "test_pool.h"

#include "epoch.h"
#include "extent.h"
#include "index.h"
#include "prng.h"
#include "reclaim.h"
#include "shard.h"
#include "verify.h"
#include "wait_until.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_BYTES	4096
#define CREATED_MS	1000
#define CHILD_DEADLINE_MS	20000

static void
need(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "test_pool: %s\n", what);
		abort();
	}
}

struct pool
test_pool_make(uint64_t pool_bytes, uint64_t extent_bytes,
    uint32_t worker_count)
{
	struct pool pool;
	struct pool_params params = {
		.name = "test",
		.pool_bytes = pool_bytes,
		.extent_bytes = extent_bytes,
		.worker_count = worker_count,
		.hash_key = { .bytes = "a fixed hash key" },
		.boot_id = { 1, 2, 3 },
		.now = { CREATED_MS },
	};

	need(pool_create(&pool, &params) == OK, "pool_create");
	pool_become_worker(&pool, 0);
	return pool;
}

struct pool
test_pool_one_shard(void)
{
	return test_pool_make(4u << 20, 64u << 10, 2);
}

struct pool
test_pool_four_shards(void)
{
	return test_pool_make(4u << 20, 16u << 10, 2);
}

struct pool
test_pool_attach(const struct pool *pool, struct stats_block *stats)
{
	struct pool view;
	int fd = dup(pool->segment.fd);

	need(fd >= 0, "dup");
	need(pool_attach(&view, fd, stats) == OK, "pool_attach");
	return view;
}

struct key
test_pool_key(const struct pool *pool, const char *text)
{
	struct key key;

	need(key_init(&key, pool, text, strlen(text)) == OK, "key_init");
	return key;
}

struct key
test_pool_key_of_hash(const char *text, uint64_t hash)
{
	return (struct key){
		.bytes = text,
		.length = (uint32_t)strlen(text),
		.hash = hash,
	};
}

struct key
test_pool_number_key(const struct pool *pool, char text[TEST_KEY_BYTES],
    uint64_t number)
{
	(void)snprintf(text, TEST_KEY_BYTES, "key-%llu",
	    (unsigned long long)number);
	return test_pool_key(pool, text);
}

struct entry_spec
test_pool_spec(const struct pool *pool, const struct key *key,
    const void *value, uint64_t value_bytes)
{
	return (struct entry_spec){
		.key = key,
		.value = value,
		.value_bytes = value_bytes,
		.soft_ms = UINT64_MAX,
		.hard_ms = UINT64_MAX,
		.epoch = epoch_now(pool),
		.when = SET_ALWAYS,
	};
}

enum result
test_pool_set(const struct pool *pool, const struct key *key,
    const char *text, struct boot_ms now)
{
	struct entry_spec spec = test_pool_spec(pool, key, text,
	    strlen(text));
	uint64_t version;

	return write_set(pool, &spec, now, &version);
}

const char *
test_pool_get(const struct pool *pool, const struct key *key,
    struct boot_ms now)
{
	static char text[TEXT_BYTES];
	struct read_hit hit;
	enum result result = read_copy(pool, key, now, text,
	    sizeof(text) - 1, &hit);

	if (result != OK) {
		return result_name(result);
	}
	text[hit.value_bytes] = '\0';
	return text;
}

void
test_pool_fill(void *buffer, size_t bytes, uint64_t seed)
{
	uint8_t *to = buffer;
	struct prng prng;

	prng_init(&prng, seed);
	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = prng_next(&prng);
		size_t left = bytes - i;

		memcpy(to + i, &word, left < sizeof(word) ? left :
		    sizeof(word));
	}
}

bool
test_pool_filled(const void *buffer, size_t bytes, uint64_t seed)
{
	const uint8_t *from = buffer;
	struct prng prng;

	prng_init(&prng, seed);
	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = prng_next(&prng);
		size_t left = bytes - i;

		if (memcmp(from + i, &word, left < sizeof(word) ? left :
		    sizeof(word)) != 0) {
			return false;
		}
	}
	return true;
}

uint64_t
test_pool_stat(const struct pool *pool, enum stat_id stat)
{
	return stats_sum(pool->all_stats, pool->g.stats_blocks, stat);
}

uint64_t
test_pool_entries(const struct pool *pool)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		/* Relaxed: a count alone. */
		sum += atomic_load_explicit(&pool->shards[s].entry_count,
		    memory_order_relaxed);
	}
	return sum;
}

struct findings {
	char		text[200];
	uint32_t	invariants;
};

static void
note_fault(void *arg, unsigned invariant, uint32_t shard, uint64_t where,
    const char *text)
{
	struct findings *findings = arg;

	findings->invariants |= 1u << invariant;
	if (findings->text[0] == '\0') {
		(void)snprintf(findings->text, sizeof(findings->text),
		    "I%u, shard %u, at %llx: %s", invariant, shard,
		    (unsigned long long)where, text);
	}
}

static struct findings
verify(const struct pool *pool)
{
	struct findings findings = { .invariants = 0 };
	void *scratch = malloc(verify_scratch_bytes(pool));
	uint64_t faults;

	need(scratch != NULL, "malloc");
	faults = verify_pool(pool, scratch, note_fault, &findings);
	need((faults == 0) == (findings.invariants == 0),
	    "verify_pool counts what it tells");
	free(scratch);
	return findings;
}

const char *
test_pool_verify(const struct pool *pool)
{
	static struct findings findings;

	findings = verify(pool);
	return findings.text;
}

uint32_t
test_pool_faults(const struct pool *pool)
{
	return verify(pool).invariants;
}

_Atomic uint64_t *
test_pool_slot(const struct pool *pool, const struct key *key)
{
	_Atomic uint64_t *slot = index_find(pool, pool_shard_of(pool,
	    key->hash), key);

	need(slot != NULL, "a key that should be linked is not");
	return slot;
}

struct entry *
test_pool_entry(const struct pool *pool, const struct key *key)
{
	struct entry_head head;
	/* Relaxed: this process wrote it. */
	struct entry *entry = shard_entry(pool, atomic_load_explicit(
	    test_pool_slot(pool, key), memory_order_relaxed), &head);

	need(entry != NULL, "a linked slot leads nowhere");
	return entry;
}

uint32_t
test_pool_extent_of(const struct pool *pool, const struct key *key)
{
	/* Relaxed: this process wrote it. */
	return slot_extent(atomic_load_explicit(test_pool_slot(pool, key),
	    memory_order_relaxed));
}

enum result
test_pool_reclaim(const struct pool *pool, uint32_t shard, uint32_t extent,
    struct boot_ms now)
{
	enum result result = shard_enter(pool, shard);

	if (result != OK) {
		return result;
	}
	result = reclaim_pass(pool, shard, extent, RECLAIM_FORCE, now);
	if (result != BUSY) {
		shard_leave(pool, shard);
	}
	return result;
}

bool
test_pool_die_holding(const struct pool *pool, uint32_t shard,
    void (*damage)(void))
{
	int status;
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (pid == 0) {
		if (shard_enter(pool, shard) == OK) {
			damage();
			_exit(0);
		}
		_exit(1);
	}
	return wait_until_exit(pid, CHILD_DEADLINE_MS, &status) &&
	    WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
