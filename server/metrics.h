/* SPDX-License-Identifier: ISC */

/*
 * All counters as OpenMetrics text; weir-metrics(7) lists them.  They are
 * read where they lie, in the segments, so that any worker tells the same and
 * none takes its counts with it when it dies.  Workers.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdio.h>

#include "clock.h"
#include "heritage.h"

#define METRICS_CONTENT_TYPE \
	"application/openmetrics-text; version=1.0.0; charset=utf-8"

/* origins are bound by the caller, as many as there are in count. */
void	metrics_write(FILE *out, const struct heritage *heritage,
    struct origin *origins, uint32_t count, struct boot_ms now);

/* metrics_origin.c: the families of the origins. */
void	metrics_write_origins(FILE *out, struct origin *origins,
    uint32_t count, struct boot_ms now);

/* The head of a family, whose samples follow. */
void	metrics_write_family(FILE *out, const char *name, const char *type,
    const char *help);

#endif
