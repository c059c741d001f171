/* SPDX-License-Identifier: ISC */

/*
 * What a race is about: a small pool, keys by number, and values that tell
 * who they are.  A value of key k in version v is, word after word,
 *
 *	word 0   63  length  32 | 31 unused 25 | 24 kind | 23  key  0
 *	word 1   v
 *	word i   a mix of word 0, word 1 and i
 *
 * and of the forging kind from byte 64 on whole entries of the victim keys, at
 * the places where real entries begin in an extent of such values: all entries
 * here are multiples of STAGE_STEP_BYTES long.  Their values are right but for
 * the version, which nobody ever stored.
 *
 * A window has two words for each key, of its one writer: the version whose
 * set (or delete) began last, and the last that ended.  What a get returns lies
 * between the one that had ended before it and the one that had begun after.
 */
#ifndef STAGE_H
#define STAGE_H

#include "actors.h"
#include "pool.h"
#include "read.h"
#include "write.h"

#include <stdbool.h>
#include <stdint.h>

#define STAGE_KEYS_MAX		20000
#define STAGE_KEY_BYTES		16
#define STAGE_STEP_BYTES	128u
#define STAGE_VICTIMS		4u
#define STAGE_FORGED		UINT64_C(0xf0f0f0f0f0f0)
/* Longest value that lies in an extent of 16 KiB with others. */
#define STAGE_STEPS_MAX		31u

struct stage_window {
	_Atomic uint64_t begun;
	_Atomic uint64_t ended;
};

struct stage {
	/* set by stage_open(), then read-only */
	struct pool	pool;
	struct actors_board *board;
	struct stage_window *windows;	/* shared */
	struct key	*keys;
	char		(*key_bytes)[STAGE_KEY_BYTES];
	uint32_t	key_count;
	uint8_t		forged[STAGE_VICTIMS][STAGE_STEP_BYTES];
	struct boot_ms	now;
};

enum stage_kind {
	STAGE_PLAIN,
	STAGE_FORGING,
};

/* A multiple of the step is what the whole entry takes. */
static inline uint32_t
stage_value_bytes(uint32_t steps)
{
	return 64 + STAGE_STEP_BYTES * steps;
}

/*
 * A pool of 4 MiB in 256 extents, all windows at 0, and key_count keys: those
 * of one shard only, or of all (shard UINT32_MAX).  stage_close() frees it.
 */
void	stage_open(struct stage *stage, uint32_t key_count, uint32_t shard);
void	stage_close(struct stage *stage);

/* The value of a key in that version. */
void	stage_make_value(const struct stage *stage, uint8_t *value,
    uint32_t key, uint64_t version, uint32_t bytes, enum stage_kind kind);

/*
 * NULL if the first bytes bytes are those of a value of that key, and its
 * version; else what is wrong.  whole: the value is as long as that.
 */
const char *stage_judge_value(const struct stage *stage, const uint8_t *value,
    uint64_t bytes, bool whole, uint32_t key, uint64_t *version);

/* A value that never expires, in the newest epoch. */
struct entry_spec stage_spec(const struct actor *actor,
    const struct stage *stage, uint32_t key, const void *value,
    uint64_t bytes);

/* The next version of a key, by its one writer.  False: refused. */
bool	stage_set(struct actor *actor, struct stage *stage, uint32_t key,
    uint32_t bytes, enum stage_kind kind);
void	stage_delete(struct actor *actor, struct stage *stage, uint32_t key);

/*
 * Get a key and fail unless the answer is right.  present: a miss is wrong
 * from the first set on, unless the reader gave up after all its retries.
 * True if it was a hit.
 */
bool	stage_get(struct actor *actor, struct stage *stage, uint32_t key,
    bool present, struct read_hit *hit);

/*
 * Its two halves, for bodies that read in other ways: of the bytes in the
 * actor's buffer, and of a miss.  low and gave_up are from before the get.
 */
void	stage_judge_hit(struct actor *actor, const struct stage *stage,
    uint32_t key, uint64_t bytes, bool whole, uint64_t low);
void	stage_judge_miss(struct actor *actor, uint32_t key, bool present,
    uint64_t low, uint64_t gave_up);

/* What stage_get() counts in the board. */
enum stage_tally {
	STAGE_HITS,
	STAGE_MISSES,
	STAGE_LOST,		/* all retries used up */
	STAGE_OWN,		/* the first that a body may use */
};

/* Times the actor's process has used up all retries. */
uint64_t stage_gave_up(const struct actor *actor);

/*
 * Empty extents, with what lives in them moved, until the shard has no more
 * than keep.  False when its lock was not had.
 */
bool	stage_compact(struct actor *actor, const struct stage *stage,
    uint32_t shard, uint32_t keep);

/* Counter of all workers. */
uint64_t stage_stat(const struct stage *stage, enum stat_id stat);

/*
 * The end of a run: what the actors said, then the pool is verified.  One
 * pass or fail line.
 */
bool	stage_report(struct plain_test *test, const char *name,
    const struct stage *stage, bool played);

#endif
