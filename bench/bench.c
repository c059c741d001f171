/* SPDX-License-Identifier: ISC */

/*
 * Options and the gathering of a report; report.c prints it.
 */
#include "bench.h"

#include "report.h"

#include <assert.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MIB	(1024.0 * 1024.0)

struct bench {
	const char	*name;
	bool		is_quick;
	bool		is_long;
	bool		is_json;
	struct report	report;
	json_t		*row;		/* the one begun last, or NULL */
};

static json_t *
format_text(const char *format, va_list args)
{
	char text[512];

	(void)vsnprintf(text, sizeof(text), format, args);
	return json_string(text);
}

/* First "model name" of the kernel's list; arm64 kernels have none. */
static void
read_cpu_model(char *model, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512];

	(void)snprintf(model, size, "unknown");
	if (file == NULL) {
		return;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && value != NULL) {
			(void)snprintf(model, size, "%s", value + 2);
			model[strcspn(model, "\n")] = '\0';
			break;
		}
	}
	fclose(file);
}

static json_t *
describe_machine(void)
{
	json_t *machine = json_object();
	struct utsname kernel;
	char model[256];
	double load = 0;

	read_cpu_model(model, sizeof(model));
	(void)uname(&kernel);
	(void)getloadavg(&load, 1);
	json_object_set_new(machine, "cpu", json_string(model));
	json_object_set_new(machine, "arch", json_string(kernel.machine));
	json_object_set_new(machine, "cores",
	    json_integer(measure_count_cores()));
	json_object_set_new(machine, "memory_mib", json_integer((json_int_t)(
	    (double)sysconf(_SC_PHYS_PAGES) *
	    (double)sysconf(_SC_PAGESIZE) / MIB)));
	json_object_set_new(machine, "kernel", json_string(kernel.release));
	json_object_set_new(machine, "load_at_start", json_real(load));
	return machine;
}

static _Noreturn void
exit_with_usage(const char *program)
{
	fprintf(stderr, "usage: %s [--quick | --long] [--json]\n", program);
	exit(2);
}

struct bench *
bench_create(const char *name, int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert(b != NULL);
	b->name = name;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0) {
			b->is_quick = true;
		} else if (strcmp(argv[i], "--long") == 0) {
			b->is_long = true;
		} else if (strcmp(argv[i], "--json") == 0) {
			b->is_json = true;
		} else {
			exit_with_usage(argv[0]);
		}
	}
	if (b->is_quick && b->is_long) {
		exit_with_usage(argv[0]);
	}
	report_init(&b->report, name);
	json_object_set_new(b->report.root, "machine", describe_machine());
	bench_add_version(b, "compiler", __VERSION__);
	bench_add_version(b, "libc", gnu_get_libc_version());
	bench_add_setting(b, "mode", "%s", b->is_quick ? "quick" :
	    b->is_long ? "long" : "normal");
	return b;
}

bool
bench_is_quick(const struct bench *b)
{
	return b->is_quick;
}

bool
bench_is_long(const struct bench *b)
{
	return b->is_long;
}

uint64_t
bench_amount(const struct bench *b, uint64_t quick, uint64_t normal,
    uint64_t deep)
{
	return b->is_quick ? quick : b->is_long ? deep : normal;
}

void
bench_add_version(struct bench *b, const char *what, const char *version)
{
	json_object_set_new(b->report.versions, what, json_string(version));
}

void
bench_add_setting(struct bench *b, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_object_set_new(b->report.settings, name,
	    format_text(format, args));
	va_end(args);
}

void
bench_add_limit(struct bench *b, const char *sentence)
{
	json_array_append_new(b->report.limits, json_string(sentence));
}

void
bench_begin_row(struct bench *b)
{
	b->row = json_object();
	json_array_append_new(b->report.rows, b->row);
}

void
bench_add_text(struct bench *b, const char *column, const char *format, ...)
{
	va_list args;

	assert(b->row != NULL);
	va_start(args, format);
	json_object_set_new(b->row, column, format_text(format, args));
	va_end(args);
}

void
bench_add_number(struct bench *b, const char *column, double value)
{
	assert(b->row != NULL);
	/* JSON has no NaN and no infinity. */
	json_object_set_new(b->row, column, isfinite(value) ?
	    json_real(value) : json_null());
}

void
bench_add_side(struct bench *b, const char *column,
    const struct measure_side *side)
{
	char name[64];

	bench_add_number(b, column, side->median);
	(void)snprintf(name, sizeof(name), "%s_min", column);
	bench_add_number(b, name, side->min);
	(void)snprintf(name, sizeof(name), "%s_max", column);
	bench_add_number(b, name, side->max);
}

void
bench_add_histogram(struct bench *b, const struct histogram *h, double scale,
    const char *unit)
{
	static const struct {
		const char	*name;
		double		fraction;
	} columns[] = {
		{ "p50", 0.5 }, { "p99", 0.99 }, { "p999", 0.999 }, { "max", 1 }
	};
	char name[64];

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		(void)snprintf(name, sizeof(name), "%s_%s", columns[i].name,
		    unit);
		bench_add_number(b, name, (double)histogram_quantile(h,
		    columns[i].fraction) / scale);
	}
}

void
bench_add_bar(struct bench *b, const char *name, double value)
{
	report_add_bar(&b->report, name, value, NULL);
}

void
bench_skip_bar(struct bench *b, const char *name, const char *why)
{
	report_add_bar(&b->report, name, (double)NAN, why);
}

void
bench_fail(const struct bench *b, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "bench %s: ", b->name);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

int
bench_finish(struct bench *b)
{
	bool printed;

	report_complete_bars(&b->report);
	printed = b->is_json ? report_print_json(&b->report) :
	    report_print_tables(&b->report);
	report_fini(&b->report);
	free(b);
	return printed ? 0 : 1;
}
