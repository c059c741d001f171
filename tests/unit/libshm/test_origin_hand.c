/* SPDX-License-Identifier: ISC */

/*
 * An origin's configuration, its memory, and what people do to it.
 */
#include "origin.h"

#include "origin_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#define ALICE	FIRST_OWNER
#define BOB	(FIRST_OWNER + 1)

static struct boot_ms
in(const struct world *world, uint64_t ms)
{
	struct boot_ms then = { .ms = world->now.ms + ms };

	return then;
}

Test(origin_hand, a_name_a_limit_or_a_time_out_of_range_is_refused)
{
	struct world world;
	struct origin_config config;
	char longest[ORIGIN_NAME_BYTES + 1];

	world_start(&world);
	cr_assert_str_eq(origin_name(&world.origin), "shop");
	memset(longest, 'x', sizeof(longest));
	longest[ORIGIN_NAME_BYTES] = '\0';
	config = world.config;
	cr_assert_eq(origin_create(world.memory, longest, &config), INVALID);
	cr_assert_eq(origin_create(world.memory, "", &config), INVALID);
	config.limiter.limit = 0;
	cr_assert_eq(origin_bytes(&config), 0);
	config.limiter.limit = ORIGIN_LIMIT_MAX + 1;
	cr_assert_eq(origin_bytes(&config), 0);
	cr_assert_eq(origin_create(world.memory, "a", &config), INVALID);
	config = world.config;
	config.breaker.open_max_ms = config.breaker.open_ms - 1;
	cr_assert_eq(origin_configure(&world.origin, &config, world.now),
	    INVALID);
	config = world.config;
	config.limiter.places *= 2;
	cr_assert_eq(origin_configure(&world.origin, &config, world.now),
	    INVALID, "more than there is memory for");
	cr_assert_eq(origin_verify(&world.origin, world.now), 0);
}

Test(origin_hand, bytes_that_are_no_origin_are_not_bound)
{
	struct world world;
	struct origin_door door = { 0 };
	struct origin other;
	uint8_t *bytes;
	unsigned refused = 0;

	world_start(&world);
	bytes = world.memory;
	cr_assert(origin_bind(&other, bytes, world.bytes, 0, &door));
	cr_assert_not(origin_bind(&other, bytes, world.bytes - 1, 0, &door));
	cr_assert_not(origin_bind(&other, bytes, 7, 0, &door));
	/* Magic, name and capacities come first, each damaged in turn. */
	for (unsigned i = 0; i < 8 + ORIGIN_NAME_BYTES + 16; i++) {
		uint8_t before = bytes[i];

		bytes[i] ^= 0x80;
		refused += !origin_bind(&other, bytes, world.bytes, 0, &door);
		bytes[i] = before;
	}
	cr_assert_geq(refused, 8 + 12, "%u", refused);
	memset(bytes, 0xff, 8 + ORIGIN_NAME_BYTES + 16);
	cr_assert_not(origin_bind(&other, bytes, world.bytes, 0, &door));
}

Test(origin_hand, a_lowered_limit_drains_and_a_raised_one_grants)
{
	struct world world;
	struct origin_ticket held[4], waits[4];
	uint32_t old;

	world_init(&world);
	world.config.limiter.limit = 4;
	world_create(&world);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(world_acquire(&world, ALICE, i, &held[i]),
		    ORIGIN_GRANTED);
	}
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(world_acquire(&world, BOB, i, &waits[i]),
		    ORIGIN_WAIT);
	}
	cr_assert_eq(origin_set_limit(&world.origin, 2, world.now, &old), OK);
	cr_assert_eq(old, 4);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(world_release(&world, ALICE, &held[i],
		    BREAKER_SUCCESS), OK);
		cr_assert_eq(world_look(&world).waiting, 4);
	}
	cr_assert_eq(world_look(&world).in_flight, 2);
	cr_assert_eq(origin_set_limit(&world.origin, 5, world.now, &old), OK);
	cr_assert_eq(old, 2);
	cr_assert_eq(world_look(&world).in_flight, 5);
	cr_assert_eq(world.told, UINT64_C(1) << 1);
	cr_assert_eq(world_look(&world).config.upload.limit, 1);
	cr_assert_eq(world_collect(&world, BOB, &waits[0]), ORIGIN_GRANTED);
	cr_assert_eq(world_collect(&world, BOB, &waits[3]), ORIGIN_WAIT);
	cr_assert_eq(origin_set_limit(&world.origin, 0, world.now, &old),
	    INVALID);
	cr_assert_eq(origin_set_limit(&world.origin,
	    world_look(&world).limit_max + 1, world.now, &old), INVALID);
	cr_assert_eq(origin_set_limit(&world.origin,
	    world_look(&world).limit_max, world.now, &old), OK);
	cr_assert_eq(origin_verify(&world.origin, world.now), 0);
}

Test(origin_hand, a_higher_cap_by_configuration_lets_waiters_run)
{
	struct world world;
	struct origin_ticket held[LIMITER_PARTITION_CAP], waits;
	struct origin_config config;

	world_start(&world);
	for (unsigned i = 0; i < LIMITER_PARTITION_CAP; i++) {
		cr_assert_eq(world_acquire(&world, ALICE, PARTITION,
		    &held[i]), ORIGIN_GRANTED);
	}
	cr_assert_eq(world_acquire(&world, BOB, PARTITION, &waits),
	    ORIGIN_WAIT);
	config = world_look(&world).config;
	config.limiter.partition_cap = LIMITER_PARTITION_CAP + 1;
	cr_assert_eq(origin_configure(&world.origin, &config, world.now),
	    OK);
	cr_assert_eq(world_collect(&world, BOB, &waits), ORIGIN_GRANTED);
}

Test(origin_hand, tripped_and_reset_it_says_so_once)
{
	struct world world;
	struct origin_ticket ticket;

	world_start(&world);
	cr_assert_eq(origin_trip(&world.origin, 0, world.now), OK);
	cr_assert_eq(world.told, UINT64_MAX);
	cr_assert_eq(world_acquire(&world, ALICE, 1, &ticket), ORIGIN_OPEN);
	cr_assert_eq(world_acquire(&world, ALICE, 1, &ticket), ORIGIN_OPEN);
	cr_assert_eq(world.opened, 1);
	cr_assert_eq(origin_reset(&world.origin, world.now), OK);
	cr_assert_eq(world_call(&world, ALICE, 1, BREAKER_SUCCESS),
	    ORIGIN_GRANTED);
	cr_assert_eq(world.closed, 1);
	world.config.breaker.enabled = 0;
	cr_assert_eq(origin_configure(&world.origin, &world.config,
	    world.now), OK);
	cr_assert_eq(origin_trip(&world.origin, 0, world.now), INVALID,
	    "there is nothing to trip");
}

Test(origin_hand, a_hold_decides_alone_until_its_end)
{
	struct world world;
	struct boot_ms none = { .ms = 0 };

	world_start(&world);
	cr_assert_eq(origin_hold(&world.origin, BREAKER_OPEN,
	    in(&world, 60000), world.now), OK);
	cr_assert_eq(world.told, UINT64_MAX);
	cr_assert(world_look(&world).held);
	cr_assert_eq(world_call(&world, ALICE, 1, BREAKER_SUCCESS),
	    ORIGIN_OPEN);
	world.now.ms += 60000;
	cr_assert_eq(world_call(&world, ALICE, 1, BREAKER_SUCCESS),
	    ORIGIN_GRANTED);
	cr_assert_eq(origin_hold(&world.origin, BREAKER_CLOSED,
	    in(&world, ORIGIN_MODE_MAX_MS), world.now), OK);
	for (unsigned i = 0; i < 100; i++) {
		cr_assert_eq(world_call(&world, ALICE, i, BREAKER_FAILURE),
		    ORIGIN_GRANTED);
	}
	cr_assert_eq(origin_hold(&world.origin, BREAKER_CLOSED, none,
	    world.now), OK);
	cr_assert_not(world_look(&world).held);
	cr_assert_eq(world_call(&world, ALICE, 1, BREAKER_FAILURE),
	    ORIGIN_GRANTED);
	cr_assert_eq(world_call(&world, ALICE, 1, BREAKER_FAILURE),
	    ORIGIN_OPEN);
}

Test(origin_hand, a_hold_or_mode_without_an_end_within_a_day_is_refused)
{
	struct world world;

	world_start(&world);
	cr_assert_eq(origin_hold(&world.origin, BREAKER_OPEN,
	    in(&world, ORIGIN_MODE_MAX_MS + 1), world.now), INVALID);
	cr_assert_eq(origin_hold(&world.origin, BREAKER_OPEN, in(&world, 0),
	    world.now), INVALID);
	cr_assert_eq(origin_hold(&world.origin, BREAKER_HALF_OPEN,
	    in(&world, 10), world.now), INVALID);
	cr_assert_eq(origin_set_mode(&world.origin, ORIGIN_BYPASS,
	    in(&world, ORIGIN_MODE_MAX_MS + 1), world.now), INVALID);
	cr_assert_eq(origin_set_mode(&world.origin, ORIGIN_BYPASS,
	    in(&world, 0), world.now), INVALID);
	cr_assert_eq(origin_set_mode(&world.origin, ORIGIN_MODES,
	    in(&world, 10), world.now), INVALID);
	cr_assert_eq(origin_mode_now(&world.origin, world.now),
	    ORIGIN_NORMAL);
}

Test(origin_hand, a_mode_ends_by_itself_and_by_hand)
{
	struct world world;
	struct boot_ms begin;

	world_start(&world);
	begin = world.now;
	cr_assert_eq(origin_set_mode(&world.origin, ORIGIN_STALE_ON_ERROR,
	    in(&world, ORIGIN_MODE_MAX_MS), world.now), OK);
	cr_assert_eq(origin_mode_now(&world.origin, world.now),
	    ORIGIN_STALE_ON_ERROR);
	cr_assert_eq(world_look(&world).mode_until_ms,
	    begin.ms + ORIGIN_MODE_MAX_MS);
	world.now.ms += ORIGIN_MODE_MAX_MS - 1;
	cr_assert_eq(origin_mode_now(&world.origin, world.now),
	    ORIGIN_STALE_ON_ERROR);
	world.now.ms++;
	cr_assert_eq(origin_mode_now(&world.origin, world.now),
	    ORIGIN_NORMAL);
	cr_assert_eq(origin_set_mode(&world.origin, ORIGIN_BYPASS,
	    in(&world, 1000), world.now), OK);
	cr_assert_eq(origin_mode_now(&world.origin, world.now),
	    ORIGIN_BYPASS);
	cr_assert_eq(origin_set_mode(&world.origin, ORIGIN_NORMAL,
	    in(&world, 0), world.now), OK);
	cr_assert_eq(origin_mode_now(&world.origin, world.now),
	    ORIGIN_NORMAL);
	cr_assert_str_eq(origin_mode_name(ORIGIN_BYPASS), "bypass");
	cr_assert_str_eq(origin_mode_name(ORIGIN_MODES), "unknown");
}

/* What tells a worker that each place has to be collected. */
Test(origin_hand, openings_rise_when_something_opens_and_only_then)
{
	struct world world;
	struct boot_ms until;
	uint64_t seen;

	world_init(&world);
	world.config.breaker_by_partition = 1;
	world_create(&world);
	seen = origin_openings(&world.origin);
	for (unsigned i = 0; i < BREAKER_MIN_OUTCOMES; i++) {
		cr_assert_eq(origin_openings(&world.origin), seen);
		(void)world_call(&world, FIRST_OWNER, PARTITION,
		    BREAKER_FAILURE);
		(void)world_call(&world, FIRST_OWNER, 1, BREAKER_SUCCESS);
		(void)world_call(&world, FIRST_OWNER, 1, BREAKER_SUCCESS);
	}
	cr_assert_eq(world_look(&world).partitions_open, 1);
	cr_assert_eq(origin_openings(&world.origin), seen + 1);
	/* It is open yet, and tells nobody anything new. */
	(void)world_call(&world, FIRST_OWNER, PARTITION, BREAKER_SUCCESS);
	(void)world_call(&world, FIRST_OWNER, 1, BREAKER_SUCCESS);
	cr_assert_eq(origin_openings(&world.origin), seen + 1);
	cr_assert_eq(origin_trip(&world.origin, 0, world.now), OK);
	cr_assert_eq(origin_openings(&world.origin), seen + 2);
	cr_assert_eq(origin_reset(&world.origin, world.now), OK);
	until.ms = world.now.ms + 1000;
	cr_assert_eq(origin_hold(&world.origin, BREAKER_CLOSED, until,
	    world.now), OK);
	cr_assert_eq(origin_openings(&world.origin), seen + 2);
	cr_assert_eq(origin_hold(&world.origin, BREAKER_OPEN, until,
	    world.now), OK);
	cr_assert_eq(origin_openings(&world.origin), seen + 3);
	cr_assert_eq(world_look(&world).openings, seen + 3);
}
