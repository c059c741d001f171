/* SPDX-License-Identifier: ISC */

/*
 * Storing, flushing and looking.  Each value carries the number of its
 * store, so that the last one of each key can be told from those before it.
 */
#include "async_side.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

struct async {
	const struct workload *w;
	struct weir	*weir;
	struct workload_draw *draws;	/* of one stream, with our keys */
	uint64_t	stream;		/* that they are of */
	uint64_t	*last;		/* store of each key, 0 none */
	uint64_t	stores;		/* in all passes */
	unsigned	number;
};

/* The keys of the workload, but each client has every second to itself. */
static void
take_stream(struct async *a, uint64_t stream)
{
	if (a->stream == stream) {
		return;
	}
	memcpy(a->draws, a->w->draws + stream * a->w->draw_count,
	    a->w->draw_count * sizeof(*a->draws));
	for (uint64_t i = 0; i < a->w->draw_count; i++) {
		struct workload_draw *draw = &a->draws[i];

		draw->number -= draw->number % ASYNC_SIDES;
		draw->number += a->number;
		workload_make_key(draw->key, draw->number);
	}
	a->stream = stream;
}

static bool
store_all(struct async *a, uint64_t count, uint8_t *value)
{
	uint64_t failed = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t store = ++a->stores;
		int result;

		a->last[a->draws[i].number] = store;
		memcpy(value + a->w->value_bytes - sizeof(store), &store,
		    sizeof(store));
		while ((result = weir_set_async(a->weir, a->draws[i].key,
		    WORKLOAD_KEY_BYTES, value, a->w->value_bytes, NULL)) ==
		    WEIR_FULL) {
			(void)sched_yield();
		}
		if (result != WEIR_OK) {
			return false;
		}
	}
	return weir_flush(a->weir, &failed) == WEIR_OK && failed == 0;
}

static bool
all_there(const struct async *a, uint64_t count, uint8_t *value)
{
	for (uint64_t i = 0; i < count; i++) {
		size_t length = 0;
		uint64_t store;

		if (weir_get(a->weir, a->draws[i].key, WORKLOAD_KEY_BYTES,
		    value, WORKLOAD_VALUE_MAX, &length, NULL) != WEIR_OK ||
		    length != a->w->value_bytes) {
			return false;
		}
		memcpy(&store, value + length - sizeof(store), sizeof(store));
		if (store != a->last[a->draws[i].number]) {
			return false;
		}
	}
	return true;
}

static double
run(void *argument, uint32_t order)
{
	static uint8_t value[WORKLOAD_VALUE_MAX];
	struct async *a = argument;
	uint64_t count = a->w->draw_count >> (order >> 8 & 0xff);
	uint64_t start, end;

	take_stream(a, order & 0xff);
	workload_make_value(a->w, value, a->number);
	start = measure_now_ns();
	if (count == 0 || !store_all(a, count, value)) {
		return (double)NAN;
	}
	end = measure_now_ns();
	return all_there(a, count, value) ?
	    (double)(end - start) / (double)count : (double)NAN;
}

struct start {
	const struct peer *weir;
	unsigned	number;
};

static void
serve(void *argument, int fd)
{
	const struct start *start = argument;
	const struct workload *w = start->weir->w;
	struct async a = {
		.w = w,
		.weir = start->weir->ops->open(start->weir->folder, true),
		.draws = calloc(w->draw_count, sizeof(*a.draws)),
		.stream = UINT64_MAX,
		.last = calloc(w->key_count + ASYNC_SIDES, sizeof(*a.last)),
		.number = start->number,
	};

	if (a.weir != NULL && a.draws != NULL && a.last != NULL) {
		side_serve(fd, run, &a);
	}
}

bool
async_side_start(struct side *side, const struct peer *weir, unsigned core,
    unsigned number)
{
	struct start start = { .weir = weir, .number = number };

	return side_fork(side, core, serve, &start);
}
