/* SPDX-License-Identifier: ISC */

/*
 * The records of a flight table: their lists by hash, the free list, the
 * rings of notes.  For the files of flights alone, under the shard's lock.
 */
#ifndef FLIGHT_RECORDS_H
#define FLIGHT_RECORDS_H

#include "flight.h"

/* The record of that number, NULL if there is none such. */
static inline struct flight *
flight_at(const struct flight_table *table, uint32_t index)
{
	return index - 1 < table->capacity + FLIGHT_NOTES * table->notes ?
	    &table->flights[index] : NULL;
}

/* The first record of a hash's list, 0 none; the next is in ->next. */
uint32_t flight_first(const struct flight_table *table, uint64_t hash);

/* The record of a key that a newcomer meets; 0 if there is none. */
uint32_t flight_find(const struct flight_table *table,
    const struct flight_key *key);

bool	flight_is_of(const struct flight *flight,
    const struct flight_key *key);

/* A free record for a flight of that key, in its list; 0 if none is free. */
uint32_t flight_allocate(const struct flight_table *table,
    const struct flight_key *key);

/* A flight or a note goes. */
void	flight_release(const struct flight_table *table, uint32_t index);

/* Leave a note of that key in the place of the oldest one of the kind. */
struct flight *flight_make_note(const struct flight_table *table,
    const struct flight_key *key, enum flight_note kind);

/* The leader's time is over, or its process. */
bool	flight_leader_lost(const struct flight *flight,
    const struct flight_scene *scene);

/* The next worker after that one, going round; workers is not 0. */
uint8_t	flight_next_worker(uint64_t workers, uint32_t after);

#endif
