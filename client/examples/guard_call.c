/* SPDX-License-Identifier: ISC */

/*
 * Guard a slow database: all processes of this machine together make no more
 * calls at once than its origin allows, and none while it is down.  Nothing
 * is cached.  In weird.conf:
 *
 *	origin database { limit = 16  timeout = 5s }
 *
 *	cc guard_call.c $(pkg-config --cflags --libs weirclient)
 *	./a.out [ok | fail] [origin]
 */
#include <weir.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#define WAIT_MS		2000	/* for a permit; then shed load */
#define QUERY_MS	20

/* Stands for a query; 0, or -1 when the database does not answer. */
static int
query(int fails)
{
	struct timespec span = { 0, QUERY_MS * 1000000L };

	(void)nanosleep(&span, NULL);
	return fails ? -1 : 0;
}

/* What to tell the user who asked when there is no permit. */
static int
explain(struct weir *cache, int result, const struct weir_permit *permit)
{
	switch (result) {
	case WEIR_SHED:
		/* Too many calls already: say 503 and Retry-After. */
		fprintf(stderr, "busy (%s): again in %llu ms\n",
		    permit->reason,
		    (unsigned long long)permit->retry_after_ms);
		break;
	case WEIR_CIRCUIT_OPEN:
		/* It failed for others: do not even try. */
		fprintf(stderr, "down: again in %llu ms\n",
		    (unsigned long long)permit->retry_after_ms);
		break;
	default:
		fprintf(stderr, "%s: %s\n", weir_errname(result),
		    weir_detail(cache));
		break;
	}
	return 1;
}

static int
guarded_query(struct weir *cache, const char *origin_name, int fails)
{
	struct weir_origin origin = { .name = origin_name };
	struct weir_permit permit;
	int result = weir_permit_acquire(cache, &origin, WAIT_MS, &permit);
	int answer;

	if (result == WEIR_NO_SERVER) {
		/* No daemon, no guard: a choice that is yours. */
		fprintf(stderr, "unguarded: %s\n", weir_detail(cache));
		return query(fails) == 0 ? 0 : 1;
	}
	if (result != WEIR_OK) {
		return explain(cache, result, &permit);
	}
	answer = query(fails);
	/*
	 * What the breaker counts.  A query that was wrong is no failure of
	 * the database: WEIR_SUCCESS; one that you broke off: WEIR_NEUTRAL.
	 */
	result = weir_permit_release(cache, &permit, answer == 0 ?
	    WEIR_SUCCESS : WEIR_FAILURE);
	if (result == WEIR_LEASE_LOST) {
		fprintf(stderr, "the query took longer than the origin's "
		    "timeout\n");
	}
	puts(answer == 0 ? "answered" : "failed");
	return answer == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct weir *cache;
	int result = weir_open(&cache, NULL);
	int status;

	if (result != WEIR_OK) {
		fprintf(stderr, "%s\n", weir_strerror(result));
		return 1;
	}
	status = guarded_query(cache, argc > 2 ? argv[2] : "default",
	    argc > 1 && strcmp(argv[1], "fail") == 0);
	weir_close(cache);
	return status;
}
