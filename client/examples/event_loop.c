/* SPDX-License-Identifier: ISC */

/*
 * Count in steps: a loop over poll(2) that never waits for the cache alone.
 *
 *	cc event_loop.c -lweirclient && ./a.out
 */
#include <weir.h>

#include <poll.h>
#include <stdio.h>

#define REQUESTS	1000
#define TURN_MS		1000

struct progress {
	unsigned	answered;
	unsigned	failed;
	uint64_t	number;
};

static void
count_answer(void *arg, int result, uint64_t number)
{
	struct progress *progress = arg;

	progress->answered++;
	if (result == WEIR_OK) {
		progress->number = number;
	} else {
		progress->failed++;
	}
}

int
main(void)
{
	struct progress progress = { 0, 0, 0 };
	unsigned started = 0;
	struct weir *cache;
	int result = weir_open(&cache, NULL);

	if (result == WEIR_OK) {
		result = weir_connect(cache);
	}
	while (result == WEIR_OK && progress.answered < REQUESTS) {
		struct pollfd watched = { .fd = weir_fd(cache) };

		while (started < REQUESTS && weir_start_counter_add(cache,
		    "visits", 6, 1, NULL, count_answer, &progress) ==
		    WEIR_OK) {
			started++;
		}
		watched.events = POLLIN;
		if (weir_wants_write(cache)) {
			watched.events |= POLLOUT;
		}
		/* Your own descriptors go here too. */
		(void)poll(&watched, 1, TURN_MS);
		result = weir_step(cache);
	}
	if (result != WEIR_OK) {
		fprintf(stderr, "%s: %s\n", weir_errname(result),
		    weir_detail(cache));
	}
	printf("%u answers, %u failures, the counter is at %llu\n",
	    progress.answered, progress.failed,
	    (unsigned long long)progress.number);
	weir_close(cache);
	return result == WEIR_OK ? 0 : 1;
}
