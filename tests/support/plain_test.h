/* SPDX-License-Identifier: ISC */

/*
 * What a test program without Criterion says: lines `pass NAME`,
 * `fail NAME: why`, `skip NAME: why`, read by tests/run.  For programs that
 * fork, kill and map more than a unit test may.  Only the parent reports: a
 * child tells its parent by exit status or shared memory.
 *
 *	--quick (the default) fits in `make check`; --long goes deeper;
 *	--seed N replays a run; --only NAME runs one test (may be repeated in
 *	the form NAME,NAME).
 */
#ifndef PLAIN_TEST_H
#define PLAIN_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "prng.h"

struct plain_test {
	/* set by plain_start(), then read-only */
	bool		is_long;
	uint64_t	seed;
	const char	*only;		/* NULL: all */
	/* results so far */
	unsigned	passed_count;
	unsigned	failed_count;
	unsigned	skipped_count;
};

/* Reads the arguments; on bad ones says so and exits with 2. */
void	plain_start(struct plain_test *test, int argc, char **argv);

/* False when --only names other tests. */
bool	plain_wants(const struct plain_test *test, const char *name);

/* `quick` or `deep`, after the mode: rounds, seconds, processes. */
uint64_t	plain_amount(const struct plain_test *test, uint64_t quick,
    uint64_t deep);

void	plain_pass(struct plain_test *test, const char *name);
void	plain_fail(struct plain_test *test, const char *name,
    const char *why_format, ...)
    __attribute__((format(printf, 3, 4)));
void	plain_skip(struct plain_test *test, const char *name,
    const char *why_format, ...)
    __attribute__((format(printf, 3, 4)));

/* pass when ok, else fail with the text; returns ok. */
bool	plain_check(struct plain_test *test, const char *name, bool ok,
    const char *why_format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * The exit status of main(): 0 only if something ran and nothing failed.
 * With --only that matched nothing it is a failure too.
 */
int	plain_end(struct plain_test *test);

#endif
