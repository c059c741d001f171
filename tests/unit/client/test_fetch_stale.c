/* SPDX-License-Identifier: ISC */

/*
 * What is served past its time, what is refreshed before it, and for how long
 * all of that is stored.  Entries are stored as old as a test wants them.
 */
#include "weir.h"

#include "clock.h"
#include "fetch_fixture.h"
#include "layout.h"
#include "origin.h"
#include "pool.h"
#include "read.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(fetch_stale, .init = fetch_begin, .fini = fetch_end);

/* Fresh until 30 s ago, in the pool for 10 minutes more. */
static const struct fake_life stale_life = {
	.soft_in_ms = -30000, .hard_in_ms = 600000, .age_ms = 60000,
};

static struct weir_fetch_options
grace(uint64_t revalidate_ms, uint64_t if_error_ms)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.ttl_ms = 60000;
	options.jitter_percent = 100;
	options.stale_while_revalidate_ms = revalidate_ms;
	options.stale_if_error_ms = if_error_ms;
	return options;
}

/* Bits of the slot of "k": how often it is used, whether it is refreshed. */
static void
mark_slot(uint64_t bits)
{
	struct read_hit hit;
	struct key key;
	struct boot_ms now = {
		clock_boot_now().ms + fetch_daemon.clock_offset_ms
	};

	cr_assert_eq(key_init(&key, &fetch_daemon.pool, "k", 1), OK);
	cr_assert_geq(read_peek(&fetch_daemon.pool, &key, now, &hit), OK);
	(void)atomic_fetch_or(hit.slot, bits);
}

Test(fetch_stale, the_one_who_leads_computes_a_new_one)
{
	struct weir_fetch_options options = grace(60000, 0);
	struct source source = fetch_source("new");
	uint64_t version = fake_daemon_store(&fetch_daemon, "k", "old",
	    &stale_life);
	struct fake_asked asked;

	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "new");
	asked = fake_lease_asked(&fetch_daemon, 0);
	cr_assert_eq(asked.lease.seen_version, version);
	cr_assert_eq(asked.lease.flags, WIRE_NO_WAIT);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
}

Test(fetch_stale, the_others_are_served_at_once)
{
	struct weir_fetch_options options = grace(60000, 0);
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	fake_lease_tell_status(&fetch_daemon, WEIR_BUSY);
	cr_assert_eq(fetch_k(&options, &source), WEIR_STALE);
	fetch_expect(3, WEIR_FROM_STALE, WEIR_STALE, WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "old");
	cr_assert_eq(source.calls, 0);
}

Test(fetch_stale, while_it_is_known_to_be_refreshed_nobody_is_asked)
{
	struct weir_fetch_options options = grace(60000, 0);
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	mark_slot(SLOT_REFRESH);
	cr_assert_eq(fetch_k(&options, &source), WEIR_STALE);
	fetch_expect(3, WEIR_FROM_STALE, WEIR_STALE, WEIR_OK);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 0);
}

static bool
is_asked_again(void *argument)
{
	struct weir_fetch_options options = grace(60000, 0);

	(void)fetch_k(&options, argument);
	return fake_lease_asked_count(&fetch_daemon) > 1;
}

Test(fetch_stale, after_a_refusal_nobody_asks_before_its_time)
{
	struct weir_fetch_options options = grace(60000, 0);
	struct fake_told told = { .status = WEIR_SHED, .said = {
		.retry_after_ms = 100, .reason = 4,
	} };
	struct source source = fetch_source("new");
	uint64_t start_ms = clock_boot_now().ms;

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	fake_lease_tell(&fetch_daemon, &told);
	cr_assert_eq(fetch_k(&options, &source), WEIR_STALE);
	fetch_expect(3, WEIR_FROM_STALE, WEIR_SHED, WEIR_OK);
	cr_assert_str_eq(fetch_said.reason, "background_shed");
	cr_assert_eq(fetch_said.retry_after_ms, 100);
	cr_assert(wait_until(is_asked_again, &source, 5000));
	/* A clock tick may be a few ms old. */
	cr_assert_geq(clock_boot_now().ms, start_ms + 80);
	cr_assert_eq(source.calls, 1);
}

Test(fetch_stale, past_the_revalidation_the_new_one_is_waited_for)
{
	struct weir_fetch_options options = grace(10000, 0);
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
	cr_assert_eq(fake_lease_asked(&fetch_daemon, 0).lease.flags, 0);
}

Test(fetch_stale, if_error_serves_for_every_reason)
{
	static const int statuses[] = { WEIR_SHED, WEIR_CIRCUIT_OPEN,
	    WEIR_FAILED, WEIR_BACKING_OFF, WEIR_TIMEOUT, WEIR_BUSY };
	struct weir_fetch_options options = grace(0, 60000);
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	for (unsigned i = 0; i < sizeof(statuses) / sizeof(int); i++) {
		fake_lease_tell_status(&fetch_daemon, statuses[i]);
		cr_assert_eq(fetch_k(&options, &source), WEIR_STALE);
		fetch_expect(3, WEIR_FROM_STALE, statuses[i], WEIR_OK);
		cr_assert_str_eq(fetch_buffer, "old");
	}
	cr_assert_eq(source.calls, 0);
}

Test(fetch_stale, past_both_times_a_refusal_is_the_result)
{
	static const int statuses[] = { WEIR_SHED, WEIR_CIRCUIT_OPEN,
	    WEIR_FAILED, WEIR_BACKING_OFF, WEIR_TIMEOUT, WEIR_BUSY };
	struct weir_fetch_options options = grace(20000, 25000);
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	for (unsigned i = 0; i < sizeof(statuses) / sizeof(int); i++) {
		fake_lease_tell_status(&fetch_daemon, statuses[i]);
		cr_assert_eq(fetch_k(&options, &source), statuses[i]);
		fetch_expect(0, WEIR_FROM_NONE, statuses[i], WEIR_OK);
	}
}

Test(fetch_stale, a_computation_that_fails_here_serves_it_too)
{
	struct weir_fetch_options options = grace(0, 60000);
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	source.result = WEIR_FAILED;
	source.said.code = 42;
	cr_assert_eq(fetch_k(&options, &source), WEIR_STALE);
	fetch_expect(3, WEIR_FROM_STALE, WEIR_FAILED, WEIR_OK);
	cr_assert_eq(fetch_said.code, 42);
	cr_assert_str_eq(fetch_buffer, "old");
	options = grace(0, 20000);
	cr_assert_eq(fetch_k(&options, &source), WEIR_FAILED);
	cr_assert_eq(source.calls, 2);
}

Test(fetch_stale, the_mode_of_an_incident_serves_however_old)
{
	struct weir_fetch_options options = grace(0, 0);
	struct fake_told told = { .status = WEIR_CIRCUIT_OPEN, .said = {
		.mode = ORIGIN_STALE_ON_ERROR,
	} };
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	fake_lease_tell(&fetch_daemon, &told);
	cr_assert_eq(fetch_k(&options, &source), WEIR_STALE);
	fetch_expect(3, WEIR_FROM_STALE, WEIR_CIRCUIT_OPEN, WEIR_OK);
}

Test(fetch_stale, what_was_purged_as_invalid_is_served_never)
{
	struct weir_fetch_options options = grace(600000, 600000);
	struct fake_life fresh = { .hard_in_ms = 600000 };
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &fresh);
	cr_assert_eq(weir_purge_all(fetch_handle, WEIR_PURGE_INVALID),
	    WEIR_OK);
	fake_lease_tell_status(&fetch_daemon, WEIR_SHED);
	cr_assert_eq(fetch_k(&options, &source), WEIR_SHED);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
}

Test(fetch_stale, a_soft_purge_is_revalidated)
{
	struct weir_fetch_options options = grace(1000, 0);
	struct fake_life fresh = { .hard_in_ms = 600000 };
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &fresh);
	cr_assert_eq(weir_purge_all(fetch_handle, WEIR_PURGE_SOFT), WEIR_OK);
	fake_lease_tell_status(&fetch_daemon, WEIR_BUSY);
	cr_assert_eq(fetch_k(&options, &source), WEIR_STALE);
	cr_assert_str_eq(fetch_buffer, "old");
}

Test(fetch_stale, a_dup_is_served_and_thrown_away_alike)
{
	struct weir_fetch_options options = grace(0, 60000);
	struct source source = fetch_source("new");
	void *copy = NULL;

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	fake_lease_tell_status(&fetch_daemon, WEIR_SHED);
	cr_assert_eq(weir_fetch_dup(fetch_handle, "k", 1, &copy, &options,
	    fetch_compute_source, &source, &fetch_said), WEIR_STALE);
	cr_assert_str_eq(copy, "old");
	free(copy);
	options = grace(0, 0);
	fake_lease_tell_status(&fetch_daemon, WEIR_SHED);
	cr_assert_eq(weir_fetch_dup(fetch_handle, "k", 1, &copy, &options,
	    fetch_compute_source, &source, &fetch_said), WEIR_SHED);
	cr_assert_null(copy);
	/* A longer new one in the place of the old one. */
	source = fetch_source("a new value");
	cr_assert_eq(weir_fetch_dup(fetch_handle, "k", 1, &copy, &options,
	    fetch_compute_source, &source, &fetch_said), WEIR_OK);
	cr_assert_str_eq(copy, "a new value");
	free(copy);
}

Test(fetch_stale, without_a_daemon_the_old_one_is_served_while_it_may)
{
	struct weir_fetch_options options = grace(0, 60000);
	struct source source = fetch_source("mine");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &stale_life);
	atomic_store(&fetch_daemon.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_ping(fetch_handle), WEIR_CLOSED);
	for (unsigned i = 0; i < FAKE_TOLD_MAX; i++) {
		fake_lease_tell(&fetch_daemon, &(struct fake_told){
			.how = FAKE_NEVER,
		});
	}
	cr_assert_eq(fetch_k(&options, &source), WEIR_STALE);
	fetch_expect(3, WEIR_FROM_STALE, WEIR_CLOSED, WEIR_OK);
	cr_assert_eq(source.calls, 0);
}
