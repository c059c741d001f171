/* SPDX-License-Identifier: ISC */

/*
 * Get a value, or compute and store it.
 *
 *	cc get_or_set.c -lweirclient && ./a.out answer
 *
 * A cache may be absent: whatever it says, the program has its answer.
 */
#include <weir.h>

#include <stdio.h>
#include <string.h>

#define LIFETIME_MS	60000

/* Stands for what costs time. */
static int
compute(const char *key, char *value, size_t size)
{
	return snprintf(value, size, "computed for %s", key);
}

int
main(int argc, char **argv)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	const char *key = argc > 1 ? argv[1] : "answer";
	struct weir *cache;
	char value[256];
	size_t length;
	int result = weir_open(&cache, NULL);

	if (result != WEIR_OK) {
		fprintf(stderr, "%s\n", weir_strerror(result));
		return 1;
	}
	result = weir_get(cache, key, strlen(key), value, sizeof(value),
	    &length, NULL);
	if (result == WEIR_OK || result == WEIR_STALE) {
		printf("from the cache: %.*s\n", (int)length, value);
		weir_close(cache);
		return 0;
	}
	length = (size_t)compute(key, value, sizeof(value));
	options.ttl_ms = LIFETIME_MS;
	result = weir_set(cache, key, strlen(key), value, length, &options,
	    NULL);
	if (result != WEIR_OK) {
		fprintf(stderr, "not stored: %s: %s\n", weir_errname(result),
		    weir_detail(cache));
	}
	printf("computed: %.*s\n", (int)length, value);
	weir_close(cache);
	return 0;
}
