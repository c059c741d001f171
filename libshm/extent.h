/* SPDX-License-Identifier: ISC */

/*
 * Extents: the fixed-size blocks of a pool, their one state word each, and
 * the lists that are derived from it.  Workers alone, under the lock of the
 * shard named; the pool's free list has its own lock, taken inside here,
 * always after the shard's.
 *
 *	FREE --take--> SPARE, INDEX, CHAIN_*, or opened at once
 *	SPARE --open--> SMALL, MAIN
 *	SMALL, MAIN, CHAIN_* --retire--> FREE, or LIMBO while pinned
 *	LIMBO --settle--> FREE
 *
 * Every edge stores the state word first and changes the lists after, so
 * that a death in between leaves the truth and a list to be rebuilt.
 */
#ifndef EXTENT_H
#define EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

/* All free, all generations 1.  Before any other process sees the pool. */
void	extent_init_all(struct pool *pool);

static inline enum extent_role
extent_role_of(uint64_t state)
{
	return (enum extent_role)((state >> STATE_ROLE_SHIFT) & 0xff);
}

static inline uint32_t
extent_owner_of(uint64_t state)
{
	return (uint32_t)(state >> STATE_OWNER_SHIFT);
}

/*
 * True if state a got its birth before b.  By the distance of the two, so
 * that the order holds when the 40 bits begin again.
 */
static inline bool
extent_born_before(uint64_t a, uint64_t b)
{
	uint64_t distance = (b - a) & STATE_BIRTH_MASK;

	return distance != 0 && distance <= STATE_BIRTH_MASK / 2;
}

static inline uint64_t
extent_state(const struct pool *pool, uint32_t extent)
{
	/* Relaxed: read under the lock of its owner, or as a hint. */
	return atomic_load_explicit(&pool->infos[extent].state,
	    memory_order_relaxed);
}

static inline uint32_t
extent_committed(const struct pool *pool, uint32_t extent)
{
	/* Pairs with extent_commit(), for a look without the lock. */
	return atomic_load_explicit(&pool->infos[extent].committed,
	    memory_order_acquire);
}

/* A new state word with the next birth number of the shard. */
void	extent_set_role(const struct pool *pool, uint32_t shard,
    uint32_t extent, enum extent_role role);

/*
 * Take a free extent for a shard, in that role (not SMALL or MAIN, which
 * extent_open() gives).  FULL if the pool has none for this shard: all are
 * in use, or the last ones are kept for shards below their fair share.
 * BUSY: the free list's lock was not to be had in time.
 */
enum result extent_acquire(const struct pool *pool, uint32_t shard,
    enum extent_role role, uint32_t *extent);

/* The same for who can do without one: 0 if there is none. */
uint32_t extent_take(const struct pool *pool, uint32_t shard,
    enum extent_role role);

/*
 * Make an extent that holds nothing ready for entries, with role SMALL,
 * MAIN or CHAIN_*: nothing committed, generation even, at the tail of its
 * queue (CHAIN_PART is in none).
 */
void	extent_open(const struct pool *pool, uint32_t shard, uint32_t extent,
    enum extent_role role);

/*
 * Give back an extent that no slot points into and that is in no list: odd
 * generation, then free, or limbo while a worker has it pinned or the free
 * list's lock is not to be had.  True if it is free now.
 */
bool	extent_retire(const struct pool *pool, uint32_t shard,
    uint32_t extent);

/* Free what waited and need not any more.  Returns how many. */
uint32_t extent_settle_limbo(const struct pool *pool, uint32_t shard);

/* Extents in the pool's free list: under its lock, or a hint. */
uint32_t extent_free_count(const struct pool *pool);

/* True if a shard above its fair share should leave what it frees. */
bool	extent_should_give(const struct pool *pool, uint32_t shard);

/*
 * Room for that many bytes (a multiple of 8) behind what is committed; NULL
 * if the extent is full.  *offset is where it starts.
 */
void	*extent_reserve(const struct pool *pool, uint32_t extent,
    uint32_t bytes, uint32_t *offset);

/* Everything below end is whole: before the link that makes it visible. */
void	extent_commit(const struct pool *pool, uint32_t extent, uint32_t end);

/*
 * The free list's lock, for verify.  If its last holder died, the list is
 * made anew from the states first.  False: not locked.
 */
bool	extent_pool_lock(const struct pool *pool);
void	extent_pool_unlock(const struct pool *pool);

/* Singly linked lists through extent_info.next. */
void	extent_list_append(const struct pool *pool, struct extent_list *list,
    uint32_t extent);
void	extent_list_remove(const struct pool *pool, struct extent_list *list,
    uint32_t extent);

/* Raise a generation to odd, relaxed; the caller fences. */
void	extent_generation_odd(const struct pool *pool, uint32_t extent);

#endif
