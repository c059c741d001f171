/* SPDX-License-Identifier: ISC */

/*
 * Going over all flights of a table: after deaths, and once a second.
 */
#include "flight.h"

#include "flight_records.h"

/* Its leader is lost, or the one that it was offered to. */
static bool
is_stranded(const struct flight *flight, uint64_t dead_workers,
    const struct flight_scene *scene)
{
	if (flight->state == FLIGHT_OFFERED) {
		return scene->now.ms >= flight->deadline_ms ||
		    flight->waiting_workers == 0 ||
		    (dead_workers >> (flight->offered_worker & 63) & 1) != 0;
	}
	return flight_leader_lost(flight, scene);
}

/* Workers that died have no waiters any more. */
static void
forget_workers(struct flight *flight, uint64_t dead_workers)
{
	uint32_t workers;

	if ((flight->waiting_workers & dead_workers) == 0) {
		return;
	}
	flight->waiting_workers &= ~dead_workers;
	workers = (uint32_t)__builtin_popcountll(flight->waiting_workers);
	if (workers == 0 || flight->waiters < workers) {
		flight->waiters = (uint16_t)workers;
	}
}

static void
sweep_flights(const struct flight_table *table, uint64_t dead_workers,
    const struct flight_scene *scene, flight_swept_fn fn, void *arg)
{
	for (uint32_t i = 1; i <= table->capacity; i++) {
		struct flight *flight = &table->flights[i];
		uint64_t tell, hash = flight->hash;

		if (flight->state == FLIGHT_FREE) {
			continue;
		}
		forget_workers(flight, dead_workers);
		if (flight->state == FLIGHT_ENDED) {
			if (flight->waiting_workers == 0) {
				flight_release(table, i);
			}
		} else if (is_stranded(flight, dead_workers, scene)) {
			tell = flight_hand_over(table, i, UINT32_MAX,
			    scene->now);
			fn(arg, i, hash, tell, flight->state !=
			    FLIGHT_OFFERED);
		}
	}
}

static void
sweep_notes(const struct flight_table *table, struct boot_ms now)
{
	for (uint32_t i = table->capacity + 1;
	    i <= table->capacity + FLIGHT_NOTES * table->notes; i++) {
		const struct flight *note = &table->flights[i];
		/* Failures in a row are remembered for as long again. */
		uint64_t on_ms = note->state == FLIGHT_BACKOFF ?
		    FLIGHT_BACKOFF_MAX_MS : 0;

		if (note->state != FLIGHT_FREE &&
		    now.ms >= note->deadline_ms + on_ms) {
			flight_release(table, i);
		}
	}
}

void
flight_sweep(const struct flight_table *table, uint64_t dead_workers,
    const struct flight_scene *scene, flight_swept_fn fn, void *arg)
{
	if (table->state->used != 0) {
		sweep_flights(table, dead_workers, scene, fn, arg);
	}
	if (table->state->noted != 0) {
		sweep_notes(table, scene->now);
	}
}

void
flight_keep_known(const struct flight_table *table, uint64_t holder,
    uint32_t worker, flight_knows_fn knows, void *knower, struct boot_ms now,
    flight_swept_fn fn, void *arg)
{
	uint32_t used = table->state->used;

	/* Free records are taken from the front: the rest is mostly free. */
	for (uint32_t i = 1; i <= table->capacity && used > 0; i++) {
		struct flight *flight = &table->flights[i];
		uint64_t tell, hash = flight->hash;

		if (flight->state == FLIGHT_FREE) {
			continue;
		}
		used--;
		if (flight->state != FLIGHT_LEADING ||
		    flight->leader != holder ||
		    knows(knower, flight->token)) {
			continue;
		}
		tell = flight_hand_over(table, i, worker, now);
		fn(arg, i, hash, tell, flight->state != FLIGHT_OFFERED);
	}
}
