/* SPDX-License-Identifier: ISC */

/*
 * Workers that die with a flight in their hands, under the lock: what is left
 * is sound, no waiter is forgotten, and nobody leads beside another.
 */
#include "lease.h"

#include "lease_fixture.h"
#include "point.h"
#include "recovery.h"
#include "shard.h"
#include "wait_until.h"

#include <criterion/criterion.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Test(lease_death, recovery_clears_the_bits_that_have_no_flight)
{
	struct key with, without;
	struct lease led;
	uint64_t version;

	lease_fixture_begin(test_pool_one_shard());
	with = test_pool_key(&lease_pool, "with");
	without = test_pool_key(&lease_pool, "without");
	version = lease_set(&with, "v");
	(void)lease_set(&without, "v");
	led = lease_lead(&with, 9, version);
	atomic_fetch_or(test_pool_slot(&lease_pool, &without), SLOT_REFRESH);
	cr_assert_eq(shard_enter(&lease_pool, 0), OK);
	recovery_run(&lease_pool, 0);
	shard_leave(&lease_pool, 0);
	cr_expect(lease_refresh_bit(&with));
	cr_expect_not(lease_refresh_bit(&without));
	EXPECT_SOUND(&lease_pool);
	cr_expect_eq(lease_fill(&with, 9, &led, "w"), OK);
}

Test(lease_death, an_emptied_shard_has_no_flights_and_no_old_tokens)
{
	struct flight_ending ending;
	struct lease led, waiting, next;
	struct key key;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	led = lease_lead(&key, 9, 0);
	cr_assert_eq(ask_lease(&key, 10, 4, 0, &waiting), FLIGHT_WAIT);
	cr_assert_eq(shard_enter(&lease_pool, 0), OK);
	recovery_empty_shard(&lease_pool, 0);
	shard_leave(&lease_pool, 0);
	EXPECT_SOUND(&lease_pool);
	cr_expect_eq(lease_fill(&key, 9, &led, "late"), LEASE_LOST);
	cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending),
	    FLIGHT_ENDED_NOW);
	cr_expect_eq(ending.outcome, FLIGHT_LOOK_AGAIN);
	next = lease_lead(&key, 10, 0);
	cr_expect_gt(next.ticket.token, led.ticket.token);
	EXPECT_SOUND(&lease_pool);
}

Test(lease_death, tokens_of_shards_and_of_lives_differ)
{
	struct pool_params params = {
		.name = "another life",
		.pool_bytes = 4u << 20,
		.extent_bytes = 16u << 10,
		.worker_count = 2,
		.boot_id = { 9 },
	};
	struct pool pool[2];
	uint64_t tokens[8];

	pool[0] = test_pool_four_shards();
	params.hash_key = pool[0].hash_key;
	cr_assert_eq(pool_create(&pool[1], &params), OK);
	for (unsigned i = 0; i < 8; i++) {
		tokens[i] = pool_flights(&pool[i / 4],
		    i % 4).state->last_token >> 32;
		for (unsigned j = 0; j < i; j++) {
			cr_expect_neq(tokens[i], tokens[j]);
		}
	}
}

#ifdef SHM_TEST_POINTS
#define CHILD_DEADLINE_MS	20000

static const char *dies_at;
static struct key key;
static struct lease led, waiting;
static uint64_t version;

static void
die_at_the_point(const char *name)
{
	if (strcmp(name, dies_at) == 0) {
		_exit(0);
	}
}

static void
begins(void)
{
	struct lease lease;

	(void)ask_lease(&key, 9, 0, version, &lease);
}

static void
collects(void)
{
	struct flight_ending ending;

	lease_fixture_kill(9);
	(void)lease_look(10, 4, 1, &waiting, &ending);
}

static void
fills(void)
{
	(void)lease_fill(&key, 9, &led, "new");
}

static void
fails(void)
{
	(void)lease_end_as(&key, 9, &led, FLIGHT_FAILED);
}

static void
abandons(void)
{
	(void)lease_abandon(&lease_pool, &lease_door, &led, 9, lease_now);
}

static void
sweeps(void)
{
	lease_fixture_kill(9);
	(void)lease_sweep(&lease_pool, &lease_door, 0, 0, lease_now);
}

struct death {
	const char	*point;
	void		(*action)(void);
	bool		begun;		/* a flight with a waiter is there */
	/* what the waiter meets then */
	enum flight_answer answer;
	enum flight_outcome outcome;
	bool		still_led;	/* by holder 9 */
	const char	*value;
};

static const struct death deaths[] = {
	{ "lease_begun", begins, false, 0, 0, false, "STALE" },
	{ "lease_refresh_set", begins, false, 0, 0, false, "STALE" },
	/* The waiter led for a moment; its worker is gone. */
	{ "lease_collected", collects, true, FLIGHT_ENDED_NOW,
	    FLIGHT_LOOK_AGAIN, false, "STALE" },
	{ "lease_filling", fills, true, FLIGHT_ENDED_NOW, FLIGHT_LOOK_AGAIN,
	    false, "STALE" },
	{ "append_written", fills, true, FLIGHT_ENDED_NOW, FLIGHT_LOOK_AGAIN,
	    false, "STALE" },
	{ "append_linked", fills, true, FLIGHT_ENDED_NOW, FLIGHT_LOOK_AGAIN,
	    false, "new" },
	{ "lease_linked_not_ended", fills, true, FLIGHT_ENDED_NOW,
	    FLIGHT_LOOK_AGAIN, false, "new" },
	{ "lease_ended_not_told", fills, true, FLIGHT_ENDED_NOW,
	    FLIGHT_FILLED, false, "new" },
	{ "lease_ended_not_told", fails, true, FLIGHT_ENDED_NOW,
	    FLIGHT_FAILED, false, "STALE" },
	{ "lease_handed_over", abandons, true, FLIGHT_LEAD, 0, false,
	    "STALE" },
	{ "lease_swept", sweeps, true, FLIGHT_LEAD, 0, false, "STALE" },
	{ "no_such_point", begins, true, FLIGHT_WAIT, 0, true,
	    "STALE" },
};

static void
set_the_scene(const struct death *death)
{
	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	version = lease_set(&key, "old");
	lease_now.ms += 200;
	if (death->begun) {
		led = lease_lead(&key, 9, version);
		cr_assert_eq(ask_lease(&key, 10, 4, version, &waiting),
		    FLIGHT_WAIT);
	}
}

static void
die_at(const struct death *death)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		dies_at = death->point;
		shm_point_hook = die_at_the_point;
		death->action();
		_exit(1);
	}
	cr_assert(wait_until_exit(pid, CHILD_DEADLINE_MS, &status));
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) ==
	    (death->still_led ? 1 : 0), "%s", death->point);
}

/* The one who waits or comes anew ends with a value of its own. */
static void
expect_goes_on(const struct death *death)
{
	struct flight_ending ending;
	struct lease next;

	cr_expect_str_eq(test_pool_get(&lease_pool, &key, lease_now),
	    death->value, "%s", death->point);
	EXPECT_SOUND(&lease_pool);
	if (death->begun) {
		cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending),
		    death->answer, "%s", death->point);
		cr_expect_eq(ending.outcome, death->answer ==
		    FLIGHT_ENDED_NOW ? death->outcome : FLIGHT_LOOK_AGAIN,
		    "%s", death->point);
	}
	EXPECT_SOUND(&lease_pool);
	cr_expect_eq(lease_fill(&key, 9, &led, "late"), death->still_led ?
	    OK : LEASE_LOST, "%s", death->point);
	lease_fixture_kill(9);
	lease_now.ms += 2 * LEASE_MS;
	cr_assert_eq(lease_sweep(&lease_pool, &lease_door, 0, ~0ull,
	    lease_now), OK);
	EXPECT_SOUND(&lease_pool);
	cr_assert_eq(write_delete(&lease_pool, &key, 0, lease_now), OK);
	next = lease_lead(&key, 11, 0);
	cr_expect_eq(lease_fill(&key, 11, &next, "next"), OK);
	cr_expect_str_eq(test_pool_get(&lease_pool, &key, lease_now),
	    "next");
	EXPECT_SOUND(&lease_pool);
}

Test(lease_death, at_every_point_of_a_flight_the_others_go_on)
{
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
		memset(&led, 0, sizeof(led));
		set_the_scene(&deaths[i]);
		die_at(&deaths[i]);
		expect_goes_on(&deaths[i]);
		cr_expect_eq(test_pool_stat(&lease_pool, STAT_recoveries),
		    deaths[i].still_led ? 0 : 1, "%s", deaths[i].point);
		pool_destroy(&lease_pool);
	}
}
#endif
