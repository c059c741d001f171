/* SPDX-License-Identifier: ISC */

#include "sim_run.h"

#include <stdlib.h>

#include "sim_ids.h"

/* 160 KiB of records and requests: they stay in the L2 cache. */
#define BATCH_RECORDS	3400u

/*
 * A trace whose sizes are all 1 counts objects; each then stands for a
 * common small value, so that the ghost filter is sized as for those.
 */
#define UNIT_OBJECT_BYTES	1024u

#define OBJECTS_AT_START	16384u

struct run {
	struct sim_row	*rows;
	size_t		row_count;
	void		**policies;	/* one for each row; NULL: none yet */
	uint32_t	room;		/* objects the policies have room for */
	struct sim_ids	ids;
	struct trace_record records[BATCH_RECORDS];
	struct sim_request requests[BATCH_RECORDS];
};

static void
destroy_run(struct run *run)
{
	for (size_t i = 0; i < run->row_count; i++) {
		if (run->policies != NULL && run->policies[i] != NULL) {
			run->rows[i].policy->destroy(run->policies[i]);
		}
	}
	free(run->policies);
	sim_ids_fini(&run->ids);
	free(run);
}

static struct run *
create_run(struct sim_row *rows, size_t row_count)
{
	struct run *run = calloc(1, sizeof(*run));

	if (run == NULL) {
		return NULL;
	}
	run->rows = rows;
	run->row_count = row_count;
	run->policies = calloc(row_count + 1, sizeof(*run->policies));
	if (!sim_ids_init(&run->ids) || run->policies == NULL) {
		destroy_run(run);
		return NULL;
	}
	return run;
}

/*
 * The first batch decides whether the trace counts objects; a larger size
 * later on only means that the ghost filters are larger than they need be.
 */
static uint64_t
guess_unit_bytes(const struct trace_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (records[i].size != 1) {
			return 1;
		}
	}
	return UNIT_OBJECT_BYTES;
}

static bool
create_policies(struct run *run, uint64_t unit_bytes)
{
	for (size_t i = 0; i < run->row_count; i++) {
		struct sim_setup setup = {
			.capacity = run->rows[i].capacity,
			.unit_bytes = unit_bytes,
		};

		run->policies[i] = run->rows[i].policy->create(&setup);
		if (run->policies[i] == NULL) {
			return false;
		}
	}
	return true;
}

static bool
grow_policies(struct run *run)
{
	uint64_t want = run->room == 0 ? OBJECTS_AT_START : run->room;

	if (run->ids.count <= run->room) {
		return true;
	}
	while (want < run->ids.count) {
		want *= 2;
	}
	for (size_t i = 0; i < run->row_count; i++) {
		if (!run->rows[i].policy->grow(run->policies[i],
		    (uint32_t)want)) {
			return false;
		}
	}
	run->room = (uint32_t)want;
	return true;
}

static bool
number_batch(struct run *run, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct trace_record *record = &run->records[i];
		struct sim_request *request = &run->requests[i];

		request->hash = sim_ids_hash(record->object_id);
		request->next = record->next;
		request->size = record->size;
		if (!sim_ids_number(&run->ids, record->object_id,
		    request->hash, &request->object)) {
			return false;
		}
	}
	return true;
}

static void
replay_batch(struct run *run, size_t count)
{
	for (size_t i = 0; i < run->row_count; i++) {
		struct sim_row *row = &run->rows[i];

		row->misses += row->policy->replay(run->policies[i],
		    run->requests, count);
		row->requests += count;
	}
}

static enum sim_outcome
replay_trace(struct run *run, struct trace_reader *reader,
    const atomic_bool *stop)
{
	bool first = true;

	for (;;) {
		ssize_t got = trace_read(reader, run->records, BATCH_RECORDS);
		size_t count = got > 0 ? (size_t)got : 0;

		if (got <= 0) {
			return got < 0 ? SIM_BAD_TRACE : SIM_DONE;
		}
		/* Relaxed: the flag stands alone and orders nothing. */
		if (stop != NULL && atomic_load_explicit(stop,
		    memory_order_relaxed)) {
			return SIM_STOPPED;
		}
		if (first && !create_policies(run,
		    guess_unit_bytes(run->records, count))) {
			return SIM_NO_MEMORY;
		}
		first = false;
		if (!number_batch(run, count) || !grow_policies(run)) {
			return SIM_NO_MEMORY;
		}
		replay_batch(run, count);
	}
}

enum sim_outcome
sim_run(struct trace_reader *reader, struct sim_row *rows, size_t row_count,
    const atomic_bool *stop)
{
	struct run *run = create_run(rows, row_count);
	enum sim_outcome outcome;

	if (run == NULL) {
		return SIM_NO_MEMORY;
	}
	for (size_t i = 0; i < row_count; i++) {
		rows[i].requests = 0;
		rows[i].misses = 0;
	}
	outcome = replay_trace(run, reader, stop);
	destroy_run(run);
	return outcome;
}
