/* SPDX-License-Identifier: ISC */

/*
 * Permits and the rows of those who hold them.
 */
#include "permit_restore.h"

#include "client_table.h"
#include "holder.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>

struct restore {
	struct control	*control;
	struct permit_file_head *file;
	struct boot_ms	now;
	bool		same_pids;	/* numbers of processes mean the same */
	bool		same_origins;	/* a permit's number of its origin */
	struct permit_file_counts *counts;
};

static bool
holder_gone(void *arg, uint64_t holder)
{
	return holder_is_dead(arg, holder);
}

/* False: not there as it was made. */
static bool
bind_origin(const struct restore *restore, uint32_t index,
    struct origin *origin)
{
	const struct origin_door door = {
		.dead = holder_gone,
		.arg = restore->control,
	};
	struct origin_ledger ledger = { .arg = NULL };
	struct control *control = restore->control;
	uint64_t at = control->origin_offsets[index];

	return at < control->bytes && origin_bind(origin,
	    (uint8_t *)control + at, control->bytes - at, index, &door) &&
	    permit_file_ledger(restore->file, index, &ledger) &&
	    origin_keep_ledger(origin, &ledger);
}

/* ORIGINS_MAX: there is none of that name now. */
static uint32_t
find_origin(const struct permit_file_head *file, const char *name)
{
	for (uint32_t i = 0; i < file->origin_count; i++) {
		if (strcmp(file->origins[i].name, name) == 0) {
			return i;
		}
	}
	return ORIGINS_MAX;
}

static bool
is_gone(const struct restore *restore, const struct origin_caller *caller)
{
	uint64_t started;

	if (!restore->same_pids || caller->pid == 0 ||
	    caller->pid > INT32_MAX) {
		return false;
	}
	if (kill((pid_t)caller->pid, 0) < 0 && errno == ESRCH) {
		return true;
	}
	started = client_table_start_time((pid_t)caller->pid);
	return caller->started != 0 && started != 0 &&
	    started != caller->started;
}

/*
 * Relaxed throughout: no other process has the segment yet.  An incarnation
 * of 0 is that of no worker: the row is an orphan's, and adopted.
 */
static void
make_row(const struct restore *restore, struct control_client *row,
    uint64_t generation, const struct origin_caller *caller)
{
	uint64_t secret = caller->secret;

	if (!restore->same_origins) {
		/* A claimed permit would be given back to another origin. */
		randombytes_buf(&secret, sizeof(secret));
	}
	atomic_store_explicit(&row->pid, restore->same_pids ? caller->pid :
	    0, memory_order_relaxed);
	atomic_store_explicit(&row->incarnation, 0, memory_order_relaxed);
	atomic_store_explicit(&row->uid, caller->uid, memory_order_relaxed);
	atomic_store_explicit(&row->gid, caller->gid, memory_order_relaxed);
	atomic_store_explicit(&row->pool, caller->pool,
	    memory_order_relaxed);
	atomic_store_explicit(&row->since_ms, restore->now.ms,
	    memory_order_relaxed);
	atomic_store_explicit(&row->generation, generation,
	    memory_order_relaxed);
	atomic_store_explicit(&row->secret, secret, memory_order_relaxed);
	atomic_store_explicit(&row->started, caller->started,
	    memory_order_relaxed);
	atomic_store_explicit(&row->worker, 1, memory_order_relaxed);
}

/* Its holder lives, as an orphan.  False: the table has no such row. */
static bool
seat(const struct restore *restore, const struct origin_ledger_entry *entry)
{
	struct control_client *row;
	uint64_t generation;
	uint32_t number;

	if (!holder_is_dead(restore->control, entry->owner)) {
		return true;
	}
	if (!holder_split(entry->owner, &number, &generation) ||
	    number >= restore->control->client_capacity ||
	    entry->caller.pool >= CONFIG_POOLS_MAX) {
		return false;
	}
	row = &restore->control->clients[number];
	if (client_table_taken(row)) {
		return false;
	}
	make_row(restore, row, generation, &entry->caller);
	return true;
}

static void
restore_one(const struct restore *restore, struct origin *origin,
    bool upload, uint32_t number, const struct origin_ledger_entry *entry)
{
	struct permit_file_counts *counts = restore->counts;

	if (entry->token == 0) {
		return;
	}
	if (entry->deadline_ms <= restore->now.ms ||
	    is_gone(restore, &entry->caller)) {
		counts->over++;
	} else if (seat(restore, entry) && origin_restore(origin, upload,
	    number, entry, restore->now) == OK) {
		counts->restored++;
	} else {
		counts->refused++;
	}
}

static void
restore_origin(const struct restore *restore, struct permit_file_head *old,
    uint32_t index)
{
	uint32_t now_index = find_origin(restore->file,
	    old->origins[index].name);
	struct origin_ledger ledger = { .arg = NULL };
	struct origin origin;

	(void)permit_file_ledger(old, index, &ledger);
	if (now_index == ORIGINS_MAX ||
	    !bind_origin(restore, now_index, &origin)) {
		for (uint32_t i = 0; i < ledger.call_count +
		    ledger.upload_count; i++) {
			restore->counts->refused +=
			    ledger.calls[i].token != 0;
		}
		return;
	}
	for (uint32_t i = 0; i < ledger.call_count; i++) {
		restore_one(restore, &origin, false, i + 1,
		    &ledger.calls[i]);
	}
	for (uint32_t i = 0; i < ledger.upload_count; i++) {
		restore_one(restore, &origin, true, i + 1,
		    &ledger.uploads[i]);
	}
	(void)origin_restored(&origin, restore->now);
}

/* As many, of the same names, in the same order. */
static bool
have_same_origins(const struct permit_file_head *old,
    const struct permit_file_head *file)
{
	for (uint32_t i = 0; i < old->origin_count; i++) {
		if (find_origin(file, old->origins[i].name) != i) {
			return false;
		}
	}
	return true;
}

void
permit_restore(struct permit_file_head *old, struct permit_file_head *file,
    struct control *control, struct boot_ms now,
    struct permit_file_counts *counts)
{
	struct restore restore = {
		.control = control,
		.file = file,
		.now = now,
		.same_pids = old->pid_space != 0 &&
		    old->pid_space == file->pid_space,
		.same_origins = have_same_origins(old, file),
		.counts = counts,
	};

	for (uint32_t i = 0; i < old->origin_count; i++) {
		restore_origin(&restore, old, i);
	}
}
