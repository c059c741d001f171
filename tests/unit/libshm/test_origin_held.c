/* SPDX-License-Identifier: ISC */

#include "origin_held.h"

#include <criterion/criterion.h>

#include "origin_fixture.h"

#define MINE	FIRST_OWNER
#define OTHERS	(FIRST_OWNER + 1)
#define CALLS	10u
#define UPLOADS	3u
#define AT_ONCE	4u

static void
take(struct world *world, uint64_t owner, bool upload,
    struct origin_ticket *ticket)
{
	struct origin_request request = world_request(owner, 0);

	request.upload = upload;
	cr_assert_eq(world_ask(world, &request, ticket), ORIGIN_GRANTED);
}

Test(origin_held, are_listed_in_parts_and_of_their_owner_alone)
{
	struct world world;
	struct origin_ticket calls[CALLS], uploads[UPLOADS], ticket;
	struct origin_held held[AT_ONCE], after = { 0 };
	uint32_t count, of_calls = 0, of_uploads = 0, parts = 0;

	world_start(&world);
	for (unsigned i = 0; i < CALLS; i++) {
		take(&world, OTHERS, false, &ticket);
		take(&world, MINE, false, &calls[i]);
	}
	for (unsigned i = 0; i < UPLOADS; i++) {
		take(&world, MINE, true, &uploads[i]);
	}
	take(&world, OTHERS, true, &ticket);
	for (;;) {
		cr_assert_eq(origin_list_held(&world.origin, MINE, &after,
		    held, AT_ONCE, &count, world.now), OK);
		if (count == 0) {
			break;
		}
		parts++;
		for (uint32_t i = 0; i < count; i++) {
			const struct origin_ticket *as = held[i].upload ?
			    &uploads[of_uploads++] : &calls[of_calls++];

			cr_assert_eq(held[i].permit, as->permit);
			cr_assert_eq(held[i].token, as->token);
		}
	}
	cr_assert_eq(of_calls, CALLS);
	cr_assert_eq(of_uploads, UPLOADS);
	cr_assert_eq(parts, (CALLS + UPLOADS + AT_ONCE - 1) / AT_ONCE);
}

Test(origin_held, may_be_released_while_they_are_listed)
{
	struct world world;
	struct origin_ticket tickets[CALLS];
	struct origin_held held[AT_ONCE], after = { 0 };
	uint32_t count, released = 0;
	unsigned events;

	world_start(&world);
	for (unsigned i = 0; i < CALLS; i++) {
		take(&world, MINE, false, &tickets[i]);
	}
	do {
		cr_assert_eq(origin_list_held(&world.origin, MINE, &after,
		    held, AT_ONCE, &count, world.now), OK);
		for (uint32_t i = 0; i < count; i++) {
			cr_assert_eq(origin_release(&world.origin,
			    held[i].permit, held[i].upload, held[i].token,
			    MINE, BREAKER_NEUTRAL, 7, world.now, &events),
			    OK);
			released++;
		}
	} while (count > 0);
	cr_assert_eq(released, CALLS);
	world_expect_idle(&world);
}
