/* SPDX-License-Identifier: ISC */

/*
 * A limiter in this process's memory, a clock that stands still, and who is
 * dead.
 */
#ifndef LIMITER_FIXTURE_H
#define LIMITER_FIXTURE_H

#include "limiter.h"

#define FIXTURE_OWNERS	64u
#define FIXTURE_START_MS	1000u

struct fixture {
	struct limiter	limiter;
	struct limiter_config config;
	struct boot_ms	now;
	void		*memory;
	size_t		bytes;
	uint64_t	told;		/* by what was called last */
	bool		dead[FIXTURE_OWNERS];
	uint64_t	dead_worker;	/* 0 none */
};

/* Defaults but for the capacities, which are the config's, too. */
void	limited_open(struct fixture *fixture, uint32_t permits,
    uint32_t places);
/* More permits than the limit, so that the limit is the config's. */
void	limited_open_limit(struct fixture *fixture, uint32_t limit);
void	limited_close(struct fixture *fixture);

/* A foreground request that may wait, of owner 1 and worker 1. */
struct limiter_request limited_request(uint64_t partition);

enum result limited_acquire(struct fixture *fixture,
    const struct limiter_request *request, struct limiter_ticket *ticket);

/* Asserts that it is granted, waits, or is refused for that reason. */
struct limiter_ticket limited_granted(struct fixture *fixture,
    const struct limiter_request *request);
struct limiter_ticket limited_waits(struct fixture *fixture,
    const struct limiter_request *request);
void	limited_refused(struct fixture *fixture,
    const struct limiter_request *request, enum limiter_refusal why);

/* So many permits without a partition's cap. */
void	limited_fill(struct fixture *fixture, struct limiter_ticket *held,
    unsigned count);

/* Asserts that it is there. */
void	limited_release(struct fixture *fixture,
    const struct limiter_ticket *ticket);

enum result limited_collect(struct fixture *fixture,
    struct limiter_ticket *ticket);
bool	limited_is_granted(const struct fixture *fixture,
    const struct limiter_ticket *ticket);
void	limited_sweep(struct fixture *fixture);
void	limited_rebuild(struct fixture *fixture);

/* Random bytes over everything derived. */
void	limited_scribble(struct fixture *fixture, uint64_t seed);

unsigned limited_faults(const struct fixture *fixture);

#endif
