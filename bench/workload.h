/* SPDX-License-Identifier: ISC */

/*
 * What is asked for, the same for every side of a bench: keys, values and
 * streams of requests, drawn once from a fixed seed into a memfd that the
 * sides map.  Any process may map; nobody writes after workload_create().
 *
 *	struct workload | zipf draws | uniform draws | draws that miss
 *
 * Key and number of a draw lie side by side and are read in order, so that
 * fetching the question costs both sides the same little.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "measure.h"

#define WORKLOAD_KEY_BYTES	21
#define WORKLOAD_VALUE_MAX	(64u << 10)
#define WORKLOAD_ZIPF_S		0.99

enum workload_stream {
	WORKLOAD_ZIPF,
	WORKLOAD_UNIFORM,
	WORKLOAD_MISS,		/* keys that nobody stored */
	WORKLOAD_STREAM_COUNT
};

struct workload_draw {
	uint32_t	number;		/* of the key, from 0 */
	char		key[WORKLOAD_KEY_BYTES + 7];
};
_Static_assert(sizeof(struct workload_draw) == 32, "two to a cache line");

struct workload {
	uint64_t	key_count;
	uint64_t	value_bytes;	/* 8 at least */
	uint64_t	draw_count;	/* of each stream */
	uint64_t	unused;
	struct workload_draw draws[];
};

/* The descriptor of a new workload, -1 if memory is short. */
int	workload_create(uint64_t key_count, uint64_t value_bytes,
	    uint64_t draw_count);

/* The same, of that exponent (0: uniform) and with WORKLOAD_ZIPF alone. */
int	workload_create_zipf(uint64_t key_count, uint64_t value_bytes,
	    uint64_t draw_count, double exponent);

/* Read-only; NULL if refused.  Stays mapped until it is unmapped. */
const struct workload *workload_map(int fd);
void	workload_unmap(int fd, const struct workload *w);

/* Writes WORKLOAD_KEY_BYTES bytes, and 0 behind them. */
void	workload_make_key(char key[WORKLOAD_KEY_BYTES + 1], uint32_t number);

/*
 * Writes value_bytes bytes, every word of them the number's own, counted from
 * the end; what is left over at the start is 0.
 */
void	workload_make_value(const struct workload *w, void *value,
	    uint32_t number);

/* The last word of a value, which a hit checks. */
static inline uint64_t
workload_last_word(const struct workload *w, uint32_t number)
{
	return (number + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15) +
	    w->value_bytes / sizeof(uint64_t);
}

/* Set in an order: the stream is stored, not asked for. */
#define WORKLOAD_SETS	0x10000u

/* An order for a side: a stream, and how often to halve its length. */
static inline uint32_t
workload_order(enum workload_stream stream, unsigned halvings)
{
	return (uint32_t)stream | halvings << 8;
}

/* True and the value in buffer (WORKLOAD_VALUE_MAX), or false: not there. */
typedef bool (workload_get_fn)(void *argument, const char *key,
    void *buffer);

/*
 * One pass over a stream: nanoseconds to a get, NaN if an answer was wrong.
 * Inline, so that a side whose get is known to the compiler pays no call.
 */
static inline double
workload_pass(const struct workload *w, uint32_t order, workload_get_fn *get,
    void *argument)
{
	static _Alignas(64) uint8_t buffer[WORKLOAD_VALUE_MAX];
	uint32_t stream = order & 0xff;
	uint64_t count = w->draw_count >> (order >> 8 & 0xff);
	const struct workload_draw *draw = w->draws + stream * w->draw_count;
	const uint8_t *last = buffer + w->value_bytes - sizeof(uint64_t);
	uint64_t wrong = 0;
	uint64_t start = measure_now_ns();

	for (const struct workload_draw *end = draw + count; draw < end;
	    draw++) {
		uint64_t word;

		if (!get(argument, draw->key, buffer)) {
			wrong += stream != WORKLOAD_MISS;
			continue;
		}
		memcpy(&word, last, sizeof(word));
		wrong += word != workload_last_word(w, draw->number);
	}
	return wrong != 0 || count == 0 ? (double)NAN :
	    (double)(measure_now_ns() - start) / (double)count;
}

/* Stores: true when it is done. */
typedef bool (workload_set_fn)(void *argument, const char *key,
    const void *value, size_t bytes);

/* The same for stores; what is stored is what workload_pass() looks for. */
double	workload_set_pass(const struct workload *w, uint32_t order,
	    workload_set_fn *set, void *argument);

#endif
