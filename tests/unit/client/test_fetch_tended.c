/* SPDX-License-Identifier: ISC */

/*
 * Fresh hits that are refreshed or renewed, and the lives that are stored.
 */
#include "weir.h"

#include "clock.h"
#include "fetch_fixture.h"
#include "layout.h"
#include "pool.h"
#include "read.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(fetch_tended, .init = fetch_begin, .fini = fetch_end);

/* Of 60 s, 10 s are left. */
static const struct fake_life late_life = {
	.soft_in_ms = 10000, .hard_in_ms = 600000, .age_ms = 50000,
};

/* As after two hits. */
static void
use_often(void)
{
	struct read_hit hit;
	struct key key;
	struct boot_ms now = {
		clock_boot_now().ms + fetch_daemon.clock_offset_ms
	};

	cr_assert_eq(key_init(&key, &fetch_daemon.pool, "k", 1), OK);
	cr_assert_geq(read_peek(&fetch_daemon.pool, &key, now, &hit), OK);
	(void)atomic_fetch_or(hit.slot, UINT64_C(2) << SLOT_COUNT_SHIFT);
}

static struct weir_fetch_options
ahead(void)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.ttl_ms = 60000;
	options.jitter_percent = 100;
	options.refresh_ahead_ms = 20000;
	return options;
}

Test(fetch_tended, a_key_in_use_is_refreshed_before_its_end)
{
	struct weir_fetch_options options = ahead();
	struct source source = fetch_source("new");
	uint64_t version = fake_daemon_store(&fetch_daemon, "k", "old",
	    &late_life);
	struct fake_asked asked;

	use_often();
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "new");
	asked = fake_lease_asked(&fetch_daemon, 0);
	cr_assert_eq(asked.lease.seen_version, version);
	cr_assert_eq(asked.lease.flags, WIRE_NO_WAIT);
}

Test(fetch_tended, a_key_out_of_use_and_one_with_time_left_are_not)
{
	struct weir_fetch_options options = ahead();
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &late_life);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
	use_often();
	options.refresh_ahead_ms = 5000;
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 0);
}

Test(fetch_tended, a_costly_value_at_its_end_is_refreshed_by_chance)
{
	struct weir_fetch_options options = ahead();
	struct fake_life life = late_life;
	struct source source = fetch_source("new");
	unsigned tries = 0;

	options.refresh_ahead_ms = 0;
	options.early_percent = 100;
	life.cost_ms = 60000;	/* due by e^-(10 / 60), 85 in 100 */
	(void)fake_daemon_store(&fetch_daemon, "k", "old", &life);
	while (source.calls == 0 && tries++ < 1000) {
		cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	}
	cr_assert_eq(source.calls, 1);
	fetch_expect(3, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
}

Test(fetch_tended, a_refresh_ahead_that_is_refused_is_a_hit)
{
	static const int statuses[] = { WEIR_BUSY, WEIR_TIMEOUT,
	    WEIR_WOULD_DEADLOCK, WEIR_SHED };
	struct weir_fetch_options options = ahead();
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &late_life);
	use_often();
	for (unsigned i = 0; i < sizeof(statuses) / sizeof(int); i++) {
		struct fake_told told = { .status = statuses[i], .said = {
			.retry_after_ms = 60000,
		} };

		fake_lease_tell(&fetch_daemon, &told);
		cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
		fetch_expect(3, WEIR_FROM_HIT, statuses[i] == WEIR_BUSY ?
		    WEIR_STALE : statuses[i], WEIR_OK);
		cr_assert_str_eq(fetch_buffer, "old");
	}
	/* After the last one it is asked for again in a minute. */
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 4);
	cr_assert_eq(source.calls, 0);
}

Test(fetch_tended, a_refresh_ahead_that_fails_is_a_hit)
{
	struct weir_fetch_options options = ahead();
	struct source source = fetch_source("new");

	(void)fake_daemon_store(&fetch_daemon, "k", "old", &late_life);
	use_often();
	source.result = WEIR_FAILED;
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_HIT, WEIR_FAILED, WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "old");
	/* Without a callback nothing is refreshed. */
	cr_assert_eq(weir_fetch(fetch_handle, "k", 1, fetch_buffer, 16,
	    &options, NULL, NULL, &fetch_said), WEIR_OK);
	fetch_expect(3, WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
}

static unsigned
slides(void)
{
	/* A frame is answered after what lies in the ring. */
	cr_assert_eq(weir_ping(fetch_handle), WEIR_OK);
	return atomic_load(&fetch_daemon.slides);
}

static void
open_ring(void)
{
	cr_assert_eq(weir_set_async(fetch_handle, "r", 1, "v", 1, NULL),
	    WEIR_OK);
	cr_assert_eq(weir_flush(fetch_handle, NULL), WEIR_OK);
}

Test(fetch_tended, a_hit_of_a_sliding_key_renews_its_life)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("new");

	open_ring();
	(void)fake_daemon_store(&fetch_daemon, "k", "old", &late_life);
	options.ttl_ms = 60000;
	options.stale_while_revalidate_ms = 1000;
	options.stale_if_error_ms = 5000;
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	cr_assert_eq(slides(), 0);
	options.sliding = 1;
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	fetch_expect(3, WEIR_FROM_HIT, WEIR_OK, WEIR_OK);
	cr_assert_eq(slides(), 1);
	cr_assert_eq(wire_get_u64(fetch_daemon.slide + 16), 65000);
	cr_assert_eq(wire_get_u64(fetch_daemon.slide + 24), 60000);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), 0);
}

Test(fetch_tended, while_most_of_its_life_is_left_it_is_not_renewed)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct fake_life life = { .soft_in_ms = 46000, .hard_in_ms = 60000 };
	struct source source = fetch_source("new");

	open_ring();
	options.ttl_ms = 60000;
	options.sliding = 1;
	(void)fake_daemon_store(&fetch_daemon, "k", "old", &life);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	cr_assert_eq(slides(), 0);
	life.soft_in_ms = 44900;
	(void)fake_daemon_store(&fetch_daemon, "k", "old", &life);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	cr_assert_eq(slides(), 1);
	/* What never ends needs no renewal. */
	life.soft_in_ms = 0;
	(void)fake_daemon_store(&fetch_daemon, "k", "old", &life);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	options.ttl_ms = 0;
	(void)fake_daemon_store(&fetch_daemon, "k", "old", &late_life);
	cr_assert_eq(fetch_k(&options, &source), WEIR_OK);
	cr_assert_eq(slides(), 1);
}

static struct wire_set
stored_life(const struct weir_fetch_options *options)
{
	struct source source = fetch_source("value");
	struct fake_asked asked;

	cr_assert_eq(weir_purge_all(fetch_handle, WEIR_PURGE_HARD), WEIR_OK);
	cr_assert_eq(fetch_k(options, &source), WEIR_OK);
	cr_assert_eq(fetch_said.stored, WEIR_OK);
	asked = fake_lease_asked(&fetch_daemon,
	    fake_lease_asked_count(&fetch_daemon) - 1);
	cr_assert_eq(asked.type, FRAME_FILL);
	return asked.set;
}

Test(fetch_tended, a_value_lives_for_its_ttl_and_the_longer_grace)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct wire_set set = stored_life(&options);

	cr_assert_eq(set.ttl_ms, 0);
	cr_assert_eq(set.soft_ttl_ms, 0);
	options.ttl_ms = 60000;
	options.jitter_percent = 100;
	set = stored_life(&options);
	cr_assert_eq(set.soft_ttl_ms, 60000);
	cr_assert_eq(set.ttl_ms, 60000);
	options.stale_while_revalidate_ms = 1000;
	options.stale_if_error_ms = 500;
	set = stored_life(&options);
	cr_assert_eq(set.ttl_ms, 61000);
	options.stale_if_error_ms = 5000;
	set = stored_life(&options);
	cr_assert_eq(set.ttl_ms, 65000);
}

Test(fetch_tended, a_jittered_ttl_keeps_its_grace)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	bool differ = false;
	uint64_t first_ms = 0;

	options.ttl_ms = 60000;
	options.stale_if_error_ms = 5000;
	for (unsigned i = 0; i < 8; i++) {
		struct wire_set set = stored_life(&options);

		cr_assert_geq(set.soft_ttl_ms, 54000);
		cr_assert_leq(set.soft_ttl_ms, 60000);
		cr_assert_eq(set.ttl_ms, set.soft_ttl_ms + 5000);
		first_ms = i == 0 ? set.soft_ttl_ms : first_ms;
		differ |= set.soft_ttl_ms != first_ms;
	}
	cr_assert(differ);
}
