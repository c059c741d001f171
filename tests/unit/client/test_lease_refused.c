/* SPDX-License-Identifier: ISC */

/*
 * Ends that make no sense: what of a lease or a permit is left.
 */
#include "weir.h"

#include "fetch_fixture.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdint.h>

TestSuite(lease_refused, .init = fetch_begin, .fini = fetch_end);

struct outcome {
	unsigned	called;
	int		result;
};

static void
take_note(void *arg, int result, uint64_t number)
{
	struct outcome *outcome = arg;

	(void)number;
	outcome->called++;
	outcome->result = result;
}

static bool
is_called(void *argument)
{
	const struct outcome *outcome = argument;

	(void)weir_step(fetch_handle);
	return outcome->called > 0;
}

static void
lead(struct weir_lease *lease)
{
	cr_assert_eq(weir_lease(fetch_handle, "k", 1, 0, NULL, lease),
	    WEIR_LEAD);
}

Test(lease_refused, an_end_without_a_key_leaves_the_lease)
{
	struct weir_lease lease;

	lead(&lease);
	cr_assert_eq(weir_lease_fill(fetch_handle, &lease, "", 0, "v", 1,
	    NULL, NULL), WEIR_KEY_INVALID);
	cr_assert_eq(weir_lease_fail(fetch_handle, &lease, "", 0,
	    WEIR_FAILURE, 1, 1), WEIR_KEY_INVALID);
	cr_assert_eq(weir_lease_fail(fetch_handle, &lease, "k", 1,
	    (enum weir_outcome)3, 1, 1), WEIR_INVALID);
	cr_assert_eq(weir_lease_fill(fetch_handle, &lease, "k", 1, "v", 1,
	    NULL, NULL), WEIR_OK);
}

/* Those who wait are told, whatever was wrong. */
static void
expect_told(const struct weir_set_options *options, int result)
{
	unsigned before = fake_lease_asked_count(&fetch_daemon);
	struct fake_asked asked;
	struct weir_lease lease;

	lead(&lease);
	cr_assert_eq(weir_lease_fill(fetch_handle, &lease, "k", 1, "v", 1,
	    options, NULL), result);
	cr_assert_eq(fake_lease_asked_count(&fetch_daemon), before + 2);
	asked = fake_lease_asked(&fetch_daemon, before + 1);
	cr_assert_eq(asked.type, FRAME_UNCACHEABLE);
	cr_assert_neq(asked.end.token, 0);
	cr_assert_eq(weir_lease_fill(fetch_handle, &lease, "k", 1, "v", 1,
	    NULL, NULL), WEIR_LEASE_LOST);
}

Test(lease_refused, an_end_of_what_has_ended_says_so)
{
	struct weir_lease lease;

	lead(&lease);
	cr_assert_eq(weir_lease_fail(fetch_handle, &lease, "k", 1,
	    WEIR_FAILURE, 1, 1), WEIR_OK);
	cr_assert_eq(weir_lease_fail(fetch_handle, &lease, "k", 1,
	    WEIR_FAILURE, 1, 1), WEIR_LEASE_LOST);
	cr_assert_eq(weir_lease_uncacheable(fetch_handle, &lease, "k", 1,
	    1), WEIR_LEASE_LOST);
}

Test(lease_refused, options_without_sense_end_the_lease)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	const struct weir_tag tag = { .bytes = "", .length = 0 };

	options.when = (enum weir_when)99;
	expect_told(&options, WEIR_INVALID);
	options.when = WEIR_ALWAYS;
	options.tags = &tag;
	options.tag_count = 1;
	expect_told(&options, WEIR_INVALID);
	options.tag_count = UINT8_MAX;
	expect_told(&options, WEIR_TOO_MANY_TAGS);
}

Test(lease_refused, tags_of_a_fetch_without_sense_end_its_lease)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	const struct weir_tag tag = { .bytes = "", .length = 0 };
	struct source source = fetch_source("value");

	options.tags = &tag;
	options.tag_count = 1;
	(void)fetch_k(&options, &source);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_LEASE),
	    fake_lease_count(&fetch_daemon, FRAME_UNCACHEABLE),
	    "a lease is left over");
}

Test(lease_refused, a_release_that_makes_no_sense_leaves_the_permit)
{
	struct weir_permit permit;

	cr_assert_eq(weir_permit_acquire(fetch_handle, NULL, 0, &permit),
	    WEIR_OK);
	cr_assert_eq(weir_permit_release(fetch_handle, &permit,
	    (enum weir_outcome)3), WEIR_INVALID);
	cr_assert_eq(weir_permit_release(fetch_handle, &permit,
	    WEIR_SUCCESS), WEIR_OK);
}

Test(lease_refused, alone_without_an_origin_ends_in_steps_as_in_calls)
{
	struct fake_told told = { .status = WEIR_ALONE, .how = FAKE_BARE };
	struct outcome outcome = { .called = 0 };
	struct weir_lease lease;

	fake_lease_tell(&fetch_daemon, &told);
	cr_assert_eq(weir_start_lease(fetch_handle, "k", 1, 0, NULL, &lease,
	    take_note, &outcome), WEIR_OK);
	cr_assert(wait_until(is_called, &outcome, 5000));
	outcome.called = 0;
	cr_assert_eq(weir_start_lease_uncacheable(fetch_handle, &lease, "k",
	    1, 0, take_note, &outcome), WEIR_OK);
	cr_assert(wait_until(is_called, &outcome, 5000));
	cr_assert_eq(outcome.result, WEIR_OK);
}
