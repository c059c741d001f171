/* SPDX-License-Identifier: ISC */

#include "metrics.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_fixture.h"
#include "origin_record.h"
#include "origins_fixture.h"

static struct origin *origins;

static void
open_origins(void)
{
	origins = origins_fixture_create();
}

TestSuite(metrics_origin, .init = open_origins,
    .fini = origins_fixture_destroy);

/* The families; the caller frees. */
static char *
write_families(uint32_t count)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	cr_assert_not_null(out);
	metrics_write_origins(out, origins, count, fixture_at(5));
	cr_assert_eq(fclose(out), 0);
	return text;
}

static void
expect_line(const char *text, const char *line)
{
	char whole[160];

	(void)snprintf(whole, sizeof(whole), "\n%s\n", line);
	cr_expect_not_null(strstr(text, whole), "%s", line);
}

Test(metrics_origin, each_origin_has_its_own_numbers)
{
	struct origin_ticket ticket;
	unsigned events;
	uint32_t old;
	char *text;

	cr_assert_eq(origin_set_limit(&origins[1], 2, fixture_at(0), &old),
	    OK);
	cr_assert(origins_fixture_call(&origins[1], 5, fixture_at(0),
	    &ticket));
	cr_assert_eq(origin_release(&origins[1], ticket.permit, false,
	    ticket.token, 5, BREAKER_FAILURE, 1, fixture_at(1), &events), OK);
	cr_assert(origins_fixture_call(&origins[1], 5, fixture_at(1),
	    &ticket));
	cr_assert(origins_fixture_call(&origins[1], 6, fixture_at(1),
	    &ticket));
	cr_assert_not(origins_fixture_call(&origins[1], 7, fixture_at(1),
	    &ticket));
	text = write_families(FIXTURE_ORIGINS);
	expect_line(text, "weir_origin_limit{origin=\"default\"} 64");
	expect_line(text, "weir_origin_limit{origin=\"web\"} 2");
	expect_line(text, "weir_origin_in_flight{origin=\"default\"} 0");
	expect_line(text, "weir_origin_in_flight{origin=\"web\"} 2");
	expect_line(text, "weir_origin_granted_total{origin=\"web\"} 3");
	expect_line(text, "weir_origin_failures_total{origin=\"web\"} 1");
	expect_line(text, "weir_origin_refused_total{origin=\"web\",reason="
	    "\"no_wait\"} 1");
	expect_line(text, "weir_origin_refused_total{origin=\"web\",reason="
	    "\"breaker_open\"} 0");
	expect_line(text, "weir_origin_breaker_state{origin=\"web\"} 0");
	free(text);
}

Test(metrics_origin, an_open_breaker_is_a_number)
{
	struct origin_ticket ticket;
	char *text;

	cr_assert_eq(origin_trip(&origins[0], 1, fixture_at(0)), OK);
	cr_assert_not(origins_fixture_call(&origins[0], 5, fixture_at(1),
	    &ticket));
	text = write_families(FIXTURE_ORIGINS);
	expect_line(text, "weir_origin_breaker_state{origin=\"default\"} 2");
	expect_line(text, "weir_origin_opened_total{origin=\"default\"} 1");
	expect_line(text, "weir_origin_refused_total{origin=\"default\","
	    "reason=\"breaker_open\"} 1");
	free(text);
}

Test(metrics_origin, one_that_is_locked_has_no_other_samples)
{
	char *text;

	cr_assert_eq(lock_acquire(&origins[0].record->lock, LOCK_TIMEOUT_MS),
	    LOCK_HELD);
	text = write_families(FIXTURE_ORIGINS);
	lock_release(&origins[0].record->lock);
	expect_line(text, "weir_origin_locked{origin=\"default\"} 1");
	expect_line(text, "weir_origin_locked{origin=\"web\"} 0");
	cr_expect_null(strstr(text, "weir_origin_limit{origin=\"default\"}"));
	cr_expect_not_null(strstr(text, "weir_origin_limit{origin=\"web\"}"));
	free(text);
}

Test(metrics_origin, without_origins_there_are_no_families)
{
	char *text = write_families(0);

	cr_expect_str_eq(text, "");
	free(text);
}
