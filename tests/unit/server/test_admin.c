/* SPDX-License-Identifier: ISC */

#include "admin.h"

#include <criterion/criterion.h>
#include <string.h>

#include "daemon_fixture.h"

static struct heritage *heritage;
static const struct peer root = { .pid = 1 };

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

TestSuite(admin, .init = open_daemon, .fini = close_daemon);

static json_t *
ask_as(enum peer_level level, const char *request, enum result *status)
{
	struct admin admin = {
		.heritage = heritage, .peer = &root, .level = level,
		.now = fixture_at(10),
	};

	return admin_serve(&admin, request, strlen(request), status);
}

/* The answer of a request that is expected to give that result. */
static json_t *
ask(const char *request, enum result expected)
{
	enum result status = OK;
	json_t *answer = ask_as(PEER_LEVEL_FULL, request, &status);

	cr_assert_not_null(answer);
	cr_assert_eq(status, expected, "%s: %s", request, result_name(status));
	cr_assert_eq(json_integer_value(json_object_get(answer, "version")),
	    1);
	cr_assert_eq(json_object_get(answer, "error") != NULL,
	    expected != OK);
	return answer;
}

static void
expect(const char *request, enum result expected)
{
	json_decref(ask(request, expected));
}

static bool
is_true(json_t *answer, const char *name)
{
	return json_is_true(json_object_get(answer, name));
}

Test(admin, answers_every_verb_that_looks)
{
	static const char *const requests[] = {
		"{\"verb\":\"ping\"}", "{\"verb\":\"version\"}",
		"{\"verb\":\"status\"}", "{\"verb\":\"pools\"}",
		"{\"verb\":\"workers\"}", "{\"verb\":\"clients\"}",
		"{\"verb\":\"stats\"}", "{\"verb\":\"mem\"}",
		"{\"verb\":\"scan\"}", "{\"verb\":\"origins\"}",
		"{\"verb\":\"limiter_show\"}", "{\"verb\":\"leases\"}",
		"{\"verb\":\"breaker_list\"}",
		"{\"verb\":\"get\",\"args\":{\"key\":\"a\"}}",
		"{\"verb\":\"inspect\",\"args\":{\"key\":\"a\"}}",
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		enum result status = OK;

		expect(requests[i], OK);
		json_decref(ask_as(PEER_LEVEL_READ, requests[i], &status));
		cr_assert_eq(status, OK, "%s", requests[i]);
		json_decref(ask_as(PEER_LEVEL_NONE, requests[i], &status));
		cr_assert_eq(status, DENIED, "%s", requests[i]);
	}
}

Test(admin, lets_only_the_full_level_change)
{
	static const char *const requests[] = {
		"{\"verb\":\"set\",\"args\":{\"key\":\"a\",\"value\":\"b\"}}",
		"{\"verb\":\"del\",\"args\":{\"key\":\"a\"}}",
		"{\"verb\":\"touch\",\"args\":{\"key\":\"a\"}}",
		"{\"verb\":\"purge\",\"args\":{\"all\":true}}",
		"{\"verb\":\"verify\"}",
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		enum result status = OK;

		json_decref(ask_as(PEER_LEVEL_READ, requests[i], &status));
		cr_assert_eq(status, DENIED, "%s", requests[i]);
		expect(requests[i], OK);
	}
}

Test(admin, shows_what_it_stored)
{
	json_t *answer;

	expect("{\"verb\":\"set\",\"args\":{\"key64\":\"AP8=\",\"value\":"
	    "\"v\",\"ttl_ms\":500,\"tags\":[\"t\"]}}", OK);
	answer = ask("{\"verb\":\"get\",\"args\":{\"key64\":\"AP8=\"}}", OK);
	cr_assert(is_true(answer, "found"));
	cr_assert_str_eq(json_string_value(json_object_get(answer,
	    "value")), "v");
	cr_assert_eq(json_integer_value(json_object_get(answer, "ttl_ms")),
	    500);
	json_decref(answer);
	answer = ask("{\"verb\":\"scan\"}", OK);
	cr_assert_eq(json_array_size(json_object_get(answer, "items")), 1);
	json_decref(answer);
	answer = ask("{\"verb\":\"inspect\",\"args\":{\"key64\":\"AP8=\"}}",
	    OK);
	cr_assert_eq(json_array_size(json_object_get(answer, "tags")), 1);
	json_decref(answer);
}

Test(admin, purges_by_tag)
{
	json_t *answer;

	expect("{\"verb\":\"set\",\"args\":{\"key\":\"a\",\"value\":\"b\","
	    "\"tags\":[\"t\"]}}", OK);
	expect("{\"verb\":\"purge\",\"args\":{\"tag\":\"t\",\"how\":"
	    "\"soft\"}}", OK);
	answer = ask("{\"verb\":\"get\",\"args\":{\"key\":\"a\"}}", OK);
	cr_assert(is_true(answer, "stale"));
	json_decref(answer);
	expect("{\"verb\":\"purge\",\"args\":{\"tag\":\"t\"}}", OK);
	answer = ask("{\"verb\":\"get\",\"args\":{\"key\":\"a\"}}", OK);
	cr_assert_not(is_true(answer, "found"));
	json_decref(answer);
}

Test(admin, stores_only_where_the_condition_holds)
{
	json_t *answer = ask("{\"verb\":\"set\",\"args\":{\"key\":\"a\","
	    "\"value\":\"b\",\"when\":\"absent\"}}", OK);
	char request[200];

	(void)snprintf(request, sizeof(request), "{\"verb\":\"set\",\"args\":"
	    "{\"key\":\"a\",\"value\":\"c\",\"when\":\"version\","
	    "\"version_id\":%lld}}", (long long)json_integer_value(
	    json_object_get(answer, "version_id")));
	json_decref(answer);
	expect("{\"verb\":\"set\",\"args\":{\"key\":\"a\",\"value\":\"b\","
	    "\"when\":\"absent\"}}", EXISTS);
	expect(request, OK);
	expect(request, CHANGED);
}

Test(admin, refuses_what_makes_no_sense)
{
	static const char *const requests[] = {
		"", "[]", "{\"verb\":1}", "{\"verb\":\"no\"}",
		"{\"verb\":\"ping\",\"args\":[]}",
		"{\"verb\":\"ping\",\"args\":{\"pool\":1}}",
		"{\"verb\":\"ping\",\"verb\":\"ping\"}",
		"{\"verb\":\"get\"}",
		"{\"verb\":\"get\",\"args\":{\"key\":1}}",
		"{\"verb\":\"get\",\"args\":{\"key64\":\"*\"}}",
		"{\"verb\":\"set\",\"args\":{\"key\":\"a\"}}",
		"{\"verb\":\"set\",\"args\":{\"key\":\"a\",\"value\":\"b\","
		    "\"ttl_ms\":-1}}",
		"{\"verb\":\"set\",\"args\":{\"key\":\"a\",\"value\":\"b\","
		    "\"tags\":[\"\"]}}",
		"{\"verb\":\"set\",\"args\":{\"key\":\"a\",\"value\":\"b\","
		    "\"when\":\"version\"}}",
		"{\"verb\":\"purge\"}",
		"{\"verb\":\"purge\",\"args\":{\"all\":true,\"tag\":\"t\"}}",
		"{\"verb\":\"purge\",\"args\":{\"all\":true,\"how\":\"x\"}}",
		"{\"verb\":\"purge\",\"args\":{\"key\":\"a\",\"how\":"
		    "\"soft\"}}",
		"{\"verb\":\"scan\",\"args\":{\"cursor\":\"x\"}}",
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		expect(requests[i], INVALID);
	}
	expect("{\"verb\":\"get\",\"args\":{\"key\":\"\"}}", KEY_INVALID);
}
