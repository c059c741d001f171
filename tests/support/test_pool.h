/* SPDX-License-Identifier: ISC */

/*
 * Pools for tests: small, with a fixed hash key, and with the calls that
 * nearly every test of the shared segment makes.  What cannot fail in a
 * sound build (no memory for 4 MiB) ends the process.
 */
#ifndef TEST_POOL_H
#define TEST_POOL_H

#include "pool.h"
#include "read.h"
#include "write.h"

#include <stdbool.h>
#include <stdint.h>

#define TEST_KEY_BYTES	32

/* This process is worker 0 of it. */
struct pool test_pool_make(uint64_t pool_bytes, uint64_t extent_bytes,
    uint32_t worker_count);

/* 4 MiB of 64 extents, so one shard. */
struct pool test_pool_one_shard(void);

/* 4 MiB of 256 extents of 16 KiB: four shards. */
struct pool test_pool_four_shards(void);

/* The same pool as a client sees it: read-only, at another address. */
struct pool test_pool_attach(const struct pool *pool,
    struct stats_block *stats);

/* text must outlive the key. */
struct key test_pool_key(const struct pool *pool, const char *text);
struct key test_pool_key_of_hash(const char *text, uint64_t hash);

/* The key of a number, written into text. */
struct key test_pool_number_key(const struct pool *pool,
    char text[TEST_KEY_BYTES], uint64_t number);

/* A value that never expires, stored always, in the newest epoch. */
struct entry_spec test_pool_spec(const struct pool *pool,
    const struct key *key, const void *value, uint64_t value_bytes);

enum result test_pool_set(const struct pool *pool, const struct key *key,
    const char *text, struct boot_ms now);

/*
 * The value as a string (at most 4,095 bytes of it), or the name of the
 * result if that was not OK.  Valid until the next call.
 */
const char *test_pool_get(const struct pool *pool, const struct key *key,
    struct boot_ms now);

/* Bytes that follow from the seed, and whether bytes are those. */
void	test_pool_fill(void *buffer, size_t bytes, uint64_t seed);
bool	test_pool_filled(const void *buffer, size_t bytes, uint64_t seed);

/* All workers' counts together. */
uint64_t test_pool_stat(const struct pool *pool, enum stat_id stat);

/* Linked entries of all shards. */
uint64_t test_pool_entries(const struct pool *pool);

/*
 * verify_pool(): the first fault in words, empty if there is none; and a
 * word with bit n set for each invariant n that does not hold.
 */
const char *test_pool_verify(const struct pool *pool);
uint32_t test_pool_faults(const struct pool *pool);

/*
 * A child takes the lock of a shard, does the damage, and dies with the lock
 * held.  False if it got no lock or did not come to the end of the damage.
 */
bool	test_pool_die_holding(const struct pool *pool, uint32_t shard,
    void (*damage)(void));

/* For Criterion tests. */
#define EXPECT_SOUND(pool) do {						\
	const char *fault_ = test_pool_verify(pool);			\
									\
	cr_expect_str_empty(fault_, "%s", fault_);			\
} while (0)

/* The linked slot and the entry of a key that is there. */
_Atomic uint64_t *test_pool_slot(const struct pool *pool,
    const struct key *key);
struct entry *test_pool_entry(const struct pool *pool,
    const struct key *key);
uint32_t test_pool_extent_of(const struct pool *pool, const struct key *key);

/* Empty an extent of a shard, dropping all that it holds. */
enum result test_pool_reclaim(const struct pool *pool, uint32_t shard,
    uint32_t extent, struct boot_ms now);

#endif
