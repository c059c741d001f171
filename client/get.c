/* SPDX-License-Identifier: ISC */

/*
 * Reading by copy.
 */
#include "get.h"

#include "info.h"
#include "lease_send.h"

#include <stdlib.h>

/* A value that grows between a look and the copy of it. */
#define DUP_TRIES	8

void
get_fill_info(struct weir_info *info, const struct read_hit *hit,
    struct boot_ms now)
{
	if (info == NULL) {
		return;
	}
	info_fill(info, &hit->head, hit->version, now);
	info->value_bytes = hit->value_bytes;
	info->refreshing = (hit->slot_word & SLOT_REFRESH) != 0;
	info->invalid = hit->freshness == EPOCH_INVALID;
	info->negative = (hit->head.flags & ENTRY_NEGATIVE) != 0;
	info->cost_ms = hit->head.cost_ms;
	if (hit->freshness != EPOCH_ALIVE) {
		info->soft_ttl_ms = 0;
	}
}

static bool
was_found(int result)
{
	return result == OK || result == STALE;
}

/* Within reading_begin() and reading_end(). */
static int
copy_one(struct reading *reading, const void *key_bytes, size_t key_length,
    void *buffer, size_t size, struct read_hit *hit)
{
	uint8_t nowhere[1];
	struct key key;

	if (key_bytes == NULL || key_init(&key, &reading->lane->pool,
	    key_bytes, key_length) != OK) {
		return KEY_INVALID;
	}
	if (buffer == NULL) {
		buffer = nowhere;
		size = 0;
	}
	return (int)read_copy(&reading->lane->pool, &key, reading->now,
	    buffer, size, hit);
}

/* Within reading_begin() and reading_end(). */
static inline uint64_t
bypassed(const struct reading *reading)
{
	/* Relaxed: a hint to ask the daemon, which knows. */
	return atomic_load_explicit(&reading->lane->pool.header->bypassed,
	    memory_order_relaxed);
}

/* The parts of a get that are not the hit. */
static int
say_other(struct weir *handle, struct lane *lane, int result)
{
	switch (result) {
	case MISS:
		return reading_miss(handle, lane);
	case KEY_INVALID:
		return lane_fail(lane, result, "%s", result_text(KEY_INVALID));
	case TOO_LARGE:
		return lane_fail(lane, result, "the value is longer than the "
		    "buffer");
	default:
		return result;
	}
}

int
get_copy(struct weir *handle, const void *key, size_t key_length,
    void *buffer, size_t size, struct get_look *look)
{
	struct reading reading;
	int result = reading_begin(handle, &reading);
	bool found;

	look->negative = false;
	if (result != OK) {
		return result;
	}
	look->now = reading.now;
	result = copy_one(&reading, key, key_length, buffer, size,
	    &look->hit);
	look->lane = reading.lane;
	look->bypassed = bypassed(&reading);
	found = was_found(result);
	reading_end(handle, &reading, found ? &look->hit : NULL);
	if (__builtin_expect(!found, 0)) {
		return say_other(handle, reading.lane, result);
	}
	if (__builtin_expect((look->hit.head.flags & ENTRY_NEGATIVE) != 0,
	    0)) {
		look->negative = true;
		return MISS;
	}
	return result;
}

int
weir_get(struct weir *handle, const void *key, size_t key_length,
    void *buffer, size_t size, size_t *length, struct weir_info *info)
{
	struct get_look look;
	int result = get_copy(handle, key, key_length, buffer, size, &look);
	bool known;

	if (result == MISS && !look.negative && lease_settle(handle)) {
		result = get_copy(handle, key, key_length, buffer, size,
		    &look);
	}
	known = was_found(result) || result == TOO_LARGE || result == GROWING;
	if (length != NULL) {
		*length = known ? look.hit.value_bytes : 0;
	}
	if (known || look.negative) {
		get_fill_info(info, &look.hit, look.now);
	}
	return result;
}

int
weir_get_many(struct weir *handle, struct weir_get_item *items, size_t count)
{
	int first = WEIR_OK;

	for (size_t i = 0; i < count; i++) {
		struct weir_get_item *item = &items[i];

		item->result = weir_get(handle, item->key, item->key_length,
		    item->buffer, item->size, &item->length, NULL);
		if (item->result < 0 && first == WEIR_OK) {
			first = item->result;
		}
	}
	return first;
}

/* The length of the value now, as of read_peek(). */
static int
look_up(struct reading *reading, const void *key_bytes, size_t key_length,
    struct read_hit *hit)
{
	struct key key;
	int result;

	if (key_bytes == NULL || key_init(&key, &reading->lane->pool,
	    key_bytes, key_length) != OK) {
		return KEY_INVALID;
	}
	result = (int)read_peek(&reading->lane->pool, &key, reading->now,
	    hit);
	if (!was_found(result)) {
		/* A found one is counted when it was copied. */
		(void)read_count(&reading->lane->pool, (enum result)result);
	}
	return result;
}

/* *value is the caller's once the result says found. */
static int
copy_to_heap(struct reading *reading, const void *key, size_t key_length,
    void **value, struct read_hit *hit)
{
	int result = look_up(reading, key, key_length, hit);
	uint8_t *copy = NULL;

	for (int tries = 0; was_found(result) && tries < DUP_TRIES; tries++) {
		size_t bytes = hit->value_bytes;
		uint8_t *larger = realloc(copy, bytes + 1);

		if (larger == NULL) {
			result = NO_MEMORY;
			break;
		}
		copy = larger;
		result = copy_one(reading, key, key_length, copy, bytes, hit);
		if (was_found(result)) {
			copy[hit->value_bytes] = 0;
			*value = copy;
			return result;
		}
		if (result == TOO_LARGE) {
			/* Replaced by a longer one: once more. */
			result = tries < DUP_TRIES - 1 ? OK : MISS;
		}
	}
	free(copy);
	return result;
}

int
get_dup(struct weir *handle, const void *key, size_t key_length,
    void **value, struct get_look *look)
{
	struct reading reading;
	int result = reading_begin(handle, &reading);
	bool found;

	*value = NULL;
	look->negative = false;
	if (result != OK) {
		return result;
	}
	look->now = reading.now;
	result = copy_to_heap(&reading, key, key_length, value, &look->hit);
	look->lane = reading.lane;
	look->bypassed = bypassed(&reading);
	found = was_found(result);
	reading_end(handle, &reading, found ? &look->hit : NULL);
	if (!found) {
		return say_other(handle, reading.lane, result);
	}
	if ((look->hit.head.flags & ENTRY_NEGATIVE) != 0) {
		free(*value);
		*value = NULL;
		look->negative = true;
		return MISS;
	}
	return result;
}

int
weir_get_dup(struct weir *handle, const void *key, size_t key_length,
    void **value, size_t *length, struct weir_info *info)
{
	struct get_look look;
	int result = get_dup(handle, key, key_length, value, &look);

	if (result == MISS && !look.negative && lease_settle(handle)) {
		result = get_dup(handle, key, key_length, value, &look);
	}
	if (length != NULL) {
		*length = was_found(result) ? look.hit.value_bytes : 0;
	}
	if (was_found(result) || look.negative) {
		get_fill_info(info, &look.hit, look.now);
	}
	return result;
}
