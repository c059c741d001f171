/* SPDX-License-Identifier: ISC */

/*
 * Filling a floor and running it, for a bench or alone.
 */
#include "run_floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALONE_VALUE_BYTES	1024
#define ALONE_KEYS		100000
#define ALONE_DRAWS		(1u << 19)
#define ALONE_ROUNDS		5

static void *
map_shared(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static bool
fill(struct floor *floor, int workload_fd, floor_put_fn *put)
{
	static uint8_t value[WORKLOAD_VALUE_MAX];
	const struct workload *w = workload_map(workload_fd);
	char key[WORKLOAD_KEY_BYTES + 1];
	uint64_t slots = 8;

	if (w == NULL) {
		return false;
	}
	while (slots < 2 * w->key_count) {
		slots *= 2;
	}
	floor->w = w;
	floor->key_and_value_bytes = WORKLOAD_KEY_BYTES + w->value_bytes;
	floor->mask = slots - 1;
	floor->slots = map_shared(slots * sizeof(*floor->slots));
	floor->items = map_shared((w->key_count + 1) *
	    (floor->key_and_value_bytes + FLOOR_HEAD_BYTES));
	floor->used = 1;
	if (floor->slots == NULL || floor->items == NULL) {
		return false;
	}
	for (uint32_t number = 0; number < w->key_count; number++) {
		workload_make_key(key, number);
		workload_make_value(w, value, number);
		put(floor, key, value);
	}
	return true;
}

static void
run_alone(const char *name, struct floor *floor, side_run_fn *run)
{
	static const char *const streams[] = { "zipf", "uniform", "miss" };

	for (uint32_t stream = 0; stream < WORKLOAD_STREAM_COUNT; stream++) {
		double figures[ALONE_ROUNDS];

		(void)run(floor, stream);	/* warms up */
		for (unsigned i = 0; i < ALONE_ROUNDS; i++) {
			figures[i] = run(floor, stream);
		}
		printf("%s: %llu B, %llu keys, %s: %.1f ns\n", name,
		    (unsigned long long)floor->w->value_bytes,
		    (unsigned long long)floor->w->key_count, streams[stream],
		    measure_median(figures, ALONE_ROUNDS));
	}
}

int
run_floor(int argc, char **argv, floor_put_fn *put, side_run_fn *run)
{
	struct floor floor;
	bool is_side = argc == 2 && strcmp(argv[1], "--serve") == 0;
	uint64_t bytes = argc == 3 ? strtoull(argv[1], NULL, 10) :
	    ALONE_VALUE_BYTES;
	uint64_t keys = argc == 3 ? strtoull(argv[2], NULL, 10) : ALONE_KEYS;

	if (!is_side && (argc == 2 || argc > 3 || bytes < sizeof(uint64_t) ||
	    bytes > WORKLOAD_VALUE_MAX || keys == 0 || keys > INT32_MAX)) {
		fprintf(stderr, "usage: %s [VALUE_BYTES KEY_COUNT]\n", argv[0]);
		return 2;
	}
	(void)measure_pin_core(0);
	if (!fill(&floor, is_side ? SIDE_GIVEN_FD : workload_create(keys,
	    bytes & ~UINT64_C(7), ALONE_DRAWS), put)) {
		fprintf(stderr, "%s: short of memory\n", argv[0]);
		return 1;
	}
	if (is_side) {
		side_serve(SIDE_ORDERS_FD, run, &floor);
	} else {
		run_alone(argv[0], &floor, run);
	}
	return 0;
}
