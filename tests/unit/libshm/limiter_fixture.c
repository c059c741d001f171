/* SPDX-License-Identifier: ISC */

#include "limiter_fixture.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "prng.h"

void
limited_open(struct fixture *fixture, uint32_t permits, uint32_t places)
{
	static const struct limiter_config config = LIMITER_CONFIG_INIT;

	memset(fixture, 0, sizeof(*fixture));
	fixture->config = config;
	fixture->config.limit = permits;
	fixture->config.places = places;
	fixture->now.ms = FIXTURE_START_MS;
	fixture->bytes = limiter_bytes(permits, places);
	cr_assert_neq(fixture->bytes, 0);
	fixture->memory = malloc(fixture->bytes);
	cr_assert_not_null(fixture->memory);
	/* init has to do with whatever is there. */
	memset(fixture->memory, 0xa5, fixture->bytes);
	limiter_bind(&fixture->limiter, fixture->memory, permits, places);
	limiter_init(&fixture->limiter);
	cr_assert_eq(limited_faults(fixture), 0);
}

void
limited_open_limit(struct fixture *fixture, uint32_t limit)
{
	limited_open(fixture, 4 * limit, 64);
	fixture->config.limit = limit;
}

void
limited_close(struct fixture *fixture)
{
	cr_assert_eq(limited_faults(fixture), 0);
	free(fixture->memory);
}

struct limiter_request
limited_request(uint64_t partition)
{
	struct limiter_request request = {
		.owner = 1,
		.partition = partition,
		.worker = limiter_worker(1, 1),
		.class = LIMITER_FOREGROUND,
		.wait_ms = LIMITER_WAIT_MS,
	};

	return request;
}

enum result
limited_acquire(struct fixture *fixture,
    const struct limiter_request *request, struct limiter_ticket *ticket)
{
	enum result res = limiter_acquire(&fixture->limiter,
	    &fixture->config, request, fixture->now, ticket);

	fixture->told = ticket->told;
	return res;
}

struct limiter_ticket
limited_granted(struct fixture *fixture,
    const struct limiter_request *request)
{
	struct limiter_ticket ticket;

	cr_assert_eq(limited_acquire(fixture, request, &ticket), OK);
	cr_assert_not_null(limiter_permit(&fixture->limiter, ticket.permit,
	    ticket.token));
	return ticket;
}

struct limiter_ticket
limited_waits(struct fixture *fixture, const struct limiter_request *request)
{
	struct limiter_ticket ticket;

	cr_assert_eq(limited_acquire(fixture, request, &ticket), GROWING);
	cr_assert_neq(ticket.place, 0);
	return ticket;
}

void
limited_refused(struct fixture *fixture,
    const struct limiter_request *request, enum limiter_refusal why)
{
	uint64_t before = fixture->limiter.state->refused[why];
	struct limiter_ticket ticket;

	cr_assert_eq(limited_acquire(fixture, request, &ticket), BUSY);
	cr_assert_eq(ticket.refusal, why, "%s, not %s",
	    limiter_refusal_name(ticket.refusal), limiter_refusal_name(why));
	cr_assert_eq(fixture->limiter.state->refused[why], before + 1);
	cr_assert_eq(ticket.permit, 0);
	cr_assert_eq(ticket.place, 0);
}

void
limited_fill(struct fixture *fixture, struct limiter_ticket *held,
    unsigned count)
{
	/* Partition 0 has no cap. */
	struct limiter_request request = limited_request(0);

	for (unsigned i = 0; i < count; i++) {
		held[i] = limited_granted(fixture, &request);
	}
}

void
limited_release(struct fixture *fixture, const struct limiter_ticket *ticket)
{
	fixture->told = 0;
	cr_assert(limiter_release(&fixture->limiter, &fixture->config,
	    ticket->permit, ticket->token, fixture->now, &fixture->told));
}

enum result
limited_collect(struct fixture *fixture, struct limiter_ticket *ticket)
{
	return limiter_collect(&fixture->limiter, &fixture->config, ticket,
	    fixture->now);
}

bool
limited_is_granted(const struct fixture *fixture,
    const struct limiter_ticket *ticket)
{
	const struct limiter_place *place =
	    &fixture->limiter.places[ticket->place];

	cr_assert_eq(place->number, ticket->number);
	return place->state == LIMITER_PLACE_GRANTED;
}

static bool
owner_is_dead(void *arg, uint64_t owner)
{
	const struct fixture *fixture = arg;

	return owner < FIXTURE_OWNERS && fixture->dead[owner];
}

static bool
worker_is_dead(void *arg, uint64_t worker)
{
	const struct fixture *fixture = arg;

	return fixture->dead_worker != 0 && worker == fixture->dead_worker;
}

void
limited_sweep(struct fixture *fixture)
{
	fixture->told = 0;
	limiter_sweep(&fixture->limiter, &fixture->config, fixture->now,
	    owner_is_dead, worker_is_dead, fixture, &fixture->told);
}

void
limited_rebuild(struct fixture *fixture)
{
	fixture->told = 0;
	limiter_rebuild(&fixture->limiter, &fixture->config, fixture->now,
	    owner_is_dead, worker_is_dead, fixture, &fixture->told);
}

static void
scribble(void *at, void *end, struct prng *p)
{
	uint8_t *byte = at;

	for (; byte < (uint8_t *)end; byte++) {
		*byte = (uint8_t)prng_next(p);
	}
}

void
limited_scribble(struct fixture *fixture, uint64_t seed)
{
	struct limiter *limiter = &fixture->limiter;
	struct prng p;

	prng_init(&p, seed);
	limiter->state->next_number = seed % 2 == 0 ? 0 : UINT64_MAX;
	scribble(&limiter->state->in_flight, limiter->state + 1, &p);
	for (uint32_t i = 0; i <= limiter->permit_capacity; i++) {
		scribble(&limiter->permits[i].row, &limiter->permits[i + 1],
		    &p);
	}
	for (uint32_t i = 0; i <= limiter->place_capacity; i++) {
		scribble(&limiter->places[i].row, &limiter->places[i + 1],
		    &p);
	}
	scribble(limiter->rows, (uint8_t *)fixture->memory + fixture->bytes,
	    &p);
}

unsigned
limited_faults(const struct fixture *fixture)
{
	return limiter_verify(&fixture->limiter, &fixture->config);
}
