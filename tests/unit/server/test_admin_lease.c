/* SPDX-License-Identifier: ISC */

#include "admin.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "daemon_fixture.h"
#include "lease.h"

static struct heritage *heritage;

static void
open_daemon(void)
{
	heritage = fixture_create();
}

static void
close_daemon(void)
{
	fixture_destroy(heritage);
}

TestSuite(admin_lease, .init = open_daemon, .fini = close_daemon);

static json_t *
ask(uint64_t at_ms, const char *request, enum result expected)
{
	static const struct peer peer = { .pid = 1 };
	struct admin admin = {
		.heritage = heritage, .peer = &peer, .level = PEER_LEVEL_READ,
		.now = fixture_at(at_ms),
	};
	enum result status = OK;
	json_t *answer = admin_serve(&admin, request, strlen(request),
	    &status);

	cr_assert_not_null(answer);
	cr_assert_eq(status, expected, "%s: %s", request, result_name(status));
	return answer;
}

static void
begin(const char *text, uint64_t holder, struct key *key, struct lease *lease)
{
	const struct lease_door door = { .arg = NULL };
	const struct lease_request request = {
		.caller = { .holder = holder, .may_wait = true },
		.lease_ms = 1000,
	};
	enum flight_answer answer;

	cr_assert_eq(key_init(key, &heritage->pools[0], text, strlen(text)),
	    OK);
	cr_assert_eq(lease_begin(&heritage->pools[0], &door, key, &request,
	    fixture_at(0), &answer, lease), OK);
	cr_assert(answer == FLIGHT_LEAD || answer == FLIGHT_WAIT);
}

Test(admin_lease, a_flight_is_shown_with_its_times_and_waiters)
{
	struct lease lease;
	struct key key;
	json_t *answer, *list, *row;
	char hash[17];

	begin("page", 5, &key, &lease);
	begin("page", 6, &key, &lease);
	answer = ask(300, "{\"verb\":\"leases\"}", OK);
	list = json_object_get(answer, "leases");
	cr_assert_eq(json_array_size(list), 1);
	row = json_array_get(list, 0);
	(void)snprintf(hash, sizeof(hash), "%016llx",
	    (unsigned long long)key.hash);
	cr_expect_str_eq(json_string_value(json_object_get(row, "key_hash")),
	    hash);
	cr_expect_str_eq(json_string_value(json_object_get(row, "state")),
	    "leading");
	cr_expect_eq(json_integer_value(json_object_get(row, "age_ms")), 300);
	cr_expect_eq(json_integer_value(json_object_get(row, "left_ms")),
	    700);
	cr_expect_eq(json_integer_value(json_object_get(row, "waiters")), 1);
	cr_expect(json_is_true(json_object_get(json_object_get(row, "leader"),
	    "gone")));
	cr_expect(json_is_false(json_object_get(answer, "more")));
	json_decref(answer);
	answer = ask(1300, "{\"verb\":\"leases\"}", OK);
	row = json_array_get(json_object_get(answer, "leases"), 0);
	cr_expect_eq(json_integer_value(json_object_get(row, "left_ms")), 0);
	json_decref(answer);
}

Test(admin_lease, the_note_of_a_failure_has_its_code_and_its_end)
{
	const struct lease_door door = { .arg = NULL };
	const struct flight_ending ending = {
		.outcome = FLIGHT_FAILED, .code = -7, .back_off_ms = 400,
	};
	struct lease lease;
	struct key key;
	json_t *answer, *row;

	begin("page", 5, &key, &lease);
	cr_assert_eq(lease_end(&heritage->pools[0], &door, &key,
	    lease.ticket.token, 5, &ending, 0, fixture_at(10)), OK);
	answer = ask(20, "{\"verb\":\"leases\"}", OK);
	row = json_array_get(json_object_get(answer, "leases"), 0);
	cr_assert_not_null(row);
	cr_expect_str_eq(json_string_value(json_object_get(row, "state")),
	    "back-off");
	cr_expect_eq(json_integer_value(json_object_get(row, "code")), -7);
	cr_expect_gt(json_integer_value(json_object_get(row, "left_ms")), 0);
	cr_expect(json_is_null(json_object_get(row, "age_ms")));
	json_decref(answer);
}

Test(admin_lease, more_than_asked_for_are_told_of)
{
	struct lease lease;
	struct key key;
	json_t *answer;

	for (int i = 0; i < 12; i++) {
		static char names[12][16];

		(void)snprintf(names[i], sizeof(names[i]), "key%d", i);
		begin(names[i], 5, &key, &lease);
	}
	answer = ask(1, "{\"verb\":\"leases\",\"args\":{\"limit\":5}}", OK);
	cr_expect_eq(json_array_size(json_object_get(answer, "leases")), 5);
	cr_expect(json_is_true(json_object_get(answer, "more")));
	json_decref(answer);
	answer = ask(1, "{\"verb\":\"leases\",\"args\":{\"limit\":12}}", OK);
	cr_expect_eq(json_array_size(json_object_get(answer, "leases")), 12);
	cr_expect(json_is_false(json_object_get(answer, "more")));
	json_decref(answer);
	json_decref(ask(1, "{\"verb\":\"leases\",\"args\":{\"limit\":0}}",
	    INVALID));
	json_decref(ask(1, "{\"verb\":\"leases\",\"args\":{\"limit\":10001}}",
	    INVALID));
}
