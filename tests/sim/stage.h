/* SPDX-License-Identifier: ISC */

/*
 * One seed's run: a pool with the handles of some workers and of a client, a
 * clock, a model, and who may die when.  One process; a death is a thread
 * that ends inside a lock.
 */
#ifndef STAGE_H
#define STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "chain_write.h"
#include "model.h"
#include "pool.h"
#include "prng.h"

#define STAGE_WORKERS	3u
#define STAGE_WRITERS	3u
#define STAGE_HOLDS	3u
#define STAGE_VALUE_MAX	(256u << 10)
#define STAGE_ERROR_BYTES 200u

/* Drawn from the seed. */
struct stage_setup {
	uint64_t	extent_bytes;
	uint32_t	keys;
	uint32_t	key_bytes;
	uint32_t	value_most_bytes;
	uint32_t	large_one_in;	/* 0: none */
	uint32_t	death_one_in;	/* 0: nobody dies */
	uint32_t	expiring_one_in;
	uint32_t	operations;
	uint32_t	ballast;	/* extents nobody can have */
	bool		one_shard;	/* all keys in shard 0 */
};

/* What a change that dies may leave: set before it, cleared after. */
struct intent {
	bool		active;
	bool		purge;
	uint32_t	key;
	uint32_t	tag;		/* of a purge */
	unsigned	kind;
	uint64_t	number;
	struct candidate after[3];
	unsigned	count;
};

struct open_chain {
	bool		open;
	bool		early;
	uint32_t	worker;
	uint32_t	key;
	uint64_t	bytes;		/* of the whole value to come */
	struct candidate is;
	char		name[32];
	struct chain_writer writer;
};

/* A pinned value, and what its bytes were. */
struct hold {
	uint32_t	worker;
	struct read_view view;
	uint8_t		*copy;		/* NULL: no hold */
};

struct stage {
	struct stage_setup setup;
	uint64_t	seed;
	struct prng	prng;
	struct boot_ms	now;
	struct pool	worker[STAGE_WORKERS];
	struct pool	client;
	struct stats_block client_stats;
	uint64_t	tag_hash[MODEL_TAGS];
	uint64_t	stamps;		/* given to values so far */
	struct model	model;
	struct intent	intent;
	struct open_chain chain[STAGE_WRITERS];
	struct hold	hold[STAGE_HOLDS];
	uint32_t	busy_key;	/* of the operation under way */
	uint32_t	acting;		/* worker that acts now */
	bool		crowded;	/* one may have died in an eviction */
	uint64_t	deaths;
	uint64_t	nested;
	uint8_t		*value;		/* STAGE_VALUE_MAX each */
	uint8_t		*value_between;	/* of who acts between */
	uint8_t		*answer;
	void		*scratch;	/* of verify */
	char		error[STAGE_ERROR_BYTES];
};

/* False: no memory, and a text. */
bool	stage_open(struct stage *stage, uint64_t seed);
void	stage_close(struct stage *stage);

/* The first wins. */
void	stage_fail(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool	stage_failed(const struct stage *stage);

/* verify_pool() without a fault. */
void	stage_verify(struct stage *stage);

/* True while nothing gave the pool leave to forget. */
bool	stage_keeps_all(const struct stage *stage);

/* name holds 32 bytes and lives as long as the key. */
struct key stage_key(const struct stage *stage, uint32_t key, char *name);
uint32_t stage_key_number(const void *bytes, uint32_t length);

/* After worker's death: intents, pins and chains of it. */
void	stage_bury(struct stage *stage, uint32_t worker);

/* --- actor*.c: one operation of stage->acting each. */
void	actor_set(struct stage *stage, uint32_t key);
void	actor_delete(struct stage *stage, uint32_t key);
void	actor_touch(struct stage *stage, uint32_t key);
void	actor_count(struct stage *stage, uint32_t key);
void	actor_purge(struct stage *stage);
void	actor_read(struct stage *stage, uint32_t key);
void	actor_scan(struct stage *stage);
void	actor_hold(struct stage *stage, uint32_t key);
void	actor_release(struct stage *stage, unsigned hold);
void	actor_chain(struct stage *stage, uint32_t key);
void	actor_tidy(struct stage *stage);

/* A spec for a new value, and the candidate that it will be. */
struct entry_spec actor_spec(struct stage *stage, const struct key *key,
    uint64_t *tags, struct candidate *is);

/* --- death.c */

/*
 * Run act; if the hook counts down to 0 before its end it dies there, with
 * whatever locks it holds.  countdown 0: it lives.  True: it died.
 */
typedef void (*death_fn)(struct stage *stage);
bool	death_run(struct stage *stage, death_fn act, uint64_t countdown);

/* Called where a lock is let go in the middle of an operation. */
void	death_between(death_fn fn);

#endif
