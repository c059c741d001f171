/* SPDX-License-Identifier: ISC */

/*
 * Every change of what is stored, but purges (epoch.h) and chained values
 * (chain_write.h).  Workers alone; each call locks one shard for its length
 * and never longer than LOCK_TIMEOUT_MS to get it.
 *
 * Results beside those named: BUSY (nothing was changed; retry later),
 * KEY_INVALID, TOO_MANY_TAGS, INVALID.
 */
#ifndef WRITE_H
#define WRITE_H

#include "entry.h"
#include "pool.h"

struct lease_fill;

enum set_when {
	SET_ALWAYS,
	SET_IF_ABSENT,		/* EXISTS if a live entry is there */
	SET_IF_VERSION,		/* CHANGED unless it has that version */
};

struct entry_spec {
	const struct key *key;
	const uint64_t	*tags;		/* of epoch_tag_hash() */
	unsigned	tag_count;	/* at most TAGS_MAX */
	const void	*value;
	uint64_t	value_bytes;
	uint8_t		flags;		/* ENTRY_USER_FLAGS */
	uint64_t	soft_ms;	/* boot time; UINT64_MAX never */
	uint64_t	hard_ms;	/* boot time; UINT64_MAX never */
	uint64_t	epoch;		/* of the request, cut to epoch_now() */
	enum set_when	when;
	uint64_t	version;	/* for SET_IF_VERSION */
	uint16_t	cost_ms;	/* of computing the value */
	/* the lease that it was computed for, see lease.h; NULL none */
	const struct lease_fill *fill;
};

/*
 * Store a value of any size the pool takes.  Readers see the old one or the
 * new one.  OK with the new version; EXISTS, CHANGED; TOO_LARGE (see
 * geometry_value_max_bytes()); FULL: no extent could be freed now.
 * With a fill its flight's epoch is the value's, and the flight ends with the
 * link.  LEASE_LOST, CHANGED: not stored, and the flight is over or another's;
 * after all else it goes on.
 */
enum result write_set(const struct pool *pool, const struct entry_spec *spec,
    struct boot_ms now, uint64_t *version);

/* OK; MISS; CHANGED if version is not 0 and not the entry's. */
enum result write_delete(const struct pool *pool, const struct key *key,
    uint64_t version, struct boot_ms now);

/*
 * New expiry for a live entry, and its epoch raised to epoch if that is
 * higher (0: as it is).  OK or MISS.
 */
enum result write_touch(const struct pool *pool, const struct key *key,
    uint64_t soft_ms, uint64_t hard_ms, uint64_t epoch, struct boot_ms now);

/*
 * Add to a counter: a signed 64-bit number that is changed in place, so that
 * hot counters append nothing.  Its expiry does not move.  A missing (or
 * dead) key is created from spec, whose value is not used, with initial +
 * delta; with spec NULL it is a MISS.  COUNTER_RANGE: would leave the range,
 * unchanged; WRONG_TYPE: the key holds a value.
 */
enum result write_counter_add(const struct pool *pool, const struct key *key,
    int64_t delta, int64_t initial, const struct entry_spec *spec,
    struct boot_ms now, int64_t *number);

/*
 * For chain_write.c: check a spec and make its header for now; OK or what is
 * wrong with it.
 */
enum result write_head(const struct pool *pool,
    const struct entry_spec *spec, struct boot_ms now,
    struct entry_head *head);

/*
 * For chain_write.c, under the lock: the slot of a key whose entry lives,
 * or whose dead entry may be replaced; and what spec->when says to it.
 */
enum result write_check_when(const struct pool *pool, uint32_t shard,
    const struct key *key, enum set_when when, uint64_t version,
    struct boot_ms now, _Atomic uint64_t **slot);

#endif
