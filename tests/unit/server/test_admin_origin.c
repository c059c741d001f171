/* SPDX-License-Identifier: ISC */

#include "admin_origin.h"

#include <criterion/criterion.h>
#include <string.h>

#include "daemon_fixture.h"
#include "health.h"
#include "holder.h"
#include "origin_record.h"
#include "origins_fixture.h"

static struct heritage *heritage;
static struct origin *origins;
static const struct peer root = { .pid = 1 };

static void
open_daemon(void)
{
	heritage = fixture_create();
	origins = origins_fixture_create();
}

static void
close_daemon(void)
{
	origins_fixture_destroy();
	fixture_destroy(heritage);
}

TestSuite(admin_origin, .init = open_daemon, .fini = close_daemon);

static json_t *
ask_as(enum peer_level level, uint64_t at_ms, const char *request,
    enum result *status)
{
	struct admin admin = {
		.heritage = heritage, .peer = &root, .level = level,
		.now = fixture_at(at_ms), .origins = origins,
		.origin_count = FIXTURE_ORIGINS, .random = at_ms * 7919,
	};
	json_t *answer = admin_serve(&admin, request, strlen(request),
	    status);

	cr_assert_not_null(answer);
	return answer;
}

/* The answer of a request that is expected to give that result. */
static json_t *
ask(const char *request, enum result expected)
{
	enum result status = OK;
	json_t *answer = ask_as(PEER_LEVEL_FULL, 10, request, &status);

	cr_assert_eq(status, expected, "%s: %s", request, result_name(status));
	return answer;
}

static void
expect(const char *request, enum result expected)
{
	json_decref(ask(request, expected));
}

/* The first row of a list. */
static json_t *
row(json_t *answer, const char *list)
{
	json_t *first = json_array_get(json_object_get(answer, list), 0);

	cr_assert_not_null(first, "%s", list);
	return first;
}

static json_int_t
number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	cr_assert(json_is_integer(value), "%s", name);
	return json_integer_value(value);
}

static const char *
text(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value == NULL ? "(none)" : value;
}

Test(admin_origin, all_origins_are_listed_or_the_one_that_is_named)
{
	static const char *const members[] = {
		"mode", "mode_left_ms", "limit", "limit_now", "limit_max",
		"in_flight", "waiting", "queue", "queue_wait_ms",
		"partition_limit", "partition_queue", "host_limit",
		"client_limit", "headroom", "reserve", "upload_share",
		"timeout_ms", "granted", "waited",
		"overdue", "swept", "refused", "upload", "adaptive",
		"breaker", "miss_flood", "successes", "failures", "neutral",
		"rebuilt",
	};
	json_t *answer = ask("{\"verb\":\"origins\"}", OK);

	cr_assert_eq(json_array_size(json_object_get(answer, "origins")),
	    FIXTURE_ORIGINS);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		cr_expect_not_null(json_object_get(row(answer, "origins"),
		    members[i]), "%s", members[i]);
	}
	json_decref(answer);
	answer = ask("{\"verb\":\"origins\",\"args\":{\"origin\":\"web\"}}",
	    OK);
	cr_assert_eq(json_array_size(json_object_get(answer, "origins")), 1);
	cr_assert_str_eq(text(row(answer, "origins"), "name"), "web");
	json_decref(answer);
}

Test(admin_origin, calls_and_refusals_are_counted_where_they_happened)
{
	struct origin_ticket ticket;
	json_t *answer, *web, *refused;

	expect("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
	    "\"limit\":1}}", OK);
	cr_assert(origins_fixture_call(&origins[1], 5, fixture_at(0),
	    &ticket));
	cr_assert_not(origins_fixture_call(&origins[1], 6, fixture_at(0),
	    &ticket));
	answer = ask("{\"verb\":\"limiter_show\",\"args\":{\"origin\":"
	    "\"web\"}}", OK);
	web = row(answer, "limiters");
	refused = json_object_get(web, "refused");
	cr_assert_eq(number(web, "in_flight"), 1);
	cr_assert_eq(number(web, "granted"), 1);
	cr_assert_eq(number(refused, limiter_refusal_name(LIMITER_NO_WAIT)),
	    1);
	cr_assert_eq(number(refused, "breaker_open"), 0);
	json_decref(answer);
}

Test(admin_origin, what_is_not_there_is_a_miss)
{
	static const char *const requests[] = {
		"{\"verb\":\"origins\",\"args\":{\"origin\":\"no\"}}",
		"{\"verb\":\"limiter_show\",\"args\":{\"origin\":\"no\"}}",
		"{\"verb\":\"breaker_list\",\"args\":{\"origin\":\"no\"}}",
		("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"no\","
		    "\"limit\":1}}"),
		"{\"verb\":\"breaker_trip\",\"args\":{\"origin\":\"no\"}}",
		"{\"verb\":\"mode_set\",\"args\":{\"origin\":\"no\"}}",
		"{\"verb\":\"ping\",\"args\":{\"pool\":\"no\"}}",
		"{\"verb\":\"leases\",\"args\":{\"pool\":\"no\"}}",
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		expect(requests[i], MISS);
	}
}

Test(admin_origin, only_the_full_level_changes)
{
	static const char *const requests[] = {
		("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
		    "\"limit\":1}}"),
		"{\"verb\":\"breaker_trip\",\"args\":{\"origin\":\"web\"}}",
		"{\"verb\":\"breaker_reset\",\"args\":{\"origin\":\"web\"}}",
		("{\"verb\":\"breaker_hold\",\"args\":{\"origin\":\"web\","
		    "\"state\":\"open\",\"for_ms\":5}}"),
		("{\"verb\":\"mode_set\",\"args\":{\"origin\":\"web\","
		    "\"mode\":\"bypass\",\"for_ms\":5}}"),
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		enum result status = OK;

		json_decref(ask_as(PEER_LEVEL_READ, 10, requests[i],
		    &status));
		cr_assert_eq(status, DENIED, "%s", requests[i]);
		expect(requests[i], OK);
	}
}

Test(admin_origin, a_limit_is_set_within_what_there_is_room_for)
{
	json_t *answer = ask("{\"verb\":\"limiter_set\",\"args\":{\"origin\":"
	    "\"web\",\"limit\":1024}}", OK);

	cr_assert_eq(number(answer, "old"), LIMITER_LIMIT);
	cr_assert_eq(number(answer, "new"), 1024);
	json_decref(answer);
	expect("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
	    "\"limit\":1025}}", INVALID);
	expect("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
	    "\"limit\":0}}", INVALID);
	expect("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
	    "\"limit\":4294967297}}", INVALID);
	expect("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\"}}",
	    INVALID);
	expect("{\"verb\":\"limiter_set\",\"args\":{\"limit\":1}}", INVALID);
	answer = ask("{\"verb\":\"limiter_show\",\"args\":{\"origin\":"
	    "\"web\"}}", OK);
	cr_assert_eq(number(row(answer, "limiters"), "limit"), 1024);
	json_decref(answer);
}

static void
expect_state(const char *state, bool is_held)
{
	json_t *answer = ask("{\"verb\":\"breaker_list\",\"args\":"
	    "{\"origin\":\"web\"}}", OK);

	cr_expect_str_eq(text(row(answer, "breakers"), "state"), state);
	cr_expect_eq(json_is_true(json_object_get(row(answer, "breakers"),
	    "held")), is_held);
	json_decref(answer);
}

Test(admin_origin, a_tripped_breaker_degrades_the_daemon_until_its_reset)
{
	json_t *answer = ask("{\"verb\":\"breaker_trip\",\"args\":{\"origin\":"
	    "\"web\"}}", OK);

	cr_assert_str_eq(text(answer, "old"), "closed");
	cr_assert_str_eq(text(answer, "new"), "open");
	json_decref(answer);
	expect_state("open", false);
	answer = ask("{\"verb\":\"status\"}", OK);
	cr_assert_str_eq(text(answer, "state"), "degraded");
	cr_assert_str_eq(json_string_value(row(answer, "reasons")),
	    "the breaker of origin web is open");
	json_decref(answer);
	expect("{\"verb\":\"breaker_reset\",\"args\":{\"origin\":\"web\"}}",
	    OK);
	expect_state("closed", false);
	answer = ask("{\"verb\":\"status\"}", OK);
	cr_assert_str_eq(text(answer, "state"), "ready");
	json_decref(answer);
}

Test(admin_origin, a_breaker_that_is_off_cannot_be_tripped)
{
	origins[1].record->config.breaker.enabled = 0;
	expect("{\"verb\":\"breaker_trip\",\"args\":{\"origin\":\"web\"}}",
	    INVALID);
	expect_state("closed", false);
}

Test(admin_origin, a_hold_needs_an_end_within_a_day)
{
	json_t *answer;

	expect("{\"verb\":\"breaker_hold\",\"args\":{\"origin\":\"web\","
	    "\"state\":\"open\"}}", INVALID);
	expect("{\"verb\":\"breaker_hold\",\"args\":{\"origin\":\"web\","
	    "\"state\":\"open\",\"for_ms\":86400001}}", INVALID);
	expect("{\"verb\":\"breaker_hold\",\"args\":{\"origin\":\"web\","
	    "\"for_ms\":5}}", INVALID);
	expect("{\"verb\":\"breaker_hold\",\"args\":{\"origin\":\"web\","
	    "\"state\":\"half-open\",\"for_ms\":5}}", INVALID);
	expect_state("closed", false);
	answer = ask("{\"verb\":\"breaker_hold\",\"args\":{\"origin\":\"web\","
	    "\"state\":\"open\",\"for_ms\":86400000}}", OK);
	cr_assert_eq(number(answer, "hold_left_ms"), 86400000);
	json_decref(answer);
	expect_state("open", true);
	expect("{\"verb\":\"breaker_hold\",\"args\":{\"origin\":\"web\","
	    "\"for_ms\":0}}", OK);
	expect_state("closed", false);
}

Test(admin_origin, a_mode_needs_an_end_but_for_the_normal_one)
{
	json_t *answer;
	enum result status;

	expect("{\"verb\":\"mode_set\",\"args\":{\"origin\":\"web\","
	    "\"mode\":\"bypass\"}}", INVALID);
	expect("{\"verb\":\"mode_set\",\"args\":{\"origin\":\"web\","
	    "\"mode\":\"bypass\",\"for_ms\":0}}", INVALID);
	expect("{\"verb\":\"mode_set\",\"args\":{\"origin\":\"web\","
	    "\"mode\":\"other\",\"for_ms\":5}}", INVALID);
	answer = ask("{\"verb\":\"mode_set\",\"args\":{\"origin\":\"web\","
	    "\"mode\":\"bypass\",\"for_ms\":90}}", OK);
	cr_assert_str_eq(text(answer, "old"), "normal");
	cr_assert_str_eq(text(answer, "new"), "bypass");
	json_decref(answer);
	answer = ask_as(PEER_LEVEL_READ, 50, "{\"verb\":\"origins\",\"args\":"
	    "{\"origin\":\"web\"}}", &status);
	cr_assert_str_eq(text(row(answer, "origins"), "mode"), "bypass");
	cr_assert_eq(number(row(answer, "origins"), "mode_left_ms"), 50);
	json_decref(answer);
	answer = ask_as(PEER_LEVEL_READ, 100, "{\"verb\":\"origins\",\"args\":"
	    "{\"origin\":\"web\"}}", &status);
	cr_assert_str_eq(text(row(answer, "origins"), "mode"), "normal");
	json_decref(answer);
	expect("{\"verb\":\"mode_set\",\"args\":{\"origin\":\"web\","
	    "\"mode\":\"normal\"}}", OK);
}

Test(admin_origin, one_whose_lock_is_held_hides_no_other)
{
	json_t *answer, *list;

	cr_assert_eq(lock_acquire(&origins[0].record->lock, LOCK_TIMEOUT_MS),
	    LOCK_HELD);
	answer = ask("{\"verb\":\"origins\"}", OK);
	list = json_object_get(answer, "origins");
	cr_expect(json_is_true(json_object_get(json_array_get(list, 0),
	    "locked")));
	cr_expect_str_eq(text(json_array_get(list, 0), "mode"), "normal");
	cr_expect_eq(number(json_array_get(list, 1), "in_flight"), 0);
	json_decref(answer);
	expect("{\"verb\":\"breaker_trip\",\"args\":{\"origin\":\"default\"}}",
	    BUSY);
	answer = ask("{\"verb\":\"status\"}", OK);
	cr_expect_str_eq(text(answer, "state"), "degraded");
	json_decref(answer);
	lock_release(&origins[0].record->lock);
}

Test(admin_origin, holders_are_told_by_process_or_as_gone)
{
	struct control_client *client = &heritage->control->clients[1];
	struct admin admin = { .heritage = heritage };
	uint64_t holder;
	json_t *shown;

	client->worker = 1;
	client->incarnation = 1;
	client->generation = 4;
	client->pid = 4711;
	client->uid = 12;
	holder = holder_of_row(heritage->control, client);
	shown = admin_origin_holder(&admin, holder);
	cr_expect_eq(number(shown, "pid"), 4711);
	cr_expect_eq(number(shown, "uid"), 12);
	json_decref(shown);
	client->generation = 5;
	shown = admin_origin_holder(&admin, holder);
	cr_expect(json_is_true(json_object_get(shown, "gone")));
	json_decref(shown);
	shown = admin_origin_holder(&admin, holder_of_worker(
	    heritage->control, 1));
	cr_expect_eq(number(shown, "worker"), 1);
	json_decref(shown);
	shown = admin_origin_holder(&admin, 0);
	cr_expect(json_is_null(shown));
	json_decref(shown);
}
