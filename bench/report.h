/* SPDX-License-Identifier: ISC */

/*
 * A bench's report as a JSON tree, its bars' limits, and its two renderings.
 * Benches go through bench.h.
 */
#ifndef REPORT_H
#define REPORT_H

#include <jansson.h>
#include <stdbool.h>

struct report {
	const char	*name;
	json_t		*root;
	/* members of the root, borrowed */
	json_t		*versions;
	json_t		*settings;
	json_t		*rows;
	json_t		*bars;
	json_t		*limits;
};

void	report_init(struct report *r, const char *name);
void	report_fini(struct report *r);

/* NaN is a skipped bar; `why` may be NULL. */
void	report_add_bar(struct report *r, const char *name, double value,
    const char *why);

/* Bars that bars.tsv has for the bench and nobody reported become null. */
void	report_complete_bars(struct report *r);

bool	report_print_json(const struct report *r);
bool	report_print_tables(const struct report *r);

#endif
