/* SPDX-License-Identifier: ISC */

/*
 * Asking for a value through weir_fetch(), with an origin that the bench
 * plays: every value says whose it is, and every answer is looked at.
 * Members of a swarm ask; the bench's first process may store beforehand.
 */
#ifndef DEMAND_H
#define DEMAND_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "swarm.h"
#include "weir.h"

#define DEMAND_VALUE_MAX	1024u
#define DEMAND_KEY_MAX		64u

struct demand {
	struct backend	*backend;	/* NULL: answers at once */
	enum backend_class caller;
	size_t		value_bytes;	/* 8 at least */
	struct weir_fetch_options options;
	_Atomic uint8_t	*was_computed;	/* of each number, or NULL */
};

/* The argument of the callback; number is the key's. */
struct demand_call {
	const struct demand *demand;
	struct prng	*prng;
	uint64_t	number;
	uint64_t	computes;	/* counted up */
	uint8_t		value[DEMAND_VALUE_MAX];
};

/* The word that ends a value. */
static inline uint64_t
demand_word(uint64_t number)
{
	return (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* For weir_fetch(); arg is a struct demand_call. */
int	demand_compute(void *arg, struct weir_computed *computed);

/*
 * One fetch, counted in tally, its latency from intended_ns to now.
 */
void	demand_fetch(struct swarm_member *member, const struct demand *demand,
	    const char *key, size_t key_length, uint64_t number,
	    uint64_t intended_ns, struct swarm_tally *tally);

/* Writes "PREFIX:NUMBER"; answers its length. */
size_t	demand_make_key(char key[DEMAND_KEY_MAX], const char *prefix,
	    uint64_t number);

/* Stores the values of all numbers below count; false: refused. */
bool	demand_store_all(const struct daemon *d, const struct demand *demand,
	    const char *prefix, uint64_t count);

/* Requests at a rate, from their start on; a member that is that late drops. */
struct demand_pace {
	uint64_t	per_second;
	uint64_t	phase_ns[SWARM_PHASES];	/* how long each is */
	uint64_t	drop_ns;
};

/*
 * The time at which the member is to ask next, and its phase; it has slept
 * until then.  False: all phases are over.
 */
bool	demand_next(struct swarm_member *member,
	    const struct demand_pace *pace, uint64_t start_ns,
	    uint64_t *intended_ns, struct swarm_tally **tally);

#endif
