/* SPDX-License-Identifier: ISC */

/*
 * What a pool may answer, kept beside it in plain memory.  A key has some
 * candidates: what it may hold now.  One as a rule; a change that died adds
 * those it may have left behind, and each answer takes away those that it
 * contradicts.  None left: the pool lied.
 *
 * A cache may forget: absent is always among the answers, unless nothing
 * gave the pool a reason (model_must_hold()).  What was absent once stays so
 * until the next change.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read.h"

#define MODEL_KEYS_MAX		1024u
#define MODEL_TAGS		6u
#define MODEL_ALL		MODEL_TAGS	/* purges of everything */
#define MODEL_CANDIDATES	8u
#define MODEL_NEVER		UINT64_MAX

struct candidate {
	bool		present;
	bool		counter;
	bool		growing;	/* a chain whose end is not written */
	uint8_t		tags;		/* bit t: tag t */
	uint64_t	stamp;		/* of its bytes */
	uint64_t	bytes;
	uint64_t	version;	/* 0: not known yet */
	uint64_t	soft_ms;
	uint64_t	hard_ms;
	uint64_t	epoch;
	int64_t		number;		/* counter */
};

struct model_key {
	struct candidate candidate[MODEL_CANDIDATES];
	unsigned	count;
};

struct model_purges {
	uint64_t	kind[3];	/* by enum epoch_kind: newest acked */
	uint64_t	maybe;		/* newest that may count or not */
};

struct model {
	struct model_key key[MODEL_KEYS_MAX];
	struct model_purges purges[MODEL_TAGS + 1];
};

void	model_init(struct model *model);

/* The bytes of a value. */
void	model_fill(uint8_t *value, uint64_t stamp, size_t bytes);

/* The key holds this and nothing else. */
void	model_set(struct model *model, uint32_t key,
    const struct candidate *is);

/* The key may hold this, too. */
void	model_add(struct model *model, uint32_t key,
    const struct candidate *maybe);

/* It holds nothing. */
void	model_clear(struct model *model, uint32_t key);

/* Expired, or covered by an acked hard purge. */
bool	model_is_dead(const struct model *model, const struct candidate *c,
    uint64_t now_ms);

/* True if some candidate may be alive. */
bool	model_may_hold(const struct model *model, uint32_t key,
    uint64_t now_ms);

/* True if all candidates are, for certain. */
bool	model_must_hold(const struct model *model, uint32_t key,
    uint64_t now_ms);

/* What a read gave. */
struct model_answer {
	enum result	result;		/* OK, STALE, GROWING */
	const struct read_hit *hit;
	const uint8_t	*value;		/* NULL: was not asked for */
	uint64_t	value_bytes;
};

/*
 * Take the answer in.  NULL, or why it is wrong.
 */
const char *model_hit(struct model *model, uint32_t key, uint64_t now_ms,
    const struct model_answer *answer);

/* The header that a scan met is one of the candidates'. */
bool	model_knows_head(const struct model *model, uint32_t key,
    uint64_t now_ms, const struct entry_head *head);

/* An entry of one certain candidate: its version if known, else 0. */
uint64_t model_version(const struct model *model, uint32_t key);

#endif
