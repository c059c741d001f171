/* SPDX-License-Identifier: ISC */

/*
 * One pass over a trace through any number of policies and sizes at once.
 * Needs no daemon and no segment; one thread, all memory its own.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "sim_policy.h"
#include "trace_reader.h"

struct sim_row {
	/* set by the caller */
	const struct sim_ops *policy;
	uint64_t	capacity;	/* in the trace's units, > 0 */
	/* set by sim_run() */
	uint64_t	requests;
	uint64_t	misses;
};

enum sim_outcome {
	SIM_DONE,
	SIM_BAD_TRACE,		/* trace_fault_text() says what */
	SIM_NO_MEMORY,
	SIM_STOPPED,
};

/*
 * Replay what reader gives through every row.  The rows hold results only
 * if the outcome is SIM_DONE.  stop may be NULL; once it is true (a signal
 * handler may set it) the run ends within a few milliseconds.
 */
enum sim_outcome sim_run(struct trace_reader *reader, struct sim_row *rows,
    size_t row_count, const atomic_bool *stop);

#endif
