/* SPDX-License-Identifier: ISC */

/*
 * How flights end or change hands, and what they leave behind; see flight.h.
 */
#include "flight.h"

#include <string.h>

#include "fault.h"
#include "flight_records.h"

#define FAILURES_MAX	UINT8_MAX

bool
flight_leader_lost(const struct flight *flight,
    const struct flight_scene *scene)
{
	return scene->now.ms >= flight->deadline_ms ||
	    (scene->dead != NULL && !FAULT(flight_no_handover) &&
	    scene->dead(scene->arg, flight->leader));
}

enum result
flight_check(const struct flight_table *table, const struct flight_key *key,
    uint64_t token, uint64_t holder, struct boot_ms now, uint32_t *index)
{
	const struct flight *flight;

	*index = flight_find(table, key);
	flight = flight_at(table, *index);
	if (flight == NULL || flight->state != FLIGHT_LEADING) {
		return LEASE_LOST;
	}
	if ((flight->token != token || flight->leader != holder ||
	    now.ms >= flight->deadline_ms) && !FAULT(flight_ignores_token)) {
		return LEASE_LOST;
	}
	return OK;
}

static uint64_t
back_off_until(uint32_t back_off_ms, uint32_t failures, uint64_t jitter,
    struct boot_ms now)
{
	uint64_t ms = back_off_ms;

	for (uint32_t i = 1; i < failures && ms < FLIGHT_BACKOFF_MAX_MS; i++) {
		ms *= 2;
	}
	if (ms > FLIGHT_BACKOFF_MAX_MS) {
		ms = FLIGHT_BACKOFF_MAX_MS;
	}
	/* Between half and all of it. */
	return now.ms + ms - jitter % (ms / 2 + 1);
}

static struct flight_key
key_of(const struct flight *flight)
{
	struct flight_key key = { .hash = flight->hash };

	memcpy(key.digest, flight->digest, sizeof(key.digest));
	return key;
}

/* A back-off that ends at until_ms; what failed before is remembered on. */
static void
note_failures(const struct flight_table *table, const struct flight *flight,
    uint8_t failures, int32_t code, uint64_t until_ms)
{
	struct flight_key key = key_of(flight);
	struct flight *note = flight_make_note(table, &key,
	    FLIGHT_NOTE_BACKOFF);

	note->failures = failures;
	note->code = code;
	note->deadline_ms = until_ms;
}

/* Neither success nor failure came of it: failures before it still count. */
static void
keep_failures(const struct flight_table *table, const struct flight *flight,
    struct boot_ms now)
{
	if (flight->failures != 0) {
		note_failures(table, flight, flight->failures, flight->code,
		    now.ms);
	}
}

static void
note_mark(const struct flight_table *table, const struct flight *flight,
    uint32_t mark_ms, struct boot_ms now)
{
	struct flight_key key = key_of(flight);
	struct flight *note = flight_make_note(table, &key, FLIGHT_NOTE_MARK);

	note->deadline_ms = now.ms + (mark_ms < FLIGHT_MARK_MAX_MS ? mark_ms :
	    FLIGHT_MARK_MAX_MS);
}

/* ENDED while workers have to look; then, or without any, FREE. */
static uint64_t
land(const struct flight_table *table, uint32_t index)
{
	struct flight *flight = &table->flights[index];
	uint64_t tell = flight->waiting_workers;

	flight->leader = 0;
	flight->filling = 0;
	if (tell == 0) {
		flight_release(table, index);
		return 0;
	}
	flight->state = FLIGHT_ENDED;
	return tell;
}

uint64_t
flight_end(const struct flight_table *table, uint32_t index,
    const struct flight_ending *ending, uint64_t jitter, struct boot_ms now)
{
	struct flight *flight = &table->flights[index];
	uint32_t failures = flight->failures < FAILURES_MAX ?
	    flight->failures + 1u : FAILURES_MAX;
	uint64_t until_ms;

	flight->outcome = flight->touched != 0 ? FLIGHT_LOOK_AGAIN :
	    (uint8_t)ending->outcome;
	flight->code = ending->code;
	flight->retry_after_ms = ending->retry_after_ms;
	switch (ending->outcome) {
	case FLIGHT_FAILED:
		if (ending->back_off_ms != 0) {
			until_ms = back_off_until(ending->back_off_ms,
			    failures, jitter, now);
			flight->retry_after_ms = (uint32_t)(until_ms -
			    now.ms);
			note_failures(table, flight, (uint8_t)failures,
			    ending->code, until_ms);
		}
		break;
	case FLIGHT_UNCACHEABLE:
		if (ending->mark_ms != 0) {
			note_mark(table, flight, ending->mark_ms, now);
		}
		break;
	case FLIGHT_SHED:
	case FLIGHT_OPEN:
		keep_failures(table, flight, now);
		break;
	default:
		break;
	}
	return land(table, index);
}

uint32_t
flight_filling(const struct flight_table *table, uint64_t hash,
    uint64_t token)
{
	uint32_t index = flight_first(table, hash);

	for (uint32_t i = table->capacity; i > 0; i--) {
		const struct flight *flight = flight_at(table, index);

		if (flight == NULL) {
			return 0;
		}
		if (flight->filling != 0 && flight->hash == hash &&
		    (flight->token == token || FAULT(flight_ignores_token))) {
			return index;
		}
		index = flight->next;
	}
	return 0;
}

uint8_t
flight_next_worker(uint64_t workers, uint32_t after)
{
	uint64_t above = after >= 63 ? 0 : workers & (~0ull << (after + 1));

	return (uint8_t)__builtin_ctzll(above != 0 ? above : workers);
}

uint64_t
flight_hand_over(const struct flight_table *table, uint32_t index,
    uint32_t worker, struct boot_ms now)
{
	struct flight *flight = &table->flights[index];
	uint64_t workers = flight->waiting_workers;

	if (workers == 0 || flight->touched != 0) {
		/* Something newer than what was to be computed is there. */
		flight->outcome = FLIGHT_LOOK_AGAIN;
		if (flight->touched == 0) {
			keep_failures(table, flight, now);
		}
		return land(table, index);
	}
	if (worker < 64 && (workers >> worker & 1) != 0) {
		flight->offered_worker = (uint8_t)worker;
	} else if (FAULT(flight_offered_to_nobody)) {
		flight->offered_worker = flight_next_worker(~workers, 63);
	} else {
		flight->offered_worker = flight_next_worker(workers,
		    flight->state == FLIGHT_OFFERED ?
		    flight->offered_worker : 63);
	}
	flight->leader = 0;
	flight->deadline_ms = now.ms + FLIGHT_OFFER_MS;
	flight->state = FLIGHT_OFFERED;
	/* All are told: whoever looks after the offer lapsed may take it. */
	return workers;
}
