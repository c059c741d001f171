/* SPDX-License-Identifier: ISC */

/*
 * The printer and argument reader of test programs without Criterion.
 */
#include "plain_test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any fixed number would do: a plain run is the same run each time. */
#define DEFAULT_SEED	1

static _Noreturn void
exit_with_usage(const char *program)
{
	fprintf(stderr, "usage: %s [--quick | --long] [--seed N] "
	    "[--only NAME[,NAME]]\n", program);
	exit(2);
}

static bool
parse_seed(const char *text, uint64_t *seed)
{
	char *end;

	errno = 0;
	*seed = strtoull(text, &end, 0);
	return errno == 0 && end != text && *end == '\0';
}

/* A line in one write, so that lines of two processes never mix. */
static void
print_line(const char *word, const char *name, const char *why_format,
    va_list args)
{
	char why[512];
	char *c;

	(void)vsnprintf(why, sizeof(why), why_format, args);
	for (c = why; *c != '\0'; c++) {
		if (*c == '\n') {
			*c = ' ';
		}
	}
	printf("%s %s: %s\n", word, name, why);
	fflush(stdout);
}

void
plain_start(struct plain_test *test, int argc, char **argv)
{
	memset(test, 0, sizeof(*test));
	test->seed = DEFAULT_SEED;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0) {
			test->is_long = false;
		} else if (strcmp(argv[i], "--long") == 0) {
			test->is_long = true;
		} else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
			if (!parse_seed(argv[++i], &test->seed)) {
				exit_with_usage(argv[0]);
			}
		} else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
			test->only = argv[++i];
		} else {
			exit_with_usage(argv[0]);
		}
	}
	printf("# %s, seed %llu\n", test->is_long ? "long" : "quick",
	    (unsigned long long)test->seed);
	fflush(stdout);
}

bool
plain_wants(const struct plain_test *test, const char *name)
{
	size_t len = strlen(name);
	const char *at = test->only;

	if (at == NULL) {
		return true;
	}
	while (at != NULL) {
		if (strncmp(at, name, len) == 0 &&
		    (at[len] == '\0' || at[len] == ',')) {
			return true;
		}
		at = strchr(at, ',');
		at = at == NULL ? NULL : at + 1;
	}
	return false;
}

uint64_t
plain_amount(const struct plain_test *test, uint64_t quick, uint64_t deep)
{
	return test->is_long ? deep : quick;
}

void
plain_pass(struct plain_test *test, const char *name)
{
	test->passed_count++;
	printf("pass %s\n", name);
	fflush(stdout);
}

void
plain_fail(struct plain_test *test, const char *name, const char *why_format,
    ...)
{
	va_list args;

	test->failed_count++;
	va_start(args, why_format);
	print_line("fail", name, why_format, args);
	va_end(args);
}

void
plain_skip(struct plain_test *test, const char *name, const char *why_format,
    ...)
{
	va_list args;

	test->skipped_count++;
	va_start(args, why_format);
	print_line("skip", name, why_format, args);
	va_end(args);
}

bool
plain_check(struct plain_test *test, const char *name, bool ok,
    const char *why_format, ...)
{
	va_list args;

	if (ok) {
		plain_pass(test, name);
		return true;
	}
	test->failed_count++;
	va_start(args, why_format);
	print_line("fail", name, why_format, args);
	va_end(args);
	return false;
}

int
plain_end(struct plain_test *test)
{
	if (test->failed_count > 0) {
		return 1;
	}
	if (test->passed_count == 0 && test->skipped_count == 0) {
		fprintf(stderr, "no test ran%s%s\n",
		    test->only != NULL ? " with --only " : "",
		    test->only != NULL ? test->only : "");
		return 1;
	}
	return 0;
}
