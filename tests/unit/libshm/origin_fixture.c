/* SPDX-License-Identifier: ISC */

/*
 * The world around an origin under test.
 */
#include "origin_fixture.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static bool
is_dead(void *arg, uint64_t owner)
{
	const struct world *world = arg;

	return owner < world->dead_below;
}

static bool
is_worker_dead(void *arg, uint64_t worker)
{
	const struct world *world = arg;

	return worker == world->dead_worker;
}

static void
note_told(void *arg, uint32_t origin, uint64_t workers)
{
	struct world *world = arg;

	cr_assert_eq(origin, ORIGIN_INDEX);
	if (world->signal_when_told != 0) {
		(void)raise(world->signal_when_told);
	}
	world->told |= workers;
	world->tells++;
}

void
world_init(struct world *world)
{
	memset(world, 0, sizeof(*world));
	origin_config_init(&world->config);
	world->now.ms = 50000000;
	world->dead_worker = UINT64_MAX;
	prng_init(&world->random, 1);
}

void
world_create(struct world *world)
{
	struct origin_door door = {
		.dead = is_dead,
		.worker_dead = is_worker_dead,
		.tell = note_told,
		.arg = world,
	};

	origin_config_derive(&world->config);
	world->bytes = origin_bytes(&world->config);
	cr_assert_neq(world->bytes, 0);
	world->memory = mmap(NULL, world->bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(world->memory, MAP_FAILED);
	cr_assert_eq(origin_create(world->memory, "shop", &world->config),
	    OK);
	cr_assert(origin_bind(&world->origin, world->memory, world->bytes,
	    ORIGIN_INDEX, &door));
}

void
world_start(struct world *world)
{
	world_init(world);
	world_create(world);
}

struct origin_request
world_request(uint64_t owner, uint64_t partition)
{
	struct origin_request request = {
		.owner = owner,
		.worker = limiter_worker(1, 1),
		.partition = partition,
		.class = LIMITER_FOREGROUND,
		.wait_ms = 5000,
	};

	return request;
}

static void
note_events(struct world *world, unsigned events)
{
	world->events |= events;
	world->opened += (events & ORIGIN_OPENED) != 0;
	world->closed += (events & ORIGIN_CLOSED) != 0;
}

enum origin_answer
world_ask(struct world *world, const struct origin_request *request,
    struct origin_ticket *ticket)
{
	enum origin_answer answer = origin_acquire(&world->origin, request,
	    prng_next(&world->random), world->now, ticket);

	note_events(world, ticket->events);
	return answer;
}

enum origin_answer
world_acquire(struct world *world, uint64_t owner, uint64_t partition,
    struct origin_ticket *ticket)
{
	struct origin_request request = world_request(owner, partition);

	return world_ask(world, &request, ticket);
}

enum origin_answer
world_collect(struct world *world, uint64_t owner,
    struct origin_ticket *ticket)
{
	enum origin_answer answer = origin_collect(&world->origin, ticket,
	    owner, prng_next(&world->random), world->now);

	note_events(world, ticket->events);
	return answer;
}

enum result
world_release(struct world *world, uint64_t owner,
    const struct origin_ticket *ticket, enum breaker_outcome outcome)
{
	unsigned events;
	enum result res = origin_release(&world->origin, ticket->permit,
	    ticket->upload, ticket->token, owner, outcome,
	    prng_next(&world->random), world->now, &events);

	note_events(world, events);
	return res;
}

void
world_sweep(struct world *world)
{
	unsigned events;

	cr_assert(origin_sweep(&world->origin, world->now, &events));
	note_events(world, events);
}

struct origin_view
world_look(struct world *world)
{
	struct origin_view view;

	cr_assert_eq(origin_look(&world->origin, world->now, &view), OK);
	return view;
}

enum origin_answer
world_call(struct world *world, uint64_t owner, uint64_t partition,
    enum breaker_outcome outcome)
{
	struct origin_ticket ticket;
	enum origin_answer answer = world_acquire(world, owner, partition,
	    &ticket);

	if (answer == ORIGIN_GRANTED) {
		cr_assert_eq(world_release(world, owner, &ticket, outcome),
		    OK);
	}
	return answer;
}

void
world_fill(struct world *world, struct origin_ticket *tickets,
    unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		cr_assert_eq(world_acquire(world, FIRST_OWNER + i,
		    PARTITION + i, &tickets[i]), ORIGIN_GRANTED, "call %u",
		    i);
	}
}

void
world_fail_until_open(struct world *world)
{
	for (unsigned i = 0; i < 1000; i++) {
		if (world_call(world, FIRST_OWNER, PARTITION + i % 4,
		    BREAKER_FAILURE) == ORIGIN_OPEN) {
			return;
		}
	}
	cr_assert_fail("it does not open");
}

void
world_expect_idle(struct world *world)
{
	struct origin_view view = world_look(world);

	cr_assert_eq(origin_verify(&world->origin, world->now), 0);
	cr_assert_eq(view.in_flight, 0, "%u in flight", view.in_flight);
	cr_assert_eq(view.waiting, 0, "%u waiting", view.waiting);
	cr_assert_eq(view.upload_in_flight, 0);
	cr_assert_eq(view.upload_waiting, 0);
}
