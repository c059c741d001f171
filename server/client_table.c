/* SPDX-License-Identifier: ISC */

/*
 * Rows of the client table.
 */
#include "client_table.h"

bool
client_table_in_use(const struct control *control,
    const struct control_client *row)
{
	/* Acquire: pairs with the release in client_table_claim(). */
	uint32_t worker = atomic_load_explicit(&row->worker,
	    memory_order_acquire);

	if (worker == 0 || worker > control->worker_count ||
	    worker > WORKERS_MAX) {
		return false;
	}
	/* Relaxed: a death that is not seen yet is seen at the next look. */
	return atomic_load_explicit(&row->incarnation,
	    memory_order_relaxed) >= atomic_load_explicit(
	    &control->processes[worker - 1].incarnation,
	    memory_order_relaxed);
}

uint32_t
client_table_count(const struct control *control)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < control->client_capacity; i++) {
		count += client_table_in_use(control, &control->clients[i]);
	}
	return count;
}

/* Relaxed throughout: published by the worker word that comes after. */
static void
fill_row(struct control_client *row, uint64_t incarnation,
    const struct peer *peer, uint32_t pool, struct boot_ms now)
{
	atomic_store_explicit(&row->pid, (uint32_t)peer->pid,
	    memory_order_relaxed);
	atomic_store_explicit(&row->incarnation, incarnation,
	    memory_order_relaxed);
	atomic_store_explicit(&row->uid, peer->uid, memory_order_relaxed);
	atomic_store_explicit(&row->gid, peer->gid, memory_order_relaxed);
	atomic_store_explicit(&row->pool, pool, memory_order_relaxed);
	atomic_store_explicit(&row->ring_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&row->since_ms, now.ms, memory_order_relaxed);
	atomic_store_explicit(&row->requests, 0, memory_order_relaxed);
	atomic_store_explicit(&row->ring_records, 0, memory_order_relaxed);
	atomic_store_explicit(&row->hits, 0, memory_order_relaxed);
	atomic_store_explicit(&row->misses, 0, memory_order_relaxed);
	atomic_store_explicit(&row->stale, 0, memory_order_relaxed);
}

enum result
client_table_claim(struct control *control, uint32_t process,
    uint64_t incarnation, const struct peer *peer, uint32_t pool,
    struct boot_ms now, struct control_client **row)
{
	enum result result = FULL;

	switch (lock_acquire(&control->clients_lock, LOCK_TIMEOUT_MS)) {
	case LOCK_HELD:
		break;
	case LOCK_HELD_OWNER_DIED:
		/* One word says it all: a half-made row is a free one. */
		lock_mark_consistent(&control->clients_lock);
		break;
	default:
		return BUSY;
	}
	for (uint32_t i = 0; i < control->client_capacity; i++) {
		struct control_client *at = &control->clients[i];

		if (client_table_in_use(control, at)) {
			continue;
		}
		/* Relaxed: a dead worker's row, or free; under the lock. */
		atomic_store_explicit(&at->worker, 0, memory_order_relaxed);
		fill_row(at, incarnation, peer, pool, now);
		/* Release: pairs with client_table_in_use(). */
		atomic_store_explicit(&at->worker, process + 1,
		    memory_order_release);
		*row = at;
		result = OK;
		break;
	}
	lock_release(&control->clients_lock);
	return result;
}

void
client_table_release(struct control_client *row)
{
	/* Release: the row's last counts before it is another's. */
	atomic_store_explicit(&row->worker, 0, memory_order_release);
}
