/* SPDX-License-Identifier: ISC */

/*
 * What origin.h and lease.h ask of the daemon around them.
 */
#include "worker_doors.h"

#include "holder.h"
#include "origin_log.h"
#include "origin_modes.h"
#include "permit_file.h"
#include "worker.h"

static bool
holder_gone(void *arg, uint64_t holder)
{
	const struct worker *worker = arg;

	return holder_is_dead(worker->control, holder);
}

static bool
worker_gone(void *arg, uint64_t word)
{
	const struct worker *worker = arg;

	return holder_worker_is_dead(worker->control, word);
}

/* Whose permit it is, in words that outlive the daemon. */
static bool
describe_caller(void *arg, uint64_t owner, struct origin_caller *caller)
{
	const struct worker *worker = arg;
	const struct control_client *row = holder_row(worker->control,
	    owner);

	if (row == NULL) {
		return false;
	}
	/* Relaxed: what never changes while the holder is the same. */
	caller->pid = atomic_load_explicit(&row->pid, memory_order_relaxed);
	caller->uid = atomic_load_explicit(&row->uid, memory_order_relaxed);
	caller->gid = atomic_load_explicit(&row->gid, memory_order_relaxed);
	caller->pool = atomic_load_explicit(&row->pool,
	    memory_order_relaxed);
	caller->started = atomic_load_explicit(&row->started,
	    memory_order_relaxed);
	caller->secret = atomic_load_explicit(&row->secret,
	    memory_order_relaxed);
	return true;
}

static void
tell_origin(void *arg, uint32_t origin, uint64_t workers)
{
	struct worker *worker = arg;

	wake_origin(&worker->wake, origin, workers);
}

static void
tell_flight(void *arg, const struct pool *pool, uint32_t shard,
    uint32_t flight, uint64_t workers)
{
	struct worker *worker = arg;

	wake_flight(&worker->wake, pool, shard, flight, workers);
}

static bool
bind_origins(struct worker *worker)
{
	const struct origin_door door = {
		.dead = holder_gone,
		.worker_dead = worker_gone,
		.tell = tell_origin,
		.arg = worker,
	};
	struct control *control = worker->control;
	struct origin_ledger ledger = {
		.caller = describe_caller,
		.arg = worker,
	};

	if (control->origin_count > ORIGINS_MAX) {
		return false;
	}
	for (uint32_t i = 0; i < control->origin_count; i++) {
		uint64_t at = control->origin_offsets[i];

		if (at >= control->bytes || !origin_bind(&worker->origins[i],
		    (uint8_t *)control + at, control->bytes - at, i, &door)) {
			return false;
		}
		if (permit_file_ledger(worker->heritage->permits, i,
		    &ledger) && !origin_keep_ledger(&worker->origins[i],
		    &ledger)) {
			return false;
		}
	}
	worker->origin_count = control->origin_count;
	return true;
}

bool
worker_doors_open(struct worker *worker)
{
	const struct heritage *heritage = worker->heritage;
	struct boot_ms now = clock_boot_now();

	worker->wake.heritage = worker->heritage;
	worker->lease_door.dead = holder_gone;
	worker->lease_door.tell = tell_flight;
	worker->lease_door.arg = worker;
	for (uint32_t p = 0; p < heritage->config.pool_count; p++) {
		const struct pool *pool = &heritage->pools[p];

		for (uint32_t s = 0; s < pool->g.shard_count; s++) {
			/* Nobody waits here yet: the bit is the dead one's. */
			(void)lease_sweep(pool, &worker->lease_door, s,
			    1ull << heritage->process, now);
		}
	}
	return bind_origins(worker);
}

/*
 * Dealt out, as in maintenance.c; those of a worker that waits for its restart
 * are looked at by all the others.
 */
static bool
is_dealt_to(const struct worker *worker, uint32_t number)
{
	const struct heritage *heritage = worker->heritage;
	uint32_t whose = number % heritage->config.workers;

	/* Relaxed: too early or late costs a look. */
	return whose == heritage->process || atomic_load_explicit(
	    &worker->control->processes[whose].state,
	    memory_order_relaxed) == PROCESS_DEAD;
}

void
worker_doors_tick(struct worker *worker, struct boot_ms now)
{
	const struct heritage *heritage = worker->heritage;

	origin_modes_publish(heritage, worker->origins, worker->origin_count,
	    now);
	for (uint32_t i = 0; i < worker->origin_count; i++) {
		unsigned events = 0;

		if (!is_dealt_to(worker, i)) {
			continue;
		}
		(void)origin_sweep(&worker->origins[i], now, &events);
		origin_log_events(&worker->origins[i], events, now);
	}
	for (uint32_t p = 0; p < heritage->config.pool_count; p++) {
		const struct pool *pool = &heritage->pools[p];

		for (uint32_t s = 0; s < pool->g.shard_count; s++) {
			if (is_dealt_to(worker, s)) {
				(void)lease_sweep(pool, &worker->lease_door,
				    s, 0, now);
			}
		}
	}
}
