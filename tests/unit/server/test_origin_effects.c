/* SPDX-License-Identifier: ISC */

/*
 * Each option of an origin, from the text of the configuration to what it
 * does to calls: what is parsed and then forgotten would be found here.
 */
#include "effects_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "config_table.h"

/* As many calls as may be under way, and how long each of them took. */
static void
run_full(struct trial *trial, unsigned rounds, uint64_t latency_ms)
{
	for (unsigned i = 0; i < rounds; i++) {
		uint32_t count = effect_look(trial).limit_now;
		struct origin_ticket held[256];
		unsigned events;

		for (uint32_t j = 0; j < count; j++) {
			struct origin_request request = effect_request();

			cr_assert_eq(origin_acquire(&trial->origin, &request,
			    0, trial->now, &held[j]), ORIGIN_GRANTED);
		}
		trial->now.ms += latency_ms;
		for (uint32_t j = 0; j < count; j++) {
			cr_assert_eq(origin_release(&trial->origin,
			    held[j].permit, false, held[j].token, OWNER,
			    BREAKER_SUCCESS, 0, trial->now, &events), OK);
		}
	}
}

static uint32_t
limit_of_a_slow_origin(struct trial *trial)
{
	run_full(trial, 500, 20);
	run_full(trial, 30, 1000);
	return effect_look(trial).limit_now;
}

static uint32_t
limit_of_an_origin_3_times_as_slow(struct trial *trial)
{
	run_full(trial, 500, 20);
	run_full(trial, 500, 60);
	return effect_look(trial).limit_now;
}

/* Failing calls of many partitions until it is open. */
static uint32_t
failures_until_open(struct trial *trial)
{
	for (uint32_t i = 0; i < MANY; i++) {
		if (effect_call(trial, 1 + i % 8, BREAKER_FAILURE) ==
		    ORIGIN_OPEN) {
			return i;
		}
	}
	return NEVER;
}

static uint32_t
failures_of_one_partition_until_it_is_refused(struct trial *trial)
{
	for (uint32_t i = 0; i < 1000; i++) {
		if (effect_call(trial, PARTITION, BREAKER_FAILURE) ==
		    ORIGIN_OPEN) {
			return i;
		}
		(void)effect_call(trial, 1 + i % 8, BREAKER_SUCCESS);
	}
	return NEVER;
}

static uint32_t
failures_a_second_until_open(struct trial *trial)
{
	for (uint32_t i = 0; i < 1000; i++) {
		if (effect_call(trial, 1 + i % 8, BREAKER_FAILURE) ==
		    ORIGIN_OPEN) {
			return i;
		}
		trial->now.ms += 1000;
	}
	return NEVER;
}

/* Of five calls three fail. */
static uint32_t
calls_of_which_60_percent_fail(struct trial *trial)
{
	for (uint32_t i = 0; i < MANY; i++) {
		if (effect_call(trial, 1 + i % 8, i % 5 < 2 ? BREAKER_SUCCESS :
		    BREAKER_FAILURE) == ORIGIN_OPEN) {
			return i;
		}
	}
	return NEVER;
}

/* Two partitions of three fail, with one failure more than they need. */
static uint32_t
failures_with_two_bad_partitions(struct trial *trial)
{
	for (uint32_t i = 0; i < MANY; i++) {
		if (effect_call(trial, i % 9 == 0 ? 3 : 1 + i % 2, i % 9 == 0 ?
		    BREAKER_SUCCESS : BREAKER_FAILURE) == ORIGIN_OPEN) {
			return i;
		}
	}
	return NEVER;
}

/* Without its jitter: the random number says none. */
static uint32_t
first_open_ms(struct trial *trial)
{
	(void)failures_until_open(trial);
	return (uint32_t)(effect_look(trial).open_until_ms - trial->now.ms);
}

static uint32_t
tenth_open_ms(struct trial *trial)
{
	(void)failures_until_open(trial);
	for (unsigned i = 0; i < 10; i++) {
		trial->now.ms = effect_look(trial).open_until_ms;
		cr_assert_eq(effect_call(trial, 1, BREAKER_FAILURE),
		    ORIGIN_GRANTED, "the probe");
	}
	return (uint32_t)(effect_look(trial).open_until_ms - trial->now.ms);
}

/* Misses of one partition, so many ms apart, each with hits. */
static uint32_t
misses_until_told(struct trial *trial, uint32_t hits, uint64_t apart_ms)
{
	struct origin_request request = effect_request();
	struct origin_ticket ticket;
	unsigned events;

	request.partition = PARTITION;
	request.hits = hits;
	request.counts_as_miss = true;
	for (uint32_t i = 1; i <= MANY; i++) {
		cr_assert_eq(origin_acquire(&trial->origin, &request, 0,
		    trial->now, &ticket), ORIGIN_GRANTED);
		cr_assert_eq(origin_release(&trial->origin, ticket.permit,
		    false, ticket.token, OWNER, BREAKER_SUCCESS, 0,
		    trial->now, &events), OK);
		if (((ticket.events | events) & ORIGIN_MISS_FLOOD) != 0) {
			return i;
		}
		trial->now.ms += apart_ms;
	}
	return NEVER;
}

static uint32_t
misses_at_once(struct trial *trial)
{
	return misses_until_told(trial, 0, 0);
}

static uint32_t
misses_50_ms_apart(struct trial *trial)
{
	return misses_until_told(trial, 0, 50);
}

static uint32_t
misses_with_a_hit_each(struct trial *trial)
{
	return misses_until_told(trial, 1, 0);
}

static uint32_t
calls_of_a_flooded_partition(struct trial *trial)
{
	struct origin_request request = effect_request();

	(void)misses_at_once(trial);
	request.partition = PARTITION;
	return effect_count(trial, request, false, ORIGIN_GRANTED);
}

static const struct effect effects[] = {
	{ "adaptive", "adaptive = on", limit_of_a_slow_origin, 64, 64, 1,
	    32 },
	{ "adaptive_min", "adaptive = on\nadaptive_min = 40",
	    limit_of_a_slow_origin, 64, 64, 40, 40 },
	{ "adaptive_tolerance", "adaptive = on\nadaptive_tolerance = 100",
	    limit_of_an_origin_3_times_as_slow, 64, 64, 1, 40 },
	{ "adaptive_tolerance", "adaptive = on\nadaptive_tolerance = 1000",
	    limit_of_an_origin_3_times_as_slow, 64, 64, 64, 64 },
	{ "breaker", "breaker = off", failures_until_open, 20, 20, NEVER,
	    NEVER },
	{ "breaker_scope", "breaker_scope = partition",
	    failures_of_one_partition_until_it_is_refused, NEVER, NEVER, 20,
	    20 },
	{ "breaker_window", "breaker_window = 1m",
	    failures_a_second_until_open, NEVER, NEVER, 20, 20 },
	{ "breaker_calls", "breaker_calls = 50", failures_until_open, 20, 20,
	    50, 50 },
	{ "breaker_failures", "breaker_failures = 61",
	    calls_of_which_60_percent_fail, 20, 25, NEVER, NEVER },
	{ "breaker_partitions", "breaker_partitions = 3",
	    failures_with_two_bad_partitions, 20, 25, NEVER, NEVER },
	{ "breaker_open", "breaker_open = 1s", first_open_ms, 4000, 6000,
	    800, 1200 },
	{ "breaker_open_max", "breaker_open_max = 10s", tenth_open_ms, 48000,
	    72000, 8000, 12000 },
	{ "miss_flood", "miss_flood = 30", misses_at_once, 500, 500, 30,
	    30 },
	{ "miss_flood", "miss_flood = 0", misses_at_once, 500, 500, NEVER,
	    NEVER },
	{ "miss_window", "miss_window = 1m", misses_50_ms_apart, NEVER,
	    NEVER, 500, 500 },
	{ "miss_flood_percent", "miss_flood_percent = 50",
	    misses_with_a_hit_each, NEVER, NEVER, 500, 500 },
	{ "miss_throttle", "miss_throttle = on",
	    calls_of_a_flooded_partition, 16, 16, 1, 1 },
};

#define EFFECTS	(sizeof(effects) / sizeof(effects[0]))

Test(origin_effects, each_option_of_the_limiter_does_what_it_says)
{
	effects_expect(effects_of_limits, effects_of_limits_count);
}

Test(origin_effects, each_other_option_does_what_it_says)
{
	effects_expect(effects, EFFECTS);
}

Test(origin_effects, no_option_is_left_out)
{
	for (size_t o = 0; o < CONFIG_ORIGIN_OPTIONS; o++) {
		const char *name = config_origin_options[o].name;

		cr_expect_geq(effects_about(effects, EFFECTS, name) +
		    effects_about(effects_of_limits, effects_of_limits_count,
		    name), 1, "%s", name);
	}
}

/* What a program finds without a file is what it finds with an empty one. */
Test(origin_effects, the_library_s_defaults_are_the_daemon_s)
{
	struct origin_config plain;
	struct trial trial;

	origin_config_init(&plain);
	effect_make(&trial, "");
	cr_assert_eq(memcmp(&plain, &trial.config, sizeof(plain)), 0,
	    "adaptive_min %u and %u", plain.adaptive.min_limit,
	    trial.config.adaptive.min_limit);
	free(trial.memory);
}
