/* SPDX-License-Identifier: ISC */

/*
 * Instructions of a fresh hit through weir_fetch() beside those of
 * weir_get(), over a handle of a daemon of its own.
 */
#ifndef MICRO_FETCH_H
#define MICRO_FETCH_H

#include <stdbool.h>

#include "bench.h"

/* This run is for callgrind: do what is counted and exit with 0. */
bool	micro_fetch_is_counted(int argc, char **argv);
int	micro_fetch_run_counted(const struct bench *b, const char *option);

/* Rows with "instructions" of each, and what a fetch costs "over_get". */
void	micro_measure_fetch(struct bench *b);

#endif
