/* SPDX-License-Identifier: ISC */

/*
 * What the dead leave in a limiter, and slots that make no sense.
 */
#include "limiter.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "limiter_fixture.h"
#include "prng.h"

#define LIMIT	8u

static void
fill(struct fixture *f, struct limiter_ticket *held)
{
	struct limiter_request request = limited_request(0);

	limited_open(f, LIMIT, 64);
	for (unsigned i = 0; i < LIMIT; i++) {
		request.owner = i + 1;
		held[i] = limited_granted(f, &request);
	}
}

static struct limiter_ticket
wait_as(struct fixture *f, uint64_t owner, uint64_t worker)
{
	struct limiter_request request = limited_request(0);

	request.owner = owner;
	request.worker = worker;
	return limited_waits(f, &request);
}

/* The same must come of a sweep and of a rebuild. */
static void (*const looks[])(struct fixture *) = {
	limited_sweep, limited_rebuild,
};
#define LOOKS	(sizeof(looks) / sizeof(*looks))

Test(limiter_death, what_dead_owners_held_goes_to_those_who_wait)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		struct fixture f;
		struct limiter_ticket held[LIMIT], waits[3];

		fill(&f, held);
		waits[0] = wait_as(&f, 20, limiter_worker(2, 1));
		waits[1] = wait_as(&f, 21, limiter_worker(3, 1));
		waits[2] = wait_as(&f, 22, limiter_worker(4, 1));
		f.dead[3] = f.dead[5] = f.dead[20] = true;
		looks[i](&f);
		cr_assert_eq(f.told, 1u << 3 | 1u << 4);
		cr_assert_eq(limited_collect(&f, &waits[0]), MISS);
		cr_assert_eq(limited_collect(&f, &waits[1]), OK);
		cr_assert_eq(limited_collect(&f, &waits[2]), OK);
		cr_assert_null(limiter_permit(&f.limiter, held[2].permit,
		    held[2].token));
		cr_assert_eq(f.limiter.state->swept, 3);
		cr_assert_eq(f.limiter.state->in_flight, LIMIT);
		limited_close(&f);
	}
}

Test(limiter_death, places_of_a_dead_worker_go_with_their_permits)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		struct fixture f;
		struct limiter_ticket held[LIMIT], granted, waits, other;
		struct limiter_ticket collected;

		fill(&f, held);
		collected = wait_as(&f, 20, limiter_worker(2, 1));
		granted = wait_as(&f, 20, limiter_worker(2, 1));
		waits = wait_as(&f, 20, limiter_worker(2, 1));
		other = wait_as(&f, 21, limiter_worker(2, 2));
		limited_release(&f, &held[0]);
		limited_release(&f, &held[1]);
		cr_assert_eq(limited_collect(&f, &collected), OK);
		f.dead_worker = limiter_worker(2, 1);
		looks[i](&f);
		cr_assert_eq(limited_collect(&f, &granted), MISS);
		cr_assert_eq(limited_collect(&f, &waits), MISS);
		cr_assert(limited_is_granted(&f, &other), "its next life's");
		/* The client lives, and its permit with it. */
		limited_release(&f, &collected);
		cr_assert_eq(f.limiter.state->in_flight, LIMIT - 1);
		cr_assert_eq(f.limiter.state->waiting, 0);
		limited_close(&f);
	}
}

Test(limiter_death, overdue_permits_are_freed)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		struct fixture f;
		struct limiter_ticket held[LIMIT], late, waits;

		fill(&f, held);
		late = wait_as(&f, 20, limiter_worker(2, 1));
		f.now.ms += 1000;
		limited_release(&f, &held[0]);
		cr_assert(limited_is_granted(&f, &late));
		waits = wait_as(&f, 21, limiter_worker(2, 1));
		f.now.ms = held[1].deadline_ms - 1;
		looks[i](&f);
		cr_assert_eq(f.limiter.state->overdue, 0);
		f.now.ms++;
		looks[i](&f);
		cr_assert_eq(f.limiter.state->overdue, LIMIT - 1);
		cr_assert(limited_is_granted(&f, &waits));
		/* One that nobody collected in all that time. */
		f.now.ms += 1000;
		looks[i](&f);
		cr_assert_eq(f.limiter.state->overdue, LIMIT);
		cr_assert_eq(limited_collect(&f, &late), MISS);
		cr_assert_eq(f.limiter.state->in_flight, 1);
		limited_close(&f);
	}
}

/* A grant whose giver died between two of its stores; see limiter.h. */
Test(limiter_death, half_a_grant_is_completed_or_taken_back)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits[2];
	struct limiter_place *place;
	struct limiter_permit *permit;

	/* After (a): the place names a permit that nobody holds. */
	fill(&f, held);
	waits[0] = wait_as(&f, 20, limiter_worker(2, 1));
	waits[1] = wait_as(&f, 21, limiter_worker(3, 1));
	permit = &f.limiter.permits[held[0].permit];
	place = &f.limiter.places[waits[0].place];
	place->permit = held[0].permit;
	place->token = ++f.limiter.state->next_number;
	limited_rebuild(&f);
	cr_assert_eq(f.told, 0);
	cr_assert_eq(place->state, LIMITER_PLACE_WAITING);
	cr_assert_eq(limited_faults(&f), 0);

	/* After (c): the permit is held, the place still says it waits. */
	limited_release(&f, &held[0]);
	cr_assert_eq(place->state, LIMITER_PLACE_GRANTED);
	place->state = LIMITER_PLACE_WAITING;
	limited_rebuild(&f);
	cr_assert_eq(f.told, 1u << 2, "who granted could not tell");
	cr_assert_eq(place->state, LIMITER_PLACE_GRANTED);
	cr_assert(!limited_is_granted(&f, &waits[1]));
	cr_assert_eq(limited_faults(&f), 0);

	/* Given back by half: the permit's owner is gone, the place's not. */
	permit->owner = 0;
	limited_rebuild(&f);
	cr_assert_eq(place->owner, 0);
	cr_assert(limited_is_granted(&f, &waits[1]));
	limited_close(&f);
}

Test(limiter_death, a_granted_place_with_anothers_permit_is_freed)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits;

	fill(&f, held);
	waits = wait_as(&f, 20, limiter_worker(2, 1));
	limited_release(&f, &held[0]);
	f.limiter.places[waits.place].permit = held[1].permit;
	f.limiter.places[waits.place].token = held[1].token;
	limited_rebuild(&f);
	cr_assert_eq(f.told, 0);
	cr_assert_eq(limited_collect(&f, &waits), MISS);
	limited_release(&f, &held[1]);
	limited_close(&f);

	/* Its own grant, but another owner's by now. */
	fill(&f, held);
	waits = wait_as(&f, 20, limiter_worker(2, 1));
	limited_release(&f, &held[0]);
	f.limiter.permits[f.limiter.places[waits.place].permit].owner = 21;
	limited_rebuild(&f);
	cr_assert_eq(limited_collect(&f, &waits), MISS);
	cr_assert_eq(f.limiter.state->in_flight, LIMIT);
	limited_close(&f);
}

Test(limiter_death, slots_without_sense_are_freed)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], waits[9];
	struct limiter_place *places;

	fill(&f, held);
	for (unsigned i = 0; i < 9; i++) {
		waits[i] = wait_as(&f, 20, limiter_worker(i, 1));
	}
	places = f.limiter.places;
	places[waits[0].place].state = 77;
	places[waits[1].place].worker = limiter_worker(200, 1);
	places[waits[2].place].number = UINT64_MAX;
	places[waits[3].place].number = 0;
	places[waits[4].place].state = LIMITER_PLACE_GRANTED;
	places[waits[4].place].permit = UINT32_MAX;
	places[waits[5].place].number = waits[7].number;
	places[waits[6].place].deadline_ms = UINT64_MAX;
	places[waits[8].place].token = UINT64_MAX;
	f.limiter.permits[held[0].permit].token = UINT64_MAX;
	f.limiter.permits[held[1].permit].number = UINT64_MAX;
	f.limiter.permits[held[2].permit].deadline_ms = UINT64_MAX;
	limited_rebuild(&f);
	cr_assert_eq(limited_faults(&f), 0);
	/* 6 and one of 5 and 7 have the permits of 0 and 1; 8 waits on. */
	cr_assert_eq(f.limiter.state->waiting, 1);
	cr_assert_not(limited_is_granted(&f, &waits[8]));
	cr_assert_eq(f.limiter.state->uncollected, 2);
	cr_assert_eq(f.limiter.state->in_flight, LIMIT);
	cr_assert(limited_is_granted(&f, &waits[6]));
	f.now.ms += f.config.permit_ms;
	limited_sweep(&f);
	cr_assert(limited_is_granted(&f, &waits[8]));
	cr_assert_eq(f.limiter.state->in_flight, 1);
	limited_close(&f);
}

Test(limiter_death, a_ticket_of_the_past_fits_no_slot_after_a_rebuild)
{
	struct fixture f;
	struct limiter_ticket held[LIMIT], again;
	struct limiter_request request = limited_request(0);

	for (int slots_lost = 0; slots_lost < 2; slots_lost++) {
		fill(&f, held);
		for (unsigned i = 0; i < LIMIT; i++) {
			limited_release(&f, &held[i]);
		}
		if (slots_lost) {
			memset(f.limiter.permits, 0, (LIMIT + 1) *
			    sizeof(*f.limiter.permits));
		} else {
			/* The counter is lost, and no slot is taken. */
			limited_scribble(&f, 2);
		}
		limited_rebuild(&f);
		for (unsigned i = 0; i < LIMIT; i++) {
			again = limited_granted(&f, &request);
			for (unsigned j = 0; j < LIMIT; j++) {
				cr_assert_neq(again.token, held[j].token);
				cr_assert_null(limiter_permit(&f.limiter,
				    held[j].permit, held[j].token));
			}
		}
		limited_close(&f);
	}
}

/* Waiters of many partitions, hosts and clients, in no order of slots. */
static void
tangle(struct fixture *f, uint32_t permits, uint32_t places, uint64_t seed)
{
	struct limiter_ticket *tickets = calloc(places, sizeof(*tickets));
	struct limiter_request request = limited_request(0);
	struct prng p;

	cr_assert_not_null(tickets);
	prng_init(&p, seed);
	limited_open(f, permits, places);
	f->config.partition_places = places;
	f->config.partition_cap = 4;
	f->config.host_cap = permits / 2;
	for (uint32_t i = 0; i < 4 * places; i++) {
		uint32_t which = prng_below(&p, places);
		struct limiter_ticket *ticket = &tickets[which];

		limiter_cancel(&f->limiter, &f->config, ticket, f->now,
		    &f->told);
		request.owner = 1 + prng_below(&p, 60);
		request.client = prng_below(&p, 9);
		request.partition = prng_below(&p, 40);
		request.host = prng_below(&p, 5);
		request.marked = prng_one_in(&p, 4);
		request.worker = limiter_worker(prng_below(&p, 64), 1);
		/* Permits stay out: all that follow wait. */
		(void)limited_acquire(f, &request, ticket);
	}
	cr_assert_eq(f->limiter.state->in_flight, permits);
	cr_assert_gt(f->limiter.state->waiting, places / 2);
	free(tickets);
}

/* Frees the oldest permit again and again; a sum of who came when. */
static uint64_t
drain(struct fixture *f)
{
	uint64_t sum = 0;

	while (f->limiter.state->in_flight != 0) {
		struct limiter_ticket oldest = { .token = UINT64_MAX };

		for (uint32_t i = 1; i <= f->limiter.permit_capacity; i++) {
			struct limiter_permit *permit =
			    &f->limiter.permits[i];

			if (permit->owner != 0 &&
			    permit->token < oldest.token) {
				oldest.permit = i;
				oldest.token = permit->token;
			}
		}
		sum = sum * 31 + f->limiter.permits[oldest.permit].number;
		sum = sum * 31 + f->limiter.permits[oldest.permit].owner;
		limited_release(f, &oldest);
	}
	cr_assert_eq(f->limiter.state->waiting, 0);
	return sum;
}

Test(limiter_death, what_is_made_anew_equals_what_was_there)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct fixture whole, torn;

		tangle(&whole, 16, 300, seed);
		tangle(&torn, 16, 300, seed);
		cr_assert_eq(limited_faults(&whole), 0);
		limited_scribble(&torn, seed);
		cr_assert_neq(limited_faults(&torn), 0);
		limited_rebuild(&torn);
		cr_assert_eq(limited_faults(&torn), 0);
		cr_assert_eq(torn.limiter.state->in_flight,
		    whole.limiter.state->in_flight);
		cr_assert_eq(torn.limiter.state->waiting,
		    whole.limiter.state->waiting);
		cr_assert_eq(torn.limiter.state->uncollected,
		    whole.limiter.state->uncollected);
		cr_assert_eq(drain(&torn), drain(&whole), "seed %llu",
		    (unsigned long long)seed);
		free(whole.memory);
		free(torn.memory);
	}
}

Test(limiter_death, thousands_of_places_in_no_order_are_sorted)
{
	struct fixture f;
	struct prng p;

	tangle(&f, 64, LIMITER_PLACES, 1);
	/* Their numbers in no order at all, each once: shuffled. */
	prng_init(&p, 2);
	for (uint32_t i = LIMITER_PLACES; i > 1; i--) {
		struct limiter_place *one = &f.limiter.places[i];
		struct limiter_place *other =
		    &f.limiter.places[1 + prng_below(&p, i)];
		uint64_t number = one->number;

		if (one->state == LIMITER_PLACE_WAITING &&
		    other->state == LIMITER_PLACE_WAITING) {
			one->number = other->number;
			other->number = number;
		}
	}
	cr_assert_neq(limited_faults(&f), 0);
	limited_rebuild(&f);
	cr_assert_eq(limited_faults(&f), 0);
	cr_assert_gt(f.limiter.state->waiting, LIMITER_PLACES / 2);
	free(f.memory);
}
