/* SPDX-License-Identifier: ISC */

/*
 * Every way in which a lease ends, and the refresh bit in each of them.
 */
#include "lease.h"

#include "access.h"
#include "chain_write.h"
#include "lease_fixture.h"
#include "reclaim.h"
#include "shard.h"

#include <criterion/criterion.h>

#include <string.h>

static struct key key;

/* A stale entry that is being refreshed by holder 9; worker 4 waits. */
static struct lease
refreshing(struct lease *waiting)
{
	struct lease led;
	uint64_t version;

	lease_fixture_begin(test_pool_one_shard());
	key = test_pool_key(&lease_pool, "k");
	version = lease_set(&key, "old");
	lease_now.ms += 200;
	led = lease_lead(&key, 9, version);
	cr_assert(lease_refresh_bit(&key));
	if (waiting != NULL) {
		cr_assert_eq(ask_lease(&key, 10, 4, version, waiting),
		    FLIGHT_WAIT);
	}
	EXPECT_SOUND(&lease_pool);
	return led;
}

static uint64_t
read_version(const struct key *of)
{
	struct read_hit hit;

	cr_assert_eq(read_peek(&lease_pool, of, lease_now, &hit), STALE);
	return hit.version;
}

Test(lease_ends, every_outcome_is_told_and_takes_the_bit_away)
{
	for (unsigned outcome = 0; outcome < FLIGHT_OUTCOMES; outcome++) {
		struct flight_ending ending;
		struct lease waiting, led = refreshing(&waiting);

		cr_expect_eq(lease_end_as(&key, 9, &led,
		    (enum flight_outcome)outcome), OK);
		cr_expect_not(lease_refresh_bit(&key), "%u", outcome);
		cr_expect_eq(lease_fixture_told().workers, 1 << 4);
		cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending),
		    FLIGHT_ENDED_NOW);
		cr_expect_eq(ending.outcome, outcome);
		cr_expect_eq(ending.code, -9);
		cr_expect_eq(lease_end_as(&key, 9, &led, FLIGHT_FAILED),
		    LEASE_LOST);
		EXPECT_SOUND(&lease_pool);
	}
}

Test(lease_ends, a_failure_backs_off_and_a_mark_lets_all_through)
{
	struct lease led = refreshing(NULL), other;
	uint64_t until_ms;

	cr_expect_eq(lease_end_as(&key, 9, &led, FLIGHT_FAILED), OK);
	cr_expect_eq(ask_lease(&key, 10, 0, 0, &other), FLIGHT_FOUND,
	    "the stale value is there");
	cr_assert_eq(write_delete(&lease_pool, &key, 0, lease_now), OK);
	led = lease_lead(&key, 9, 0);
	cr_expect_eq(lease_end_as(&key, 9, &led, FLIGHT_FAILED), OK);
	cr_expect_eq(ask_lease(&key, 10, 0, 0, &other), FLIGHT_BACK_OFF);
	until_ms = other.ticket.until_ms;
	cr_expect_eq(until_ms, lease_now.ms + FLIGHT_BACKOFF_MS);
	lease_now.ms = until_ms;
	led = lease_lead(&key, 9, 0);
	cr_expect_eq(lease_end_as(&key, 9, &led, FLIGHT_UNCACHEABLE), OK);
	cr_expect_eq(ask_lease(&key, 10, 0, 0, &other), FLIGHT_ALONE);
	cr_expect_eq(ask_lease(&key, 11, 0, 0, &other), FLIGHT_ALONE);
	lease_now.ms += 300;
	led = lease_lead(&key, 9, 0);
	cr_expect_eq(lease_fill(&key, 9, &led, "v"), OK);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_failed), 2);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_uncacheable),
	    1);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_backed_off), 1);
	cr_expect_eq(test_pool_stat(&lease_pool, STAT_leases_alone), 2);
	EXPECT_SOUND(&lease_pool);
}

Test(lease_ends, an_ending_that_is_none_is_refused)
{
	struct flight_ending ending = { .outcome = FLIGHT_OUTCOMES };
	struct lease led = refreshing(NULL), bad = led;
	struct lease_request request = { .caller = { .holder = 10 } };
	enum flight_answer answer;

	cr_expect_eq(lease_end(&lease_pool, &lease_door, &key,
	    led.ticket.token, 9, &ending, 0, lease_now), INVALID);
	bad.shard = 1;
	cr_expect_eq(lease_abandon(&lease_pool, &lease_door, &bad, 9,
	    lease_now), INVALID);
	cr_expect_eq(lease_leave(&lease_pool, &lease_door, &bad, 1, 1, 0),
	    INVALID);
	cr_expect_eq(lease_collect(&lease_pool, &lease_door, &request, 1,
	    lease_now, &bad, &answer, &ending), INVALID);
	cr_expect_eq(lease_collect(&lease_pool, &lease_door, &request, 0,
	    lease_now, &led, &answer, &ending), INVALID);
	cr_expect_eq(lease_sweep(&lease_pool, &lease_door, 1, 0, lease_now),
	    INVALID);
	EXPECT_SOUND(&lease_pool);
}

Test(lease_ends, who_gives_up_hands_over_and_keeps_the_bit_on)
{
	struct flight_ending ending;
	struct lease waiting, led = refreshing(&waiting);

	cr_expect_eq(lease_abandon(&lease_pool, &lease_door, &led, 10,
	    lease_now), LEASE_LOST, "another's");
	cr_expect_eq(lease_abandon(&lease_pool, &lease_door, &led, 9,
	    lease_now), OK);
	cr_expect(lease_refresh_bit(&key));
	cr_expect_eq(lease_fixture_told().workers, 1 << 4);
	EXPECT_SOUND(&lease_pool);
	cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending), FLIGHT_LEAD);
	cr_expect_eq(lease_fill(&key, 9, &led, "late"), LEASE_LOST);
	cr_expect_eq(lease_abandon(&lease_pool, &lease_door, &waiting, 10,
	    lease_now), OK);
	cr_expect_not(lease_refresh_bit(&key), "nobody is left");
	cr_expect_eq(lease_fixture_told().calls, 0);
	EXPECT_SOUND(&lease_pool);
}

Test(lease_ends, this_workers_own_waiters_are_offered_it_first)
{
	struct flight_ending ending;
	struct lease waiting, own, led = refreshing(&waiting);

	lease_pool.worker = 9;
	cr_assert_eq(ask_lease(&key, 11, 9, read_version(&key), &own),
	    FLIGHT_WAIT);
	cr_expect_eq(lease_abandon(&lease_pool, &lease_door, &led, 9,
	    lease_now), OK);
	cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending), FLIGHT_WAIT);
	cr_expect_eq(lease_look(11, 9, 1, &own, &ending), FLIGHT_LEAD);
	EXPECT_SOUND(&lease_pool);
}

Test(lease_ends, an_offer_that_is_left_is_told_to_who_has_it_next)
{
	struct lease waiting, next, led = refreshing(&waiting);

	cr_assert_eq(ask_lease(&key, 11, 6, read_version(&key), &next),
	    FLIGHT_WAIT);
	lease_pool.worker = 4;
	cr_expect_eq(lease_abandon(&lease_pool, &lease_door, &led, 9,
	    lease_now), OK);
	(void)lease_fixture_told();
	cr_expect_eq(lease_leave(&lease_pool, &lease_door, &waiting, 4, 1, 0),
	    OK);
	cr_expect_eq(lease_fixture_told().workers, 1 << 6);
	EXPECT_SOUND(&lease_pool);
}

Test(lease_ends, a_sweep_after_a_death_tells_and_clears)
{
	struct flight_ending ending;
	struct lease waiting;

	(void)refreshing(&waiting);
	cr_expect_eq(lease_sweep(&lease_pool, &lease_door, 0, 0, lease_now),
	    OK);
	cr_expect_eq(lease_fixture_told().calls, 0);
	lease_fixture_kill(9);
	cr_expect_eq(lease_sweep(&lease_pool, &lease_door, 0, 0, lease_now),
	    OK);
	cr_expect_eq(lease_fixture_told().workers, 1 << 4);
	cr_expect(lease_refresh_bit(&key));
	cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending), FLIGHT_LEAD);
	lease_fixture_kill(10);
	cr_expect_eq(lease_sweep(&lease_pool, &lease_door, 0, 0, lease_now),
	    OK);
	cr_expect_not(lease_refresh_bit(&key));
	EXPECT_SOUND(&lease_pool);
}

Test(lease_ends, an_offer_that_lapses_or_is_left_takes_the_bit_along)
{
	struct lease waiting, led = refreshing(&waiting);

	cr_expect_eq(lease_abandon(&lease_pool, &lease_door, &led, 9,
	    lease_now), OK);
	cr_expect_eq(lease_leave(&lease_pool, &lease_door, &waiting, 4, 1, 0),
	    OK);
	cr_expect_not(lease_refresh_bit(&key));
	EXPECT_SOUND(&lease_pool);
	led = refreshing(&waiting);
	cr_expect_eq(lease_abandon(&lease_pool, &lease_door, &led, 9,
	    lease_now), OK);
	/* Its worker died. */
	cr_expect_eq(lease_sweep(&lease_pool, &lease_door, 0, 1 << 4,
	    lease_now), OK);
	cr_expect_not(lease_refresh_bit(&key));
	led = refreshing(NULL);
	lease_now.ms += LEASE_MS;
	cr_expect_eq(lease_sweep(&lease_pool, &lease_door, 0, 0, lease_now),
	    OK);
	cr_expect_not(lease_refresh_bit(&key), "too slow");
	cr_expect_eq(lease_end_as(&key, 9, &led, FLIGHT_FAILED),
	    LEASE_LOST);
	EXPECT_SOUND(&lease_pool);
}

Test(lease_ends, the_bit_is_cleared_where_the_entry_is_by_then)
{
	struct lease led = refreshing(NULL);
	uint32_t extent = test_pool_extent_of(&lease_pool, &key);
	struct read_hit hit;

	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(read_peek(&lease_pool, &key, lease_now, &hit),
		    STALE);
		access_touch(&lease_pool, &hit);
	}
	cr_assert_eq(shard_enter(&lease_pool, 0), OK);
	cr_assert_eq(reclaim_pass(&lease_pool, 0, extent, RECLAIM_COMPACT,
	    lease_now), OK);
	shard_leave(&lease_pool, 0);
	cr_assert_neq(test_pool_extent_of(&lease_pool, &key), extent);
	cr_expect(lease_refresh_bit(&key));
	EXPECT_SOUND(&lease_pool);
	cr_expect_eq(lease_end_as(&key, 9, &led, FLIGHT_FAILED), OK);
	cr_expect_not(lease_refresh_bit(&key));
	EXPECT_SOUND(&lease_pool);
}

Test(lease_ends, a_leader_that_waited_for_a_permit_gets_its_time_anew)
{
	struct flight_ending ending;
	struct lease waiting, led = refreshing(&waiting);

	lease_now.ms += LEASE_MS - 1;
	cr_expect_eq(lease_restart(&lease_pool, &key, led.ticket.token, 9,
	    LEASE_MS, lease_now), OK);
	lease_now.ms += LEASE_MS - 1;
	cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending), FLIGHT_WAIT);
	cr_expect_eq(waiting.ticket.until_ms, lease_now.ms + 1);
	lease_now.ms++;
	cr_expect_eq(lease_restart(&lease_pool, &key, led.ticket.token, 9,
	    LEASE_MS, lease_now), LEASE_LOST);
	cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending), FLIGHT_LEAD);
	EXPECT_SOUND(&lease_pool);
}

static enum result
fill_large(const struct lease *led, bool early, bool touch,
    enum result *begun)
{
	static uint8_t bytes[40000];
	struct lease_fill fill = { led->ticket.token, 9, &lease_door };
	struct entry_spec spec = test_pool_spec(&lease_pool, &key, NULL, 0);
	struct chain_writer writer;
	enum result result;
	uint64_t version;

	spec.fill = &fill;
	*begun = chain_begin(&lease_pool, &spec, early, lease_now, &writer);
	if (*begun != OK) {
		chain_abort(&lease_pool, &writer);
		return *begun;
	}
	EXPECT_SOUND(&lease_pool);
	cr_assert_eq(chain_append(&lease_pool, &writer, bytes, sizeof(bytes),
	    lease_now), OK);
	cr_expect_eq(lease_fixture_told().calls, 0, "it goes on");
	if (touch) {
		cr_assert_eq(write_touch(&lease_pool, &key, UINT64_MAX,
		    UINT64_MAX, 0, lease_now), OK);
	}
	result = chain_finish(&lease_pool, &writer, lease_now, &version);
	if (result != OK) {
		chain_abort(&lease_pool, &writer);
	}
	return result;
}

Test(lease_ends, a_large_fill_ends_its_flight_when_it_is_whole)
{
	for (int early = 0; early <= 1; early++) {
		struct flight_ending ending;
		struct lease waiting, led = refreshing(&waiting);
		struct read_hit hit;
		enum result begun;

		cr_expect_eq(fill_large(&led, early == 1, false, &begun),
		    OK);
		cr_expect_eq(lease_fixture_told().workers, 1 << 4);
		cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending),
		    FLIGHT_ENDED_NOW);
		cr_expect_eq(ending.outcome, FLIGHT_FILLED);
		cr_expect_eq(read_peek(&lease_pool, &key, lease_now, &hit),
		    OK);
		cr_expect_eq(hit.value_bytes, 40000);
		cr_expect_not(lease_refresh_bit(&key));
		EXPECT_SOUND(&lease_pool);
		cr_expect_eq(fill_large(&led, early == 1, false, &begun),
		    LEASE_LOST);
		cr_expect_eq(begun, LEASE_LOST, "before it is sent");
		EXPECT_SOUND(&lease_pool);
	}
}

Test(lease_ends, a_large_fill_gives_way_to_a_change_while_it_is_written)
{
	for (int early = 0; early <= 1; early++) {
		struct flight_ending ending;
		struct lease waiting, led = refreshing(&waiting);
		struct read_hit hit;
		enum result begun;

		cr_expect_eq(fill_large(&led, early == 1, true, &begun),
		    CHANGED);
		cr_expect_eq(begun, OK);
		cr_expect_eq(lease_look(10, 4, 1, &waiting, &ending),
		    FLIGHT_ENDED_NOW);
		cr_expect_eq(ending.outcome, FLIGHT_LOOK_AGAIN);
		cr_expect_eq(read_peek(&lease_pool, &key, lease_now, &hit),
		    early == 1 ? MISS : OK, "the touched one stays");
		EXPECT_SOUND(&lease_pool);
	}
}

Test(lease_ends, a_fill_that_is_not_stored_leaves_the_flight_its_callers)
{
	static uint8_t large[1 << 20];
	struct lease led = refreshing(NULL), other;
	struct lease_fill fill = { led.ticket.token, 9, &lease_door };
	struct entry_spec spec = test_pool_spec(&lease_pool, &key, large,
	    sizeof(large));
	uint64_t version;

	spec.fill = &fill;
	cr_expect_eq(write_set(&lease_pool, &spec, lease_now, &version),
	    TOO_LARGE);
	spec.tag_count = TAGS_MAX + 1;
	cr_expect_eq(write_set(&lease_pool, &spec, lease_now, &version),
	    TOO_MANY_TAGS);
	cr_expect(lease_refresh_bit(&key));
	cr_expect_eq(ask_lease(&key, 10, 1, read_version(&key), &other),
	    FLIGHT_WAIT);
	cr_expect_eq(lease_end_as(&key, 9, &led, FLIGHT_UNCACHEABLE), OK);
	cr_expect_eq(lease_fixture_told().workers, 1 << 1);
	EXPECT_SOUND(&lease_pool);
}

struct listed {
	unsigned	calls;
	unsigned	most;
	unsigned	states;		/* a bit each */
};

static bool
list_one(void *arg, uint32_t shard, const struct flight *flight)
{
	struct listed *listed = arg;

	cr_expect_eq(shard, 0);
	listed->states |= 1u << flight->state;
	return ++listed->calls < listed->most;
}

Test(lease_ends, people_see_flights_and_notes)
{
	struct listed listed = { 0, 9, 0 };
	struct lease led = refreshing(NULL);
	struct key others[2];

	others[0] = test_pool_key(&lease_pool, "failed");
	others[1] = test_pool_key(&lease_pool, "marked");
	for (unsigned i = 0; i < 2; i++) {
		led = lease_lead(&others[i], 9, 0);
		cr_assert_eq(lease_end_as(&others[i], 9, &led, i == 0 ?
		    FLIGHT_FAILED : FLIGHT_UNCACHEABLE), OK);
	}
	cr_expect_eq(lease_list(&lease_pool, 0, list_one, &listed), OK);
	cr_expect_eq(listed.calls, 3);
	cr_expect_eq(listed.states, 1u << FLIGHT_LEADING |
	    1u << FLIGHT_BACKOFF | 1u << FLIGHT_MARK);
	listed = (struct listed){ 0, 2, 0 };
	cr_expect_eq(lease_list(&lease_pool, 0, list_one, &listed), OK);
	cr_expect_eq(listed.calls, 2, "it was told to stop");
	cr_expect_eq(lease_list(&lease_pool, 1, list_one, &listed),
	    INVALID);
}
