/* SPDX-License-Identifier: ISC */

/*
 * Records and lists of a flight table; see flight.h.  Records are input: a
 * number out of range ends a list, and a state that its place cannot have is
 * free at the next rebuild.
 */
#include "flight_records.h"

#include <string.h>

#define NOTE_PART	4	/* of the capacity, for each kind */

static uint32_t
notes_for(uint32_t capacity)
{
	return capacity < NOTE_PART ? 1 : capacity / NOTE_PART;
}

static uint32_t
head_count_for(uint32_t capacity)
{
	uint32_t heads = 16;

	while (heads < capacity) {
		heads *= 2;
	}
	return heads;
}

static uint32_t
record_count(const struct flight_table *table)
{
	return table->capacity + FLIGHT_NOTES * table->notes;
}

size_t
flight_bytes(uint32_t capacity)
{
	if (capacity == 0 || capacity > FLIGHT_CAPACITY_MAX) {
		return 0;
	}
	/* Record 0 does not exist; heads are a multiple of 64 bytes. */
	return sizeof(struct flight_state_words) + ((size_t)capacity +
	    FLIGHT_NOTES * (size_t)notes_for(capacity) + 1) *
	    sizeof(struct flight) +
	    (size_t)head_count_for(capacity) * sizeof(uint32_t);
}

void
flight_bind(struct flight_table *table, void *memory, uint32_t capacity)
{
	uint8_t *at = memory;

	table->capacity = capacity;
	table->notes = notes_for(capacity);
	table->head_count = head_count_for(capacity);
	table->state = (void *)at;
	at += sizeof(struct flight_state_words);
	table->flights = (void *)at;
	at += ((size_t)record_count(table) + 1) * sizeof(struct flight);
	table->heads = (void *)at;
}

static uint32_t *
head_of(const struct flight_table *table, uint64_t hash)
{
	return &table->heads[(hash * 0x9e3779b97f4a7c15ull >> 32) &
	    (table->head_count - 1)];
}

uint32_t
flight_first(const struct flight_table *table, uint64_t hash)
{
	return *head_of(table, hash);
}

bool
flight_is_of(const struct flight *flight, const struct flight_key *key)
{
	return flight->hash == key->hash &&
	    memcmp(flight->digest, key->digest, sizeof(key->digest)) == 0;
}

uint32_t
flight_find(const struct flight_table *table, const struct flight_key *key)
{
	uint32_t index = flight_first(table, key->hash);

	for (uint32_t i = record_count(table); i > 0; i--) {
		const struct flight *flight = flight_at(table, index);

		if (flight == NULL) {
			return 0;
		}
		if (flight->state != FLIGHT_ENDED &&
		    flight_is_of(flight, key)) {
			return index;
		}
		index = flight->next;
	}
	return 0;
}

static void
push(uint32_t *list, struct flight *flight, uint32_t index)
{
	flight->next = *list;
	*list = index;
}

/* Take a record out of its hash's list. */
static void
unhash(const struct flight_table *table, uint32_t index)
{
	uint32_t *link = head_of(table, table->flights[index].hash);

	for (uint32_t i = record_count(table); i > 0; i--) {
		struct flight *flight = flight_at(table, *link);

		if (flight == NULL) {
			return;
		}
		if (*link == index) {
			*link = flight->next;
			return;
		}
		link = &flight->next;
	}
}

static void
make(const struct flight_table *table, uint32_t index,
    const struct flight_key *key, enum flight_state state)
{
	struct flight *flight = &table->flights[index];

	memset(flight, 0, sizeof(*flight));
	memcpy(flight->digest, key->digest, sizeof(flight->digest));
	flight->hash = key->hash;
	flight->state = (uint8_t)state;
	push(head_of(table, key->hash), flight, index);
}

uint32_t
flight_allocate(const struct flight_table *table,
    const struct flight_key *key)
{
	uint32_t index = table->state->free_list;

	if (index - 1 >= table->capacity) {
		return 0;
	}
	table->state->free_list = table->flights[index].next;
	table->state->used++;
	make(table, index, key, FLIGHT_LEADING);
	return index;
}

void
flight_release(const struct flight_table *table, uint32_t index)
{
	struct flight *flight = flight_at(table, index);

	if (flight == NULL || flight->state == FLIGHT_FREE) {
		return;
	}
	unhash(table, index);
	memset(flight, 0, sizeof(*flight));
	if (index > table->capacity) {
		table->state->noted--;
		return;
	}
	push(&table->state->free_list, flight, index);
	table->state->used--;
}

struct flight *
flight_make_note(const struct flight_table *table,
    const struct flight_key *key, enum flight_note kind)
{
	uint32_t *ring = &table->state->ring[kind];
	uint32_t place = *ring % table->notes;
	uint32_t index = table->capacity + (uint32_t)kind * table->notes +
	    place + 1;

	*ring = place + 1;
	flight_release(table, index);
	table->state->noted++;
	make(table, index, key, kind == FLIGHT_NOTE_MARK ? FLIGHT_MARK :
	    FLIGHT_BACKOFF);
	return &table->flights[index];
}

/* What the place of a record allows it to be. */
static bool
state_fits(const struct flight_table *table, uint32_t index)
{
	const struct flight *flight = &table->flights[index];

	if (flight->token > table->state->last_token) {
		return false;
	}
	if (index > table->capacity + table->notes) {
		return flight->state == FLIGHT_MARK;
	}
	if (index > table->capacity) {
		return flight->state == FLIGHT_BACKOFF;
	}
	return flight->state == FLIGHT_OFFERED ||
	    (flight->state == FLIGHT_LEADING && flight->leader != 0) ||
	    (flight->state == FLIGHT_ENDED &&
	    flight->outcome < FLIGHT_OUTCOMES);
}

/* Its waiters look again; without any it is free. */
static void
end_unclear(struct flight *flight)
{
	flight->state = flight->waiting_workers == 0 ? FLIGHT_FREE :
	    FLIGHT_ENDED;
	flight->outcome = FLIGHT_LOOK_AGAIN;
	flight->filling = 0;
	flight->leader = 0;
}

/* Into its list, or free; numbers that do not go together are put right. */
static void
adopt(const struct flight_table *table, uint32_t index)
{
	struct flight *flight = &table->flights[index];
	uint32_t workers = (uint32_t)__builtin_popcountll(
	    flight->waiting_workers);
	struct flight_key key = { .hash = flight->hash };

	memcpy(key.digest, flight->digest, sizeof(key.digest));
	if (flight->waiters < workers || workers == 0) {
		flight->waiters = (uint16_t)workers;
	}
	if (!state_fits(table, index)) {
		flight->state = FLIGHT_FREE;
	} else if (index > table->capacity) {
		/* A note that became a flight was not yet taken away. */
		if (flight_find(table, &key) != 0) {
			flight->state = FLIGHT_FREE;
		}
	} else if (flight->filling != 0 || (flight->state != FLIGHT_ENDED &&
	    flight_find(table, &key) != 0) || (flight->state ==
	    FLIGHT_OFFERED && flight->waiting_workers == 0)) {
		end_unclear(flight);
	}
	if (flight->state == FLIGHT_ENDED && flight->waiting_workers == 0) {
		flight->state = FLIGHT_FREE;
	}
	if (flight->state == FLIGHT_FREE) {
		memset(flight, 0, sizeof(*flight));
		if (index <= table->capacity) {
			push(&table->state->free_list, flight, index);
		}
		return;
	}
	push(head_of(table, flight->hash), flight, index);
	if (index <= table->capacity) {
		table->state->used++;
	} else {
		table->state->noted++;
	}
}

void
flight_rebuild(const struct flight_table *table)
{
	struct flight_state_words *state = table->state;

	memset(table->heads, 0, (size_t)table->head_count * sizeof(uint32_t));
	state->free_list = 0;
	state->used = 0;
	state->noted = 0;
	/* The dead one may have handed out one more. */
	state->last_token++;
	for (uint32_t i = table->capacity; i >= 1; i--) {
		adopt(table, i);
	}
	for (uint32_t i = table->capacity + 1; i <= record_count(table);
	    i++) {
		adopt(table, i);
	}
}

void
flight_forget(const struct flight_table *table)
{
	/* Not the state words: a death here must not bring tokens back. */
	memset(table->flights, 0, ((size_t)record_count(table) + 1) *
	    sizeof(struct flight));
	flight_rebuild(table);
}

void
flight_init(const struct flight_table *table, uint64_t first_token)
{
	memset(table->state, 0, flight_bytes(table->capacity));
	table->state->last_token = first_token;
	flight_rebuild(table);
}

/* Faults of one record that is in use. */
static unsigned
verify_record(const struct flight_table *table, uint32_t index)
{
	const struct flight *flight = &table->flights[index];
	uint32_t workers = (uint32_t)__builtin_popcountll(
	    flight->waiting_workers);
	struct flight_key key = { .hash = flight->hash };
	unsigned faults = !state_fits(table, index);

	memcpy(key.digest, flight->digest, sizeof(key.digest));
	faults += flight->waiters < workers ||
	    (flight->waiters == 0) != (workers == 0);
	faults += flight->filling != 0;
	if (flight->state == FLIGHT_ENDED || flight->state ==
	    FLIGHT_OFFERED) {
		faults += workers == 0;
	}
	/* The only one that a newcomer meets. */
	if (flight->state != FLIGHT_ENDED) {
		faults += flight_find(table, &key) != index;
	}
	return faults;
}

unsigned
flight_verify(const struct flight_table *table)
{
	const struct flight_state_words *state = table->state;
	uint32_t used = 0, noted = 0, listed = 0, free_count = 0;
	uint32_t at = state->free_list;
	unsigned faults = 0;

	for (uint32_t i = 1; i <= record_count(table); i++) {
		if (table->flights[i].state == FLIGHT_FREE) {
			continue;
		}
		used += i <= table->capacity;
		noted += i > table->capacity;
		faults += verify_record(table, i);
	}
	for (uint32_t h = 0; h < table->head_count; h++) {
		for (uint32_t i = table->heads[h]; flight_at(table, i) !=
		    NULL && listed <= record_count(table);
		    i = table->flights[i].next) {
			listed++;
			faults += head_of(table, table->flights[i].hash) !=
			    &table->heads[h];
		}
	}
	for (; at - 1 < table->capacity && free_count <= table->capacity;
	    at = table->flights[at].next) {
		free_count++;
		faults += table->flights[at].state != FLIGHT_FREE;
	}
	faults += listed != used + noted;
	faults += used != state->used || noted != state->noted;
	faults += free_count + used != table->capacity;
	return faults;
}
