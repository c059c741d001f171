/* SPDX-License-Identifier: ISC */

#include "origin_answer.h"

#include <criterion/criterion.h>
#include <jansson.h>

static json_t *
parse(const char *text)
{
	json_t *object = json_loads(text, 0, NULL);

	cr_assert_not_null(object, "%s", text);
	return object;
}

Test(origin_answer, sums_the_refusals_there_are)
{
	json_t *row = parse("{\"refused\": {\"a\": 3, \"b\": 4, "
	    "\"c\": \"x\", \"d\": null}}");
	json_t *without = parse("{\"name\": \"o\"}");

	origin_answer_sum(row);
	cr_assert_eq(answer_number(row, "refused_sum", 0), 7u);
	origin_answer_sum(without);
	cr_assert_null(json_object_get(without, "refused_sum"));
	origin_answer_sum(NULL);
	json_decref(row);
	json_decref(without);
}

static void
expect_state(const char *text, const char *want)
{
	json_t *breaker = parse(text);

	origin_answer_mark_off(breaker);
	cr_assert_str_eq(json_string_value(json_object_get(breaker, "state")),
	    want, "%s", text);
	json_decref(breaker);
}

Test(origin_answer, shows_a_breaker_that_decides_nothing_as_off)
{
	expect_state("{\"enabled\": false, \"held\": false, "
	    "\"state\": \"closed\"}", "off");
	/* A hold decides also where the breaker is off. */
	expect_state("{\"enabled\": false, \"held\": true, "
	    "\"state\": \"open\"}", "open");
	expect_state("{\"enabled\": true, \"held\": false, "
	    "\"state\": \"half-open\"}", "half-open");
	/* Of another version of the daemon. */
	expect_state("{\"state\": \"closed\"}", "closed");
	origin_answer_mark_off(NULL);
}

/* want NULL: the member is not there. */
static void
expect_holder(const char *text, const char *want)
{
	json_t *row = parse(text);
	const char *got;

	origin_answer_name_holder(row, "who", "who_text");
	got = json_string_value(json_object_get(row, "who_text"));
	if (want == NULL) {
		cr_assert_null(got, "%s: %s", text, got);
	} else {
		cr_assert_not_null(got, "%s", text);
		cr_assert_str_eq(got, want, "%s: %s", text, got);
	}
	json_decref(row);
}

Test(origin_answer, names_who_holds_something)
{
	expect_holder("{\"who\": {\"pid\": 17, \"uid\": 3}}", "pid 17");
	expect_holder("{\"who\": {\"worker\": 0}}", "worker 0");
	expect_holder("{\"who\": {\"gone\": true}}", "gone");
	expect_holder("{\"who\": null}", NULL);
	expect_holder("{\"who\": 5}", NULL);
	expect_holder("{}", NULL);
}
