/* SPDX-License-Identifier: ISC */

/*
 * What every bench has in common: the options, and one report with machine,
 * versions, settings, rows and bars, printed as tables or as one JSON object.
 * The first process of a bench calls; children hand their figures to it.
 *
 *	--quick	ends within the bench's short budget
 *	--long	as long as the figures need
 *	--json	one object on stdout instead of the tables
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "measure.h"

struct bench;	/* opened by bench_create(), closed by bench_finish() */

/*
 * Reads the options; exits with 2 on bad ones.  `name` is the bench's name
 * in bars.tsv.
 */
struct bench	*bench_create(const char *name, int argc, char **argv);

bool	bench_is_quick(const struct bench *b);
bool	bench_is_long(const struct bench *b);

/* `quick`, `normal` or `deep`, after the mode. */
uint64_t	bench_amount(const struct bench *b, uint64_t quick,
    uint64_t normal, uint64_t deep);

/* A library or peer that took part; setting: whatever is not a default. */
void	bench_add_version(struct bench *b, const char *what,
    const char *version);
void	bench_add_setting(struct bench *b, const char *name,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One sentence on what the figures do not show. */
void	bench_add_limit(struct bench *b, const char *sentence);

/*
 * Rows: begin one, then name its columns.  Columns of all rows together make
 * the table, in the order in which they were first named.
 */
void	bench_begin_row(struct bench *b);
void	bench_add_text(struct bench *b, const char *column, const char *format,
    ...) __attribute__((format(printf, 3, 4)));
void	bench_add_number(struct bench *b, const char *column, double value);

/* Columns PREFIX, PREFIX_min and PREFIX_max of a side. */
void	bench_add_side(struct bench *b, const char *column,
    const struct measure_side *side);

/* Columns p50_UNIT, p99_UNIT, p999_UNIT, max_UNIT, each divided by scale. */
void	bench_add_histogram(struct bench *b, const struct histogram *h,
    double scale, const char *unit);

/* A bar's figure; the limit comes from bars.tsv.  Not a number: skipped. */
void	bench_add_bar(struct bench *b, const char *name, double value);
void	bench_skip_bar(struct bench *b, const char *name, const char *why);

/* The run is void: says why on stderr and exits with 1, with no figures. */
_Noreturn void	bench_fail(const struct bench *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Prints the report and frees it.  Answers main()'s exit status: 0 when all
 * was measured, whether or not a bar fell short; 1 if it cannot be printed.
 */
int	bench_finish(struct bench *b);

#endif
