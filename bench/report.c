/* SPDX-License-Identifier: ISC */

/*
 * The limits' table and the two renderings.
 */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Columns of a table; more are not shown. */
#define MAX_COLUMNS	24

struct limit {
	char	bench[32];
	char	name[64];
	char	op[4];
	double	limit;
};

void
report_init(struct report *r, const char *name)
{
	r->name = name;
	r->root = json_object();
	r->versions = json_object();
	r->settings = json_object();
	r->rows = json_array();
	r->bars = json_array();
	r->limits = json_array();
	json_object_set_new(r->root, "bench", json_string(name));
	json_object_set_new(r->root, "versions", r->versions);
	json_object_set_new(r->root, "settings", r->settings);
	json_object_set_new(r->root, "rows", r->rows);
	json_object_set_new(r->root, "bars", r->bars);
	json_object_set_new(r->root, "does_not_show", r->limits);
}

void
report_fini(struct report *r)
{
	json_decref(r->root);
}

/*
 * bars.tsv lies in the source tree: bench/ beside the build/bench/ that the
 * program was started from.
 */
static FILE *
open_limits(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 32);
	FILE *file;

	if (len <= 0) {
		return NULL;
	}
	path[len] = '\0';
	for (int up = 0; up < 3; up++) {
		char *slash = strrchr(path, '/');

		if (slash == NULL) {
			return NULL;
		}
		*slash = '\0';
	}
	(void)strcat(path, "/bench/bars.tsv");
	file = fopen(path, "re");
	return file != NULL ? file : fopen("bench/bars.tsv", "re");
}

/* The next line that is a limit; false at the end. */
static bool
read_limit(FILE *file, struct limit *limit)
{
	char line[256];

	while (fgets(line, sizeof(line), file) != NULL) {
		if (line[0] != '#' && sscanf(line,
		    "%31[^\t]\t%63[^\t]\t%3[^\t]\t%lf", limit->bench,
		    limit->name, limit->op, &limit->limit) == 4) {
			return true;
		}
	}
	return false;
}

static bool
find_limit(const char *bench, const char *name, struct limit *limit)
{
	FILE *file = open_limits();
	bool found = false;

	if (file == NULL) {
		return false;
	}
	while (!found && read_limit(file, limit)) {
		found = strcmp(limit->bench, bench) == 0 &&
		    strcmp(limit->name, name) == 0;
	}
	fclose(file);
	return found;
}

static bool
has_bar(const struct report *r, const char *name)
{
	size_t i;
	json_t *bar;

	json_array_foreach(r->bars, i, bar) {
		if (strcmp(json_string_value(json_object_get(bar, "name")),
		    name) == 0) {
			return true;
		}
	}
	return false;
}

void
report_add_bar(struct report *r, const char *name, double value,
    const char *why)
{
	json_t *bar = json_object();

	json_object_set_new(bar, "name", json_string(name));
	json_object_set_new(bar, "value", isfinite(value) ?
	    json_real(value) : json_null());
	if (why != NULL) {
		json_object_set_new(bar, "skipped", json_string(why));
	}
	json_array_append_new(r->bars, bar);
}

void
report_complete_bars(struct report *r)
{
	FILE *file = open_limits();
	struct limit limit;

	if (file == NULL) {
		return;
	}
	while (read_limit(file, &limit)) {
		if (strcmp(limit.bench, r->name) == 0 &&
		    !has_bar(r, limit.name)) {
			report_add_bar(r, limit.name, (double)NAN,
			    "not measured");
		}
	}
	fclose(file);
}

bool
report_print_json(const struct report *r)
{
	bool ok = json_dumpf(r->root, stdout, JSON_INDENT(1) |
	    JSON_REAL_PRECISION(6)) == 0;

	return printf("\n") == 1 && ok && fflush(stdout) == 0;
}

/* A cell as text, in `text`; four digits are more than the noise leaves. */
static void
format_cell(const json_t *value, char *text, size_t size)
{
	if (json_is_string(value)) {
		(void)snprintf(text, size, "%s", json_string_value(value));
	} else if (json_is_integer(value)) {
		(void)snprintf(text, size, "%lld",
		    (long long)json_integer_value(value));
	} else if (json_is_real(value)) {
		double number = json_real_value(value);

		(void)snprintf(text, size, fabs(number) >= 1000 ?
		    "%.0f" : "%.4g", number);
	} else {
		(void)snprintf(text, size, "-");
	}
}

static void
print_object(const char *title, json_t *object)
{
	const char *key;
	json_t *value;

	printf("%s\n", title);
	json_object_foreach(object, key, value) {
		char text[512];

		format_cell(value, text, sizeof(text));
		printf("  %-24s %s\n", key, text);
	}
}

static size_t
gather_columns(const struct report *r, const char **columns, int *widths)
{
	size_t count = 0;
	size_t i;
	json_t *row;
	const char *key;
	json_t *value;

	json_array_foreach(r->rows, i, row) {
		json_object_foreach(row, key, value) {
			char text[512];
			size_t c = 0;
			int width;

			while (c < count && strcmp(columns[c], key) != 0) {
				c++;
			}
			if (c == MAX_COLUMNS) {
				continue;
			}
			if (c == count) {
				columns[c] = key;
				widths[c] = (int)strlen(key);
				count++;
			}
			format_cell(value, text, sizeof(text));
			width = (int)strlen(text);
			widths[c] = width > widths[c] ? width : widths[c];
		}
	}
	return count;
}

static void
print_rows(const struct report *r)
{
	const char *columns[MAX_COLUMNS];
	int widths[MAX_COLUMNS];
	size_t count = gather_columns(r, columns, widths);
	size_t i;
	json_t *row;

	printf("rows\n");
	for (size_t c = 0; c < count; c++) {
		printf("  %*s", widths[c], columns[c]);
	}
	printf("\n");
	json_array_foreach(r->rows, i, row) {
		for (size_t c = 0; c < count; c++) {
			char text[512];

			format_cell(json_object_get(row, columns[c]), text,
			    sizeof(text));
			printf("  %*s", widths[c], text);
		}
		printf("\n");
	}
}

static void
print_bar(const struct report *r, const json_t *bar)
{
	const char *name = json_string_value(json_object_get(bar, "name"));
	const json_t *value = json_object_get(bar, "value");
	const char *why = json_string_value(json_object_get(bar, "skipped"));
	struct limit limit;
	double number = json_number_value(value);
	bool holds;

	if (!find_limit(r->name, name, &limit)) {
		printf("  %-40s %12.4g\n", name, number);
		return;
	}
	if (!json_is_number(value)) {
		printf("  %-40s %12s %s %-8g short (%s)\n", name, "-",
		    limit.op, limit.limit, why != NULL ? why : "no value");
		return;
	}
	holds = strcmp(limit.op, "<=") == 0 ? number <= limit.limit :
	    number >= limit.limit;
	printf("  %-40s %12.4g %s %-8g %s\n", name, number, limit.op,
	    limit.limit, holds ? "pass" : "short");
}

bool
report_print_tables(const struct report *r)
{
	size_t i;
	json_t *item;

	printf("bench %s\n", r->name);
	print_object("machine", json_object_get(r->root, "machine"));
	print_object("versions", r->versions);
	print_object("settings", r->settings);
	print_rows(r);
	printf("bars\n");
	json_array_foreach(r->bars, i, item) {
		print_bar(r, item);
	}
	if (json_array_size(r->limits) > 0) {
		printf("does not show\n");
	}
	json_array_foreach(r->limits, i, item) {
		printf("  %s\n", json_string_value(item));
	}
	return fflush(stdout) == 0 && ferror(stdout) == 0;
}
