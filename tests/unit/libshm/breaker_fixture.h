/* SPDX-License-Identifier: ISC */

/*
 * A breaker with its configuration and its clock.
 */
#ifndef BREAKER_FIXTURE_H
#define BREAKER_FIXTURE_H

#include "breaker.h"

#define ALICE	1001u
#define BOB	1002u

struct bench {
	struct breaker	breaker;
	struct breaker_config config;
	struct boot_ms	now;
};

/* Closed, with the defaults. */
struct bench bench_start(void);

/* A foreground call asks; the probe's owner is not known to be dead. */
enum result bench_ask(struct bench *b, uint64_t owner,
    struct breaker_admission *admission);

/* Its outcome; what opens is open for open_ms, without jitter. */
bool	bench_say(struct bench *b, const struct breaker_admission *admission,
    enum breaker_outcome outcome, uint64_t partition);

/* A call from admission to outcome; false if it was refused. */
bool	bench_call(struct bench *b, enum breaker_outcome outcome,
    uint64_t partition);

void	bench_fail_until_open(struct bench *b);

/* The next call is the probe. */
void	bench_await_half_open(struct bench *b);

#endif
