/* SPDX-License-Identifier: ISC */

/*
 * The door to a shard's writing side, and the bookkeeping of what is linked.
 * Workers alone.  Lock order: one shard, then the extent pool.  No input or
 * output and no wake-up under a lock.
 */
#ifndef SHARD_H
#define SHARD_H

#include "entry.h"
#include "pool.h"

/*
 * Lock a shard.  If its last holder died, the shard is recovered first.
 * BUSY: not locked (a holder that is stopped, or a lock that is broken).
 */
enum result shard_enter(const struct pool *pool, uint32_t shard);

void	shard_leave(const struct pool *pool, uint32_t shard);

/*
 * Let others in during long work.  OK: locked again, everything may have
 * changed; BUSY: not locked any more.
 */
enum result shard_yield(const struct pool *pool, uint32_t shard);

/*
 * The number of the next entry, under the lock.  After 2^56 - 1 it begins
 * again with 1: 0 would be no version, and more would be another shard's.
 */
uint64_t shard_next_sequence(const struct pool *pool, uint32_t shard);

/* The linked entry behind a slot word, under the lock; NULL if none. */
struct entry *shard_entry(const struct pool *pool, uint64_t word,
    struct entry_head *head);

/* True if the entry is expired or covered by a hard purge. */
bool	shard_entry_dead(const struct pool *pool, const struct entry *entry,
    const struct entry_head *head, struct boot_ms now);

/* The live entry's version, 0 if the slot (or NULL) holds none that lives. */
uint64_t shard_live_version(const struct pool *pool, uint32_t shard,
    const _Atomic uint64_t *slot, struct boot_ms now);

/*
 * An entry of that extent expires then: the sweep must come by.  Also if it
 * is in the middle of that extent and has passed the entry.
 */
void	shard_note_expiry(const struct pool *pool, uint32_t shard,
    uint32_t extent, uint64_t hard_ms);

/* Count an entry in that was linked at word's place. */
void	shard_count_linked(const struct pool *pool, uint32_t shard,
    uint64_t word, const struct entry_head *head);

/*
 * Count an entry out that is no longer linked at word's place; a chained
 * value is freed.  Its extent itself stays until it is reclaimed.
 */
void	shard_count_unlinked(const struct pool *pool, uint32_t shard,
    uint64_t word, const struct entry_head *head);

/* Clear a slot and count its entry out. */
void	shard_unlink(const struct pool *pool, uint32_t shard,
    _Atomic uint64_t *slot);

/*
 * Link a committed entry: into old's slot if old is not NULL (the entry
 * there is counted out), else into its bucket.
 */
void	shard_link(const struct pool *pool, uint32_t shard,
    _Atomic uint64_t *old, uint64_t word, const struct entry_head *head);

#endif
