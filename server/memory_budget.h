/* SPDX-License-Identifier: ISC */

/*
 * All the memory that a configuration asks of the machine, and what the
 * machine has.  The supervisor alone, before it allocates any.
 */
#ifndef MEMORY_BUDGET_H
#define MEMORY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"
#include "result.h"

#define MEMORY_BUDGET_ERROR_BYTES	256

struct memory_budget {
	uint64_t	segment_bytes[CONFIG_POOLS_MAX];
	uint64_t	private_bytes[CONFIG_POOLS_MAX];
	uint64_t	control_bytes;
	uint64_t	origins_bytes;		/* part of control_bytes */
	uint64_t	permits_bytes;		/* permit_file.h */
	uint64_t	page_table_bytes;	/* of the daemon */
	uint64_t	process_bytes;
	uint64_t	start_bytes;	/* all of the above, origins once */
	/* with as many clients as may be connected */
	uint64_t	ring_bytes;
	uint64_t	client_page_table_bytes;
	uint64_t	full_bytes;		/* all of the above */
};

/*
 * Flights that each pool has room for: as many as may call or wait at all
 * origins together.
 */
uint32_t memory_budget_flights(const struct config *config);

/* INVALID if a pool cannot be laid out. */
enum result memory_budget_compute(struct memory_budget *budget,
    const struct config *config);

void	memory_budget_print(const struct memory_budget *budget,
    const struct config *config, FILE *stream);

/* UINT64_MAX: there is no such limit, or it cannot be read. */
struct memory_limits {
	uint64_t	available_bytes;	/* MemAvailable */
	uint64_t	group_bytes;	/* limit of the control group */
	uint64_t	group_room_bytes;	/* of it, not in use */
};

/* Reads below root: "" for the machine, a directory in tests. */
void	memory_limits_read(struct memory_limits *limits, const char *root);

void	memory_limits_print(const struct memory_limits *limits, FILE *stream);

/*
 * False, with a text of MEMORY_BUDGET_ERROR_BYTES, if what is needed at
 * start is not there.
 */
bool	memory_limits_allow(const struct memory_limits *limits,
    const struct memory_budget *budget, char *error);

#endif
