/* SPDX-License-Identifier: ISC */

/*
 * main() of unit tests built without Criterion: runs each test in a forked
 * process and prints its line.
 *
 *	--only SUITE/NAME	shell pattern
 *	--skip FILE		lines `SUITE/NAME  why`: reported, not run
 *	--quick --long --seed N	taken and ignored
 */
#include "criterion/criterion.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sanitizers and qemu are slow; a test that hangs is still found. */
#define DEFAULT_TIMEOUT_S	60
#define TIMEOUT_FACTOR		10

/* What a test's process exits with; sanitizers use others. */
#define EXIT_FAILED	101
#define EXIT_SKIPPED	102

struct counts {
	unsigned	passed;
	unsigned	failed;
	unsigned	skipped;
};

static struct standin_test *tests;
static bool check_failed;	/* of the test's own process */

void
standin_register(struct standin_test *test)
{
	test->next = tests;
	tests = test;
}

void
standin_check(bool ok, bool goes_on, const char *file, int line,
    const char *what, const char *format, ...)
{
	va_list args;

	if (ok) {
		return;
	}
	fprintf(stderr, "%s:%d: %s:", file, line, what);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	check_failed = true;
	if (!goes_on) {
		exit(EXIT_FAILED);
	}
}

_Noreturn void
standin_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(EXIT_SKIPPED);
}

static const struct standin_test *
find_suite(const char *suite)
{
	for (const struct standin_test *t = tests; t != NULL; t = t->next) {
		if (t->name == NULL && strcmp(t->suite, suite) == 0) {
			return t;
		}
	}
	return NULL;
}

static _Noreturn void
run_in_child(const struct standin_test *test, const struct standin_test *suite)
{
	void (*init)(void) = test->init != NULL ? test->init :
	    suite != NULL ? suite->init : NULL;
	void (*fini)(void) = test->fini != NULL ? test->fini :
	    suite != NULL ? suite->fini : NULL;
	double timeout = test->timeout > 0 ? test->timeout :
	    suite != NULL ? suite->timeout : 0;

	(void)alarm(timeout > 0 ? (unsigned)(timeout * TIMEOUT_FACTOR) + 1 :
	    DEFAULT_TIMEOUT_S);
	if (init != NULL) {
		init();
	}
	test->run();
	if (fini != NULL) {
		fini();
	}
	exit(check_failed ? EXIT_FAILED : 0);
}

static void
report(const struct standin_test *test, int status, struct counts *counts)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) {
		counts->skipped++;
		printf("skip %s/%s: by itself\n", test->suite, test->name);
	} else if (test->signal != 0 ? WIFSIGNALED(status) &&
	    WTERMSIG(status) == test->signal : WIFEXITED(status) &&
	    WEXITSTATUS(status) == test->exit_code) {
		counts->passed++;
		printf("pass %s/%s\n", test->suite, test->name);
	} else {
		counts->failed++;
		printf("fail %s/%s: %s %d\n", test->suite, test->name,
		    WIFSIGNALED(status) ? "signal" : "exit status",
		    WIFSIGNALED(status) ? WTERMSIG(status) :
		    WEXITSTATUS(status));
	}
	fflush(stdout);
}

static void
run_test(const struct standin_test *test, struct counts *counts)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		run_in_child(test, find_suite(test->suite));
	}
	if (child < 0) {
		perror("fork");
		exit(1);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
		continue;
	}
	report(test, status, counts);
}

/* Finds "SUITE/NAME why" in the file and puts the why into `why`. */
static bool
is_skipped(const char *path, const char *full_name, char *why, int size)
{
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	char line[256];
	bool found = false;

	if (file == NULL) {
		return false;
	}
	while (!found && fgets(line, sizeof(line), file) != NULL) {
		size_t len = strcspn(line, " \t\n");
		size_t gap = strspn(line + len, " \t");

		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || len == 0) {
			continue;
		}
		(void)snprintf(why, (size_t)size, "%s", line + len + gap);
		line[len] = '\0';
		found = fnmatch(line, full_name, 0) == 0;
	}
	fclose(file);
	return found;
}

static void
run_all(const char *only, const char *skip_path, struct counts *counts)
{
	for (const struct standin_test *t = tests; t != NULL; t = t->next) {
		char full_name[256];
		char why[256];

		if (t->name == NULL) {
			continue;
		}
		(void)snprintf(full_name, sizeof(full_name), "%s/%s",
		    t->suite, t->name);
		if (only != NULL && fnmatch(only, full_name, 0) != 0) {
			continue;
		}
		if (t->disabled) {
			(void)snprintf(why, sizeof(why), "disabled");
		} else if (!is_skipped(skip_path, full_name, why,
		    sizeof(why))) {
			run_test(t, counts);
			continue;
		}
		counts->skipped++;
		printf("skip %s: %s\n", full_name, why);
		fflush(stdout);
	}
}

int
main(int argc, char **argv)
{
	struct counts counts = { 0, 0, 0 };
	const char *only = NULL;
	const char *skip_path = NULL;

	for (int i = 1; i < argc; i++) {
		bool has_value = i + 1 < argc;

		if (strcmp(argv[i], "--only") == 0 && has_value) {
			only = argv[++i];
		} else if (strcmp(argv[i], "--skip") == 0 && has_value) {
			skip_path = argv[++i];
		} else if (strcmp(argv[i], "--seed") == 0 && has_value) {
			i++;
		} else if (strcmp(argv[i], "--quick") != 0 &&
		    strcmp(argv[i], "--long") != 0) {
			fprintf(stderr, "usage: %s [--quick | --long] "
			    "[--only PATTERN] [--skip FILE]\n", argv[0]);
			return 2;
		}
	}
	run_all(only, skip_path, &counts);
	return counts.failed > 0 ||
	    counts.passed + counts.skipped == 0 ? 1 : 0;
}
