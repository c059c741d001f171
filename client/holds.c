/* SPDX-License-Identifier: ISC */

/*
 * Rows, in no order: there are few, and a claim asks for all.
 */
#include "holds.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MIN	16u

static bool
is_same(const struct wire_hold *one, const struct wire_hold *other)
{
	return one->token == other->token &&
	    one->permit.token == other->permit.token &&
	    one->permit.number == other->permit.number &&
	    one->permit.origin == other->permit.origin;
}

static struct hold *
find(const struct holds *holds, const struct wire_hold *given)
{
	for (uint32_t i = 0; i < holds->count; i++) {
		if (is_same(&holds->rows[i].given, given)) {
			return &holds->rows[i];
		}
	}
	return NULL;
}

static void
drop(struct holds *holds, struct hold *row)
{
	*row = holds->rows[--holds->count];
}

/* Callers that never end what they got must not crowd the others out. */
static void
drop_late(struct holds *holds, uint64_t now_ms)
{
	for (uint32_t i = holds->count; i > 0; i--) {
		if (holds->rows[i - 1].until_ms <= now_ms) {
			drop(holds, &holds->rows[i - 1]);
		}
	}
}

static bool
make_room(struct holds *holds, uint64_t now_ms)
{
	uint32_t capacity = holds->capacity == 0 ? ROWS_MIN :
	    holds->capacity * 2;
	struct hold *rows;

	if (holds->count < holds->capacity) {
		return true;
	}
	if (capacity > WIRE_HOLDS_MAX) {
		capacity = WIRE_HOLDS_MAX;
	}
	if (holds->capacity < capacity) {
		rows = realloc(holds->rows, capacity * sizeof(*rows));
		if (rows != NULL) {
			holds->rows = rows;
			holds->capacity = capacity;
			return true;
		}
	}
	drop_late(holds, now_ms);
	return holds->count < holds->capacity;
}

void
holds_note(struct holds *holds, const struct wire_lease_answer *answer,
    uint64_t now_ms)
{
	if (answer->token == 0 && answer->permit.number == 0) {
		return;
	}
	if (!make_room(holds, now_ms)) {
		holds->unsure = true;
		return;
	}
	holds->rows[holds->count++] = (struct hold){
		.given = { answer->permit, answer->token },
		.until_ms = answer->left_ms < UINT64_MAX - now_ms ?
		    now_ms + answer->left_ms : UINT64_MAX,
	};
}

void
holds_ending(struct holds *holds, const struct wire_hold *given, uint64_t id)
{
	struct hold *row = find(holds, given);

	if (row != NULL) {
		row->ending_id = id;
	}
}

void
holds_ended(struct holds *holds, const struct wire_hold *given)
{
	struct hold *row = find(holds, given);

	if (row != NULL) {
		drop(holds, row);
	}
}

void
holds_given_up(struct holds *holds, const struct wire_hold *given)
{
	struct hold *row = find(holds, given);

	if (row != NULL) {
		drop(holds, row);
		holds->lost = true;
	}
}

void
holds_not_ended(struct holds *holds, const struct wire_hold *given,
    uint64_t id)
{
	struct hold *row = find(holds, given);

	if (row != NULL && row->ending_id == id) {
		drop(holds, row);
		holds->lost = true;
	}
}

enum result
holds_encode(const struct holds *holds, uint8_t **bytes, size_t *length)
{
	*length = (size_t)holds->count * WIRE_HOLD_BYTES;
	*bytes = holds->unsure ? NULL : malloc(*length > 0 ? *length : 1);
	if (*bytes == NULL) {
		return MISS;
	}
	for (uint32_t i = 0; i < holds->count; i++) {
		wire_hold_encode(*bytes + (size_t)i * WIRE_HOLD_BYTES,
		    &holds->rows[i].given);
	}
	return OK;
}

void
holds_clear(struct holds *holds)
{
	holds->count = 0;
	holds->unsure = false;
	holds->lost = false;
}

void
holds_free(struct holds *holds)
{
	free(holds->rows);
	memset(holds, 0, sizeof(*holds));
}
