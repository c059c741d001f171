/* SPDX-License-Identifier: ISC */

/*
 * What a floor is beside its few lines: memory, keys to fill it with, and a
 * program that a bench starts as a side (`--serve`) or that prints a figure
 * of its own:
 *
 *	floor_NAME [VALUE_BYTES KEY_COUNT]
 */
#ifndef RUN_FLOOR_H
#define RUN_FLOOR_H

#include <stdint.h>

#include "side.h"
#include "workload.h"

/* Bytes that a floor may add to each key and value. */
#define FLOOR_HEAD_BYTES	16

struct floor {
	/* set before the first call */
	const struct workload *w;
	uint64_t	key_and_value_bytes;
	/* shared memory in pages of the usual size, all zero */
	uint64_t	*slots;		/* two to four to a key */
	uint64_t	mask;		/* their number less 1, all ones */
	uint8_t		*items;
	/* the floor's own, at first 1 */
	uint64_t	used;
};

/* Stores one key and its value; called for all before the first order. */
typedef void (floor_put_fn)(struct floor *floor, const char *key,
    const void *value);

/* Answers main()'s exit status; run is given the floor. */
int	run_floor(int argc, char **argv, floor_put_fn *put,
	    side_run_fn *run);

#endif
