/* SPDX-License-Identifier: ISC */

/*
 * What may be read, written down beside the pool: for each key the range of
 * versions that are right now, for each tag the newest purge.  In memory
 * that all processes of a crash test share, so that it outlives them.
 *
 * Each key has one owner, the process that writes it.  Every change of a key
 * has a number of its own; a value carries the number of its set.
 *
 *	owner	highest = n, change of the pool, answer, lowest = n
 *	reader	low = lowest, read, high = highest: low <= version <= high
 *
 * A change that was never answered moves highest alone: both the older and
 * the newer are right.  Who has seen a version raises lowest to it, as what
 * was seen once may never be followed by something older.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_KEYS_MAX	8192u
#define LEDGER_TAGS	8u
#define LEDGER_NEVER	UINT64_MAX

enum ledger_kind {
	LEDGER_NOTHING,		/* absent, or nobody can tell */
	LEDGER_VALUE,		/* stored and acked */
};

enum ledger_flight {
	FLIGHT_NONE,
	FLIGHT_SET,		/* the older value stands until it is done */
	FLIGHT_ANY,		/* the key may be absent meanwhile */
};

/* Of one stored value: what decides whether it still lives. */
struct ledger_life {
	uint64_t	epoch;
	uint64_t	hard_ms;
};

struct ledger_key {
	/* any process, atomic */
	_Atomic uint64_t lowest;
	_Atomic uint64_t highest;
	/* owner, and the parent while no owner runs */
	enum ledger_kind kind;
	_Atomic uint32_t flight;	/* enum ledger_flight */
	struct ledger_life life;	/* of the acked value */
	struct ledger_life coming;	/* of the one in flight */
};

struct ledger_tag {
	/* the one purger; readers acquire */
	_Atomic uint64_t hard;		/* newest acked purge */
	_Atomic uint64_t soft;
	/* the one purger, and the parent while it does not run */
	_Atomic uint64_t pending;	/* number of one under way, 0 none */
	bool		pending_hard;
	uint64_t	maybe;		/* newest that may or may not count */
};

struct ledger {
	struct ledger_key key[LEDGER_KEYS_MAX];
	/* the last is of purges of everything */
	struct ledger_tag tag[LEDGER_TAGS + 1];
};

/* First bytes of each value; the rest follows from key and version. */
struct stamp {
	uint64_t	magic;
	uint64_t	key;
	uint64_t	version;
	uint64_t	epoch;
	uint64_t	hard_ms;
	uint64_t	bytes;		/* of the whole value */
};

static inline uint32_t
ledger_tag_of(uint32_t key)
{
	return (key / 4) % LEDGER_TAGS;
}

/* bytes >= sizeof(struct stamp) */
void	ledger_fill(uint8_t *value, size_t bytes, uint32_t key,
    uint64_t version, struct ledger_life life);

/*
 * Take apart what was read: the first `bytes` of a value of that key.  False
 * if any byte is not what some set of this key stored; *why says which.
 */
bool	ledger_parse(const uint8_t *value, size_t bytes, bool whole,
    uint32_t key, struct stamp *stamp, const char **why);

/* What a reader keeps from before its read. */
struct ledger_view {
	uint64_t	low;
	uint64_t	now_ms;
	uint64_t	hard;		/* purges */
	uint64_t	soft;
};

struct ledger_view ledger_before(const struct ledger *ledger, uint32_t key,
    uint64_t now_ms);

/*
 * After the read: NULL if that version was right, else why not.  is_fresh:
 * the answer did not call it stale.
 */
const char *ledger_judge(struct ledger *ledger, uint32_t key,
    const struct ledger_view *view, const struct stamp *stamp, bool is_fresh);

/* The same for a counter, whose number is its version. */
const char *ledger_judge_number(struct ledger *ledger, uint32_t key,
    const struct ledger_view *view, uint64_t number);

/* Owner: the next number of the key, and a change begun with it. */
uint64_t ledger_begin(struct ledger *ledger, uint32_t key, uint64_t step,
    enum ledger_flight flight, struct ledger_life coming);

/* Owner: it was acked; nothing older may be read from here on. */
void	ledger_ack(struct ledger *ledger, uint32_t key, uint64_t version,
    enum ledger_kind kind);

/* Owner: it was refused; the key is as before. */
void	ledger_refused(struct ledger *ledger, uint32_t key);

/* Purger: a purge of that number is under way, and acked. */
void	ledger_purge_begin(struct ledger *ledger, uint32_t tag,
    uint64_t number, bool hard);
void	ledger_purge_ack(struct ledger *ledger, uint32_t tag,
    uint64_t number);

/* Purger: it was refused; nothing was purged. */
void	ledger_purge_cancel(struct ledger *ledger, uint32_t tag);

/*
 * Parent, after a death: newest is what the pool says.  A purge that was
 * under way counts fully if the pool shows its number, else perhaps.
 */
void	ledger_purge_settle(struct ledger *ledger, uint64_t newest);

/*
 * Parent, while nobody writes: true if the key was acked and nothing gave
 * leave to forget it.
 */
bool	ledger_must_hold(const struct ledger *ledger, uint32_t key,
    uint64_t now_ms);

/* Parent, when that was looked at: what was in flight is not any more. */
void	ledger_settle(struct ledger *ledger, uint32_t key);

/* Parent: it is gone, by leave; nobody waits for it any more. */
void	ledger_forget(struct ledger *ledger, uint32_t key);

#endif
