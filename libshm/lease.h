/* SPDX-License-Identifier: ISC */

/*
 * Single-flight over a pool: the flight table of each shard (flight.h) put
 * together with its lock, its index and its refresh bits.  Workers alone.
 * Nothing here waits for a computation, and nothing is woken under a lock:
 * door->tell() only notes whom to wake.
 *
 * begin looks at the index under the same lock as at the table, so that who
 * missed just before the fill was linked is told to look again, and leads
 * nothing.  A fill is done by write_set() or chain_finish() with
 * entry_spec.fill: check, link, end, tell, in one hold of the lock.
 *
 *	flight begins, entry linked	its slot's refresh bit is set
 *	flight over, however		it is cleared, by the hash
 *
 * The bit is a hint to readers (serve stale, do not ask): that of another key
 * of the same hash may go with it, which costs that key's readers a question.
 * A flight that is handed over keeps its bit.
 *
 * Results beside those named: BUSY (the lock was not had; nothing changed).
 */
#ifndef LEASE_H
#define LEASE_H

#include "flight.h"
#include "pool.h"

/* What the library cannot know of the daemon around it. */
struct lease_door {
	flight_dead_fn	dead;
	/* Under the lock: these workers (never none) have to look at it. */
	void		(*tell)(void *arg, const struct pool *pool,
			    uint32_t shard, uint32_t flight, uint64_t workers);
	void		*arg;
};

struct lease_request {
	struct flight_caller caller;
	uint32_t	lease_ms;
	/*
	 * The version of the live entry that is to be refreshed, fresh or
	 * stale; 0 if none was seen.  Another live one is there: FLIGHT_FOUND.
	 */
	uint64_t	seen_version;
};

/* Names a flight that is led or waited for. */
struct lease {
	struct flight_key key;
	struct flight_ticket ticket;
	uint32_t	shard;
};

/* For entry_spec.fill: the value that a lease was given for. */
struct lease_fill {
	uint64_t	token;
	uint64_t	holder;
	const struct lease_door *door;
};

/* OK: *answer and *lease say what to do. */
enum result lease_begin(const struct pool *pool,
    const struct lease_door *door, const struct key *key,
    const struct lease_request *request, struct boot_ms now,
    enum flight_answer *answer, struct lease *lease);

/*
 * As flight_collect(), for a worker's waiters of that flight.  FLIGHT_LEAD:
 * one of them leads now, and the others go on waiting with lease->ticket.
 */
enum result lease_collect(const struct pool *pool,
    const struct lease_door *door, const struct lease_request *request,
    uint32_t waiters, struct boot_ms now, struct lease *lease,
    enum flight_answer *answer, struct flight_ending *ending);

/* So many waiters of this worker wait no more, and so many are left. */
enum result lease_leave(const struct pool *pool,
    const struct lease_door *door, const struct lease *lease,
    uint32_t worker, uint32_t waiters, uint32_t left);

/*
 * The leader ends its flight otherwise than by a fill.  OK, or LEASE_LOST:
 * it leads no more, and nothing was changed.  The waiters of a key that was
 * changed meanwhile look again, whatever the ending.
 */
enum result lease_end(const struct pool *pool, const struct lease_door *door,
    const struct key *key, uint64_t token, uint64_t holder,
    const struct flight_ending *ending, uint64_t jitter, struct boot_ms now);

/* The leader has its time from now on (it waited for a permit). */
enum result lease_restart(const struct pool *pool, const struct key *key,
    uint64_t token, uint64_t holder, uint32_t lease_ms, struct boot_ms now);

/*
 * The leader gives up without an outcome, or is gone: one waiter leads (this
 * worker's own before others), or nobody.  OK, LEASE_LOST.
 */
enum result lease_abandon(const struct pool *pool,
    const struct lease_door *door, const struct lease *lease,
    uint64_t holder, struct boot_ms now);

/*
 * One shard's flights after a death, and once a second: dead and late
 * leaders, waiters of dead_workers (a bit each), notes whose time is over.
 */
enum result lease_sweep(const struct pool *pool,
    const struct lease_door *door, uint32_t shard, uint64_t dead_workers,
    struct boot_ms now);

/*
 * One shard's flights that this holder leads and its client does not know of
 * go to others, or nobody; see flight_keep_known().
 */
enum result lease_keep_known(const struct pool *pool,
    const struct lease_door *door, uint32_t shard, uint64_t holder,
    flight_knows_fn knows, void *knower, struct boot_ms now);

/* For people: flights of a shard in use, until fn says false. */
typedef bool (*lease_list_fn)(void *arg, uint32_t shard,
    const struct flight *flight);
enum result lease_list(const struct pool *pool, uint32_t shard,
    lease_list_fn fn, void *arg);

/*
 * For write.c and chain_write.c, under the lock, before the link: OK with the
 * epoch of the flight, which is the value's; LEASE_LOST; CHANGED: the key was
 * written meanwhile, the flight has been ended with FLIGHT_LOOK_AGAIN, and
 * the value is its caller's alone.  After OK, in the same hold,
 * lease_fill_end() or lease_fill_later().
 */
enum result lease_fill_check(const struct pool *pool, uint32_t shard,
    const struct key *key, const struct lease_fill *fill, struct boot_ms now,
    uint64_t *epoch);

/* After the link: end it and tell. */
void	lease_fill_end(const struct pool *pool, uint32_t shard, uint64_t hash,
    const struct lease_fill *fill, struct boot_ms now);

/* Nothing is linked yet, or the beginning of a value alone. */
void	lease_fill_later(const struct pool *pool, uint32_t shard,
    uint64_t hash, const struct lease_fill *fill);

/* Under the lock: the key is being changed by somebody else than a fill. */
void	lease_touch(const struct pool *pool, uint32_t shard, uint64_t hash);

#endif
