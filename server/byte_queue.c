/* SPDX-License-Identifier: ISC */

/*
 * The queue grows by doubling and moves its bytes to the front rather than
 * grow, so that it is as large as what once waited in it.
 */
#include "byte_queue.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_FIRST_BYTES	512u

uint8_t *
byte_queue_reserve(struct byte_queue *queue, size_t room)
{
	size_t length = byte_queue_length(queue);
	size_t capacity = queue->capacity;
	uint8_t *bytes;

	if (capacity - queue->to >= room && queue->bytes != NULL) {
		return queue->bytes + queue->to;
	}
	if (room > SIZE_MAX / 4 - length) {
		return NULL;
	}
	if (queue->from > 0) {
		memmove(queue->bytes, queue->bytes + queue->from, length);
		queue->from = 0;
		queue->to = length;
	}
	if (capacity - length < room || queue->bytes == NULL) {
		if (capacity == 0) {
			capacity = length + room < QUEUE_FIRST_BYTES ?
			    QUEUE_FIRST_BYTES : length + room;
		}
		while (capacity - length < room) {
			capacity *= 2;
		}
		bytes = realloc(queue->bytes, capacity);
		if (bytes == NULL) {
			return NULL;
		}
		queue->bytes = bytes;
		queue->capacity = capacity;
	}
	return queue->bytes + queue->to;
}

void
byte_queue_filled(struct byte_queue *queue, size_t length)
{
	queue->to += length;
}

bool
byte_queue_append(struct byte_queue *queue, const void *bytes, size_t length)
{
	uint8_t *at = byte_queue_reserve(queue, length);

	if (at == NULL) {
		return false;
	}
	if (length > 0) {
		memcpy(at, bytes, length);
	}
	queue->to += length;
	return true;
}

void
byte_queue_take(struct byte_queue *queue, size_t length)
{
	queue->from += length;
	if (queue->from >= queue->to) {
		byte_queue_clear(queue);
	}
}

void
byte_queue_clear(struct byte_queue *queue)
{
	free(queue->bytes);
	memset(queue, 0, sizeof(*queue));
}
