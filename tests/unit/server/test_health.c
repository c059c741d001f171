/* SPDX-License-Identifier: ISC */

#include "health.h"

#include <criterion/criterion.h>

#include "daemon_fixture.h"
#include "origins_fixture.h"

static void
count_reason(void *arg, const char *text)
{
	cr_assert_neq(text[0], '\0');
	++*(int *)arg;
}

static enum health_state
look(const struct heritage *heritage, uint64_t ms, int *reasons)
{
	*reasons = 0;
	return health_look(heritage->control, NULL, 0, fixture_at(ms),
	    count_reason, reasons);
}

Test(health, is_ready_while_all_processes_beat)
{
	struct heritage *heritage = fixture_create();
	int reasons;

	cr_assert_eq(look(heritage, HEALTH_SILENCE_MS, &reasons),
	    HEALTH_READY);
	cr_assert_eq(reasons, 0);
	fixture_destroy(heritage);
}

Test(health, names_who_is_silent_or_gone)
{
	struct heritage *heritage = fixture_create();
	int reasons;

	heritage->control->processes[1].state = PROCESS_DEAD;
	cr_assert_eq(look(heritage, 0, &reasons), HEALTH_DEGRADED);
	cr_assert_eq(reasons, 1);
	cr_assert_eq(look(heritage, HEALTH_SILENCE_MS + 1, &reasons),
	    HEALTH_DEGRADED);
	cr_assert_eq(reasons, 3);
	fixture_destroy(heritage);
}

Test(health, draining_goes_before_all_else)
{
	struct heritage *heritage = fixture_create();
	int reasons;

	heritage->control->draining = 1;
	heritage->control->processes[1].state = PROCESS_DEAD;
	cr_assert_eq(look(heritage, 0, &reasons), HEALTH_DRAINING);
	cr_assert_eq(reasons, 2);
	fixture_destroy(heritage);
}

Test(health, an_open_breaker_is_a_reason_until_its_time_is_over)
{
	struct heritage *heritage = fixture_create();
	struct origin *origins = origins_fixture_create();
	struct origin_view view;
	int reasons = 0;

	cr_assert_eq(origin_trip(&origins[1], 1, fixture_at(0)), OK);
	cr_assert_eq(health_look(heritage->control, origins, FIXTURE_ORIGINS,
	    fixture_at(1), count_reason, &reasons), HEALTH_DEGRADED);
	cr_assert_eq(reasons, 1);
	cr_assert_eq(origin_look(&origins[1], fixture_at(1), &view), OK);
	for (int i = 0; i < 3; i++) {
		heritage->control->processes[i].heartbeat_ms =
		    view.open_until_ms;
	}
	cr_assert_eq(health_look(heritage->control, origins, FIXTURE_ORIGINS,
	    (struct boot_ms){ .ms = view.open_until_ms }, count_reason,
	    &reasons), HEALTH_READY);
	cr_assert_eq(reasons, 1);
	origins_fixture_destroy();
	fixture_destroy(heritage);
}
