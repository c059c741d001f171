/* SPDX-License-Identifier: ISC */

/*
 * Bytes on their way in or out of a connection: appended at the end, taken
 * from the front, in one piece of memory that is given back when it is empty.
 * Workers, each for its own connections.
 */
#ifndef BYTE_QUEUE_H
#define BYTE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty queue. */
struct byte_queue {
	uint8_t		*bytes;
	size_t		from;		/* first byte that waits */
	size_t		to;		/* behind the last */
	size_t		capacity;
};

static inline size_t
byte_queue_length(const struct byte_queue *queue)
{
	return queue->to - queue->from;
}

/* The first byte; valid until the next call that is not this one. */
static inline uint8_t *
byte_queue_front(const struct byte_queue *queue)
{
	return queue->bytes + queue->from;
}

/*
 * At least room bytes behind the end, for the caller to fill; then
 * byte_queue_filled().  NULL: no memory.
 */
uint8_t	*byte_queue_reserve(struct byte_queue *queue, size_t room);
void	byte_queue_filled(struct byte_queue *queue, size_t length);

/* False: no memory, nothing was appended. */
bool	byte_queue_append(struct byte_queue *queue, const void *bytes,
    size_t length);

/* The first length bytes are done with. */
void	byte_queue_take(struct byte_queue *queue, size_t length);

void	byte_queue_clear(struct byte_queue *queue);

#endif
