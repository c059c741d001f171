/* SPDX-License-Identifier: ISC */

/*
 * Leases, in calls that wait.
 */
#include "weir.h"

#include "fake_daemon.h"

#include <criterion/criterion.h>
#include <string.h>

static struct fake_daemon daemon;
static struct weir *handle;

static void
setup(void)
{
	fake_daemon_start(&daemon, NULL, 1);
	handle = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_connect(handle), WEIR_OK);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&daemon);
}

TestSuite(lease_call, .init = setup, .fini = teardown);

static struct weir_lease
lead(const char *key)
{
	struct weir_lease lease;

	cr_assert_eq(weir_lease(handle, key, strlen(key), 0, NULL, &lease),
	    WEIR_LEAD, "%s", weir_detail(handle));
	return lease;
}

Test(lease_call, a_leader_fills_and_all_read_the_value)
{
	struct weir_lease lease = lead("k");
	struct fake_asked asked;
	uint64_t version = 0;
	char value[8];
	size_t length;

	cr_assert_gt(lease.left_ms, 0);
	cr_assert_str_eq(lease.reason, "");
	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "value", 5,
	    NULL, &version), WEIR_OK);
	cr_assert_neq(version, 0);
	cr_assert_eq(weir_get(handle, "k", 1, value, sizeof(value), &length,
	    NULL), WEIR_OK);
	cr_assert_eq(length, 5);
	asked = fake_lease_asked(&daemon, 1);
	cr_assert_eq(asked.type, FRAME_FILL);
	cr_assert_str_eq(asked.key, "k");
	cr_assert_neq(asked.end.token, 0);
	cr_assert_eq(asked.end.permit.number, 1);
	cr_assert_eq(asked.end.outcome, WEIR_SUCCESS);
}

Test(lease_call, a_lease_is_used_up_once)
{
	struct weir_lease lease = lead("k");
	uint64_t version = 7;

	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "v", 1, NULL,
	    NULL), WEIR_OK);
	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "w", 1, NULL,
	    &version), WEIR_LEASE_LOST);
	cr_assert_eq(version, 0);
	(void)weir_lease_fail(handle, &lease, "k", 1, WEIR_FAILURE, 1, 0);
	(void)weir_lease_uncacheable(handle, &lease, "k", 1, 0);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	/* The lease and its one end. */
	cr_assert_eq(fake_lease_asked_count(&daemon), 2);
}

Test(lease_call, every_refusal_is_told_with_what_the_daemon_says)
{
	static const int statuses[] = { WEIR_OK, WEIR_SHED,
	    WEIR_CIRCUIT_OPEN, WEIR_FAILED, WEIR_BACKING_OFF, WEIR_TIMEOUT,
	    WEIR_WOULD_DEADLOCK, WEIR_BUSY, WEIR_MISS };
	struct fake_told told = { .said = {
		.retry_after_ms = 250, .code = -7, .reason = 1,
	} };

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(int); i++) {
		struct weir_lease lease;
		bool text = i >= 6;

		told.status = statuses[i];
		fake_lease_tell(&daemon, &told);
		cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease),
		    statuses[i]);
		cr_assert_eq(lease.retry_after_ms, text ? 0 : 250);
		cr_assert_eq(lease.code, text ? 0 : -7);
		cr_assert_str_eq(lease.reason, statuses[i] == WEIR_SHED ?
		    "queue_full" : "");
		cr_assert(statuses[i] >= 0 ||
		    strlen(weir_detail(handle)) > 0);
		cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "v", 1,
		    NULL, NULL), WEIR_LEASE_LOST);
	}
	cr_assert_eq(atomic_load(&daemon.hellos), 1);
}

Test(lease_call, alone_gives_its_permit_back)
{
	struct weir_lease lease;
	struct fake_asked asked;

	fake_lease_tell_status(&daemon, WEIR_ALONE);
	cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease),
	    WEIR_ALONE);
	cr_assert_eq(weir_lease_uncacheable(handle, &lease, "k", 1, 50),
	    WEIR_OK);
	asked = fake_lease_asked(&daemon, 1);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_eq(asked.end.token, 0);
	cr_assert_eq(asked.end.permit.number, 1);
	cr_assert_eq(asked.end.note_ms, 50);
}

Test(lease_call, alone_without_an_origin_has_nothing_to_give_back)
{
	struct fake_told told = { .status = WEIR_ALONE, .how = FAKE_BARE };
	struct weir_lease lease;

	fake_lease_tell(&daemon, &told);
	cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease),
	    WEIR_ALONE);
	cr_assert_eq(weir_lease_fail(handle, &lease, "k", 1, WEIR_FAILURE, 1,
	    0), WEIR_OK);
	cr_assert_eq(fake_lease_asked_count(&daemon), 1);
}

Test(lease_call, a_failure_is_told_with_outcome_code_and_back_off)
{
	struct weir_lease lease = lead("k");
	struct fake_asked asked;

	cr_assert_eq(weir_lease_fail(handle, &lease, "k", 1, WEIR_NEUTRAL,
	    -12, 700), WEIR_OK);
	asked = fake_lease_asked(&daemon, 1);
	cr_assert_eq(asked.type, FRAME_FAIL);
	cr_assert_str_eq(asked.key, "k");
	cr_assert_eq(asked.end.outcome, WEIR_NEUTRAL);
	cr_assert_eq(asked.end.code, -12);
	cr_assert_eq(asked.end.note_ms, 700);
}

Test(lease_call, what_the_daemon_says_of_an_end_is_told)
{
	static const int fills[] = { WEIR_LEASE_LOST, WEIR_CHANGED,
	    WEIR_FULL, WEIR_BUSY, WEIR_TOO_LARGE, WEIR_DENIED };

	for (unsigned i = 0; i < sizeof(fills) / sizeof(int); i++) {
		struct weir_lease lease = lead("k");
		uint64_t version = 7;

		fake_lease_tell_end(&daemon, fills[i], FAKE_AT_ONCE);
		cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "v", 1,
		    NULL, &version), fills[i]);
		cr_assert_eq(version, 0);
		lease = lead("k");
		fake_lease_tell_end(&daemon, WEIR_LEASE_LOST, FAKE_AT_ONCE);
		cr_assert_eq(i % 2 == 0 ? weir_lease_fail(handle, &lease,
		    "k", 1, WEIR_FAILURE, 1, 0) : weir_lease_uncacheable(
		    handle, &lease, "k", 1, 1), WEIR_LEASE_LOST);
	}
}

Test(lease_call, bad_keys_names_and_options_are_not_even_sent)
{
	static char key[1025];
	char name[65] = { 0 };
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct weir_lease lease;

	cr_assert_eq(weir_lease(handle, NULL, 1, 0, NULL, &lease),
	    WEIR_KEY_INVALID);
	cr_assert_eq(weir_lease(handle, key, 0, 0, NULL, &lease),
	    WEIR_KEY_INVALID);
	cr_assert_eq(weir_lease(handle, key, 1025, 0, NULL, &lease),
	    WEIR_KEY_INVALID);
	options.size++;
	cr_assert_eq(weir_lease(handle, "k", 1, 0, &options, &lease),
	    WEIR_INVALID);
	options.size--;
	memset(name, 'n', 64);
	options.origin.name = name;
	cr_assert_eq(weir_lease(handle, "k", 1, 0, &options, &lease),
	    WEIR_INVALID);
	cr_assert_gt(strlen(weir_detail(handle)), 0);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(fake_lease_asked_count(&daemon), 0);
	name[63] = 0;
	cr_assert_eq(weir_lease(handle, key, 1024, 0, &options, &lease),
	    WEIR_LEAD);
	cr_assert_eq(fake_lease_asked(&daemon, 0).key_length, 1024);
	cr_assert_eq(strlen(fake_lease_asked(&daemon, 0).name), 63);
}

Test(lease_call, an_answer_that_is_cut_is_corrupt_and_grants_nothing)
{
	static const int statuses[] = { WEIR_OK, WEIR_LEAD, WEIR_SHED };

	for (unsigned i = 0; i < 3; i++) {
		struct fake_told told = {
			.status = statuses[i], .how = FAKE_CUT,
		};
		struct weir_lease lease;

		fake_lease_tell(&daemon, &told);
		cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease),
		    WEIR_CORRUPT);
		cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "v", 1,
		    NULL, NULL), WEIR_LEASE_LOST);
	}
}

Test(lease_call, a_fill_that_the_pool_cannot_take_frees_those_who_wait)
{
	static char big[1];
	struct weir_lease lease = lead("k");
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	struct weir_tag tag = { "", 0 };
	struct fake_asked asked;

	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, big,
	    (size_t)weir_value_max(handle) + 1, NULL, NULL), WEIR_TOO_LARGE);
	asked = fake_lease_asked(&daemon, 1);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_neq(asked.end.token, 0);
	cr_assert_eq(asked.end.permit.number, 1);
	cr_assert_eq(asked.end.note_ms, 1000);
	/* A tag without bytes: the same. */
	lease = lead("k");
	options.tags = &tag;
	options.tag_count = 1;
	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "v", 1,
	    &options, NULL), WEIR_INVALID);
	cr_assert_eq(fake_lease_asked(&daemon, 3).type, FRAME_UNCACHEABLE);
}

Test(lease_call, a_lost_end_is_sent_once_more_and_claimed_first)
{
	struct weir_lease lease = lead("k");
	struct fake_asked first, claim, second;

	fake_lease_tell_end(&daemon, WEIR_OK, FAKE_NEVER);
	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "v", 1, NULL,
	    NULL), WEIR_OK);
	first = fake_lease_asked(&daemon, 1);
	claim = fake_lease_asked(&daemon, 2);
	second = fake_lease_asked(&daemon, 3);
	cr_assert_eq(claim.type, FRAME_CLAIM);
	cr_assert_eq(claim.number[0], 1);
	cr_assert_eq(claim.number[1], FAKE_SECRET + 1);
	cr_assert_eq(second.type, FRAME_FILL);
	cr_assert_eq(second.end.token, first.end.token);
	cr_assert_eq(second.end.permit.token, first.end.permit.token);
	cr_assert_eq(atomic_load(&daemon.hellos), 2);
}

Test(lease_call, an_outcome_that_is_none_leaves_the_lease_usable)
{
	struct weir_lease lease = lead("k");

	cr_assert_eq(weir_lease_fail(handle, &lease, "k", 1,
	    (enum weir_outcome)9, 0, 0), WEIR_INVALID);
	cr_assert_eq(weir_lease_fail(handle, &lease, "k", 0, WEIR_FAILURE, 0,
	    0), WEIR_KEY_INVALID);
	cr_assert_eq(weir_lease_uncacheable(handle, &lease, NULL, 1, 0),
	    WEIR_KEY_INVALID);
	cr_assert_eq(fake_lease_count(&daemon, FRAME_FAIL), 0);
	cr_assert_eq(weir_lease_fail(handle, &lease, "k", 1, WEIR_FAILURE, 0,
	    0), WEIR_OK);
	cr_assert_eq(fake_lease_count(&daemon, FRAME_FAIL), 1);
	cr_assert_neq(fake_lease_asked(&daemon, 1).end.token, 0);
	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "v", 1, NULL,
	    NULL), WEIR_LEASE_LOST, "it is used up");
}

Test(lease_call, who_was_given_nothing_claims_nothing)
{
	struct weir_lease lease;

	fake_lease_tell_status(&daemon, WEIR_OK);
	cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease), WEIR_OK);
	atomic_store(&daemon.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_ping(handle), WEIR_CLOSED);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(fake_lease_count(&daemon, FRAME_CLAIM), 0);
}

Test(lease_call, without_a_daemon_there_is_no_server)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir_lease lease;
	struct weir *nobody;

	options.socket_path = "/tmp/weir-no-daemon-here";
	cr_assert_eq(weir_open(&nobody, &options), WEIR_OK);
	cr_assert_eq(weir_lease(nobody, "k", 1, 0, NULL, &lease),
	    WEIR_NO_SERVER);
	cr_assert_str_eq(lease.reason, "");
	cr_assert_eq(weir_lease_fill(nobody, &lease, "k", 1, "v", 1, NULL,
	    NULL), WEIR_LEASE_LOST);
	weir_close(nobody);
}
