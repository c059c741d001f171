/* SPDX-License-Identifier: ISC */

/*
 * A limiter in this process's memory, without the lock of its origin.  A
 * release with waiters is all that a worker does then: release, take the
 * granted place, collect it; and one more comes, so that as many wait.
 */
#include "micro_origin.h"

#include <stdlib.h>

#include "limiter.h"

#define FEW		80u
#define MANY		8000u
/* Of the partition or host behind which all wait. */
#define CAP		16u
#define WORKER		limiter_worker(1, 1)

enum wait_kind {
	OWN_PARTITIONS,		/* each may run when a permit is free */
	ONE_PARTITION,		/* which is at its cap */
	ONE_HOST,		/* which is, in partitions of their own */
};

static const char *const kind_names[] = {
	[OWN_PARTITIONS] = "in partitions of their own",
	[ONE_PARTITION] = "behind one full partition",
	[ONE_HOST] = "behind one full host",
};

struct crowd {
	const struct bench *b;
	enum wait_kind	kind;
	struct limiter	limiter;
	struct limiter_config config;
	void		*memory;
	struct boot_ms	now;
	uint64_t	arrived;
	struct limiter_ticket held[LIMITER_LIMIT];
	struct limiter_ticket *waits;	/* by place */
};

static struct crowd *
open_crowd(const struct bench *b, enum wait_kind kind)
{
	static const struct limiter_config config = LIMITER_CONFIG_INIT;
	struct crowd *c = calloc(1, sizeof(*c));

	if (c == NULL || (c->waits = calloc(LIMITER_PLACES + 1,
	    sizeof(*c->waits))) == NULL || (c->memory = malloc(
	    limiter_bytes(LIMITER_LIMIT, LIMITER_PLACES))) == NULL) {
		bench_fail(b, "short of memory");
	}
	c->b = b;
	c->kind = kind;
	c->config = config;
	c->config.partition_cap = CAP;
	c->config.partition_places = LIMITER_PLACES;
	c->config.host_cap = kind == ONE_HOST ? CAP : 0;
	c->now.ms = 1;
	limiter_bind(&c->limiter, c->memory, LIMITER_LIMIT, LIMITER_PLACES);
	limiter_init(&c->limiter);
	return c;
}

static void
close_crowd(struct crowd *c)
{
	if (limiter_verify(&c->limiter, &c->config) != 0) {
		bench_fail(c->b, "the limiter's words do not fit each other");
	}
	free(c->memory);
	free(c->waits);
	free(c);
}

/* One of the crowd, or (free_one) one that nothing but permits holds up. */
static enum result
arrive(struct crowd *c, bool free_one, struct limiter_ticket *ticket)
{
	struct limiter_request request = {
		.owner = 1,
		.client = 1 + c->arrived % 1000,
		.worker = WORKER,
		.class = LIMITER_FOREGROUND,
		.wait_ms = LIMITER_WAIT_MS,
	};

	c->arrived++;
	request.host = free_one ? 0 : 1;
	request.partition = c->kind == ONE_PARTITION && !free_one ? 1 :
	    1 + c->arrived;
	return limiter_acquire(&c->limiter, &c->config, &request, c->now,
	    ticket);
}

static void
queue_one(struct crowd *c)
{
	struct limiter_ticket ticket;

	if (arrive(c, false, &ticket) != GROWING) {
		bench_fail(c->b, "one who should wait does not");
	}
	c->waits[ticket.place] = ticket;
}

static void
gather(struct crowd *c, uint32_t waiters)
{
	for (uint32_t i = 0; i < LIMITER_LIMIT; i++) {
		/* Those that fill what the crowd waits behind, then others. */
		if (arrive(c, i >= CAP, &c->held[i]) != OK) {
			bench_fail(c->b, "a free permit was not given");
		}
	}
	for (uint32_t i = 0; i < waiters; i++) {
		queue_one(c);
	}
}

static void
release_one(struct crowd *c, struct limiter_ticket *held)
{
	uint64_t told = 0;
	uint32_t place;

	if (!limiter_release(&c->limiter, &c->config, held->permit,
	    held->token, c->now, &told)) {
		bench_fail(c->b, "a permit was lost");
	}
	place = limiter_next_granted(&c->limiter, WORKER);
	if (place == 0) {
		/* All that wait wait behind the full one: anybody else's. */
		if (told != 0 || arrive(c, true, held) != OK) {
			bench_fail(c->b, "a free permit was not given");
		}
		return;
	}
	*held = c->waits[place];
	if (limiter_collect(&c->limiter, &c->config, held, c->now) != OK) {
		bench_fail(c->b, "a granted place was lost");
	}
	queue_one(c);
}

static double
time_releases(struct crowd *c, uint64_t count)
{
	uint64_t start = measure_now_ns();

	for (uint64_t i = 0; i < count; i++) {
		release_one(c, &c->held[i % LIMITER_LIMIT]);
	}
	return (double)(measure_now_ns() - start) / (double)count;
}

static void
measure_crowd(struct bench *b, const char *step, enum wait_kind kind,
    uint32_t waiters)
{
	struct crowd *c = open_crowd(b, kind);
	unsigned rounds = (unsigned)bench_amount(b, 5, 11, 21);
	uint64_t count = bench_amount(b, 20000, 100000, 100000);
	double ns[MEASURE_MAX_ROUNDS];

	gather(c, waiters);
	/* Until no one of the first crowd is left. */
	(void)time_releases(c, (uint64_t)waiters * LIMITER_LIMIT / CAP);
	for (unsigned round = 0; round < rounds; round++) {
		ns[round] = time_releases(c, count);
	}
	bench_begin_row(b);
	bench_add_text(b, "step", "%s", step);
	bench_add_text(b, "waiters", "%s", kind_names[kind]);
	bench_add_number(b, "ns", measure_median(ns, rounds));
	close_crowd(c);
}

static void
measure_permit(struct bench *b)
{
	struct crowd *c = open_crowd(b, OWN_PARTITIONS);
	unsigned rounds = (unsigned)bench_amount(b, 5, 11, 21);
	uint64_t count = bench_amount(b, 100000, 1000000, 1000000);
	double ns[MEASURE_MAX_ROUNDS];
	struct limiter_ticket ticket;
	uint64_t told = 0;

	for (unsigned round = 0; round < rounds; round++) {
		uint64_t start = measure_now_ns();

		for (uint64_t i = 0; i < count; i++) {
			if (arrive(c, false, &ticket) != OK ||
			    !limiter_release(&c->limiter, &c->config,
			    ticket.permit, ticket.token, c->now, &told)) {
				bench_fail(b, "a free permit was not given");
			}
		}
		ns[round] = (double)(measure_now_ns() - start) /
		    (double)count;
	}
	bench_begin_row(b);
	bench_add_text(b, "step", "permit");
	bench_add_text(b, "waiters", "none");
	bench_add_number(b, "ns", measure_median(ns, rounds));
	close_crowd(c);
}

void
micro_measure_origin(struct bench *b)
{
	measure_permit(b);
	for (unsigned kind = OWN_PARTITIONS; kind <= ONE_HOST; kind++) {
		measure_crowd(b, "release_80_waiters", kind, FEW);
		measure_crowd(b, "release_8000_waiters", kind, MANY);
	}
}
