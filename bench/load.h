/* SPDX-License-Identifier: ISC */

/*
 * The scenarios of the bench load, each against a daemon of its own.  The
 * bench's first process calls.
 */
#ifndef LOAD_H
#define LOAD_H

#include "bench.h"
#include "demand.h"

#define LOAD_NS_PER_MS	UINT64_C(1000000)
#define LOAD_NS_PER_S	UINT64_C(1000000000)
/* Of the logarithm of each service time. */
#define LOAD_SIGMA	0.4
#define LOAD_BODY_BYTES	31u
#define LOAD_START_IN_NS (50 * LOAD_NS_PER_MS)

/* Hits at half of what the generator reaches when nothing paces it. */
void	load_measure_steady(struct bench *b);

/* All that was stored together expires together. */
void	load_measure_expiry(struct bench *b);

/* Keys that nobody asks for twice, beside some that all ask for. */
void	load_measure_flood(struct bench *b);

/* An origin that takes 20 times as long for a while. */
void	load_measure_brownout(struct bench *b);

/* Few entries against many. */
void	load_measure_scale(struct bench *b);

/* A backend, or the bench ends. */
struct backend *load_create_backend(const struct bench *b, uint32_t places,
	    uint64_t median_ms);

/* Has 32 workers fetch every number below count once, as fast as they can. */
void	load_fetch_all(const struct bench *b, const struct daemon *d,
	    const struct demand *demand, const char *prefix, uint64_t count);

/* A row's columns that all scenarios have. */
void	load_begin_row(struct bench *b, const char *scenario,
	    const struct swarm_tally *sum);

#endif
