/* SPDX-License-Identifier: ISC */

/*
 * One client process of the demo: asks for items, the popular ones most,
 * and computes those that it does not find with a slow function.
 */
#ifndef SHOPPER_H
#define SHOPPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "latency.h"

#define SHOPPER_ITEMS		20000u
#define SHOPPER_ORIGIN_US	2000u	/* what the slow function takes */

/* In memory that the processes share. */
struct shopper {
	/* set by the parent before the fork, then read-only */
	bool		uses_cache;
	uint64_t	seed;
	const char	*socket_path;
	/* set by the parent to end it */
	atomic_bool	stop;
	/* the process adds, the parent reads */
	_Atomic uint64_t requests;
	_Atomic uint64_t hits;
	_Atomic uint64_t origin_calls;
	_Atomic uint64_t wrong_values;	/* not what was asked for */
	_Atomic uint64_t lost_stores;	/* the daemon did not take them */
	struct latency	latency;
};

/* Until stop; returns the exit status. */
int	shopper_run(struct shopper *shopper);

#endif
