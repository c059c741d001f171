/* SPDX-License-Identifier: ISC */

#include "shopper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir.h>

#include "zipf.h"

#define KEY_BYTES	32u
#define VALUE_BYTES_MIN	500u
#define VALUE_BYTES_MAX	3500u
#define VALUE_TTL_MS	(10u * 60 * 1000)
#define NS_PER_S	UINT64_C(1000000000)

static uint64_t
now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);	/* cannot fail */
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Only this process adds: see latency_add(). */
static void
count(_Atomic uint64_t *counter)
{
	/* Relaxed: a number for people, that orders nothing. */
	atomic_store_explicit(counter, atomic_load_explicit(counter,
	    memory_order_relaxed) + 1, memory_order_relaxed);
}

static size_t
value_bytes(uint32_t item)
{
	return VALUE_BYTES_MIN + item * 2654435761u %
	    (VALUE_BYTES_MAX - VALUE_BYTES_MIN);
}

/*
 * The slow function: a database, a template, another machine.  Every byte of
 * an item follows from its number, so that a reader can tell a wrong one.
 */
static size_t
ask_origin(struct shopper *shopper, uint32_t item, char *value)
{
	struct timespec pause = { .tv_nsec = SHOPPER_ORIGIN_US * 1000 };

	count(&shopper->origin_calls);
	(void)nanosleep(&pause, NULL);	/* a signal makes it faster: fine */
	memset(value, 'a' + (int)(item % 26), value_bytes(item));
	memcpy(value, &item, sizeof(item));
	return value_bytes(item);
}

static bool
is_right(uint32_t item, const char *value, size_t length)
{
	return length == value_bytes(item) &&
	    memcmp(value, &item, sizeof(item)) == 0 &&
	    value[length - 1] == 'a' + (int)(item % 26);
}

/* Get, or compute and set. */
static void
visit(struct shopper *shopper, struct weir *cache, uint32_t item)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	char value[VALUE_BYTES_MAX];
	char key[KEY_BYTES];
	size_t length;
	size_t key_length = (size_t)snprintf(key, sizeof(key), "item:%05u",
	    item);

	if (cache != NULL && weir_get(cache, key, key_length, value,
	    sizeof(value), &length, NULL) == WEIR_OK) {
		count(&shopper->hits);
		if (!is_right(item, value, length)) {
			count(&shopper->wrong_values);
		}
		return;
	}
	length = ask_origin(shopper, item, value);
	options.ttl_ms = VALUE_TTL_MS;
	if (cache != NULL && weir_set(cache, key, key_length, value, length,
	    &options, NULL) != WEIR_OK) {
		count(&shopper->lost_stores);
	}
}

int
shopper_run(struct shopper *shopper)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *cache = NULL;
	struct zipf *zipf = zipf_create(SHOPPER_ITEMS);
	uint64_t seed = shopper->seed;
	int result;

	options.socket_path = shopper->socket_path;
	if (zipf == NULL) {
		return EXIT_FAILURE;
	}
	if (shopper->uses_cache) {
		result = weir_open(&cache, &options);
		if (result == WEIR_OK) {
			result = weir_connect(cache);
		}
		if (result != WEIR_OK) {
			fprintf(stderr, "demo: %s: %s\n",
			    weir_strerror(result),
			    cache == NULL ? "" : weir_detail(cache));
			weir_close(cache);
			zipf_destroy(zipf);
			return EXIT_FAILURE;
		}
	}
	/* Relaxed: the flag stands alone and orders nothing. */
	while (!atomic_load_explicit(&shopper->stop, memory_order_relaxed)) {
		uint64_t start = now_ns();

		visit(shopper, cache, zipf_next(zipf, &seed));
		latency_add(&shopper->latency, now_ns() - start);
		count(&shopper->requests);
	}
	weir_close(cache);
	zipf_destroy(zipf);
	return EXIT_SUCCESS;
}
