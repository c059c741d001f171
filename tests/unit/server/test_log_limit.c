/* SPDX-License-Identifier: ISC */

#include "log_limit.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct boot_ms start = { 50000 };

static struct boot_ms
later(uint64_t ms)
{
	return (struct boot_ms){ start.ms + ms };
}

static void
fill(struct log_limit *limit, const char *event, struct boot_ms now)
{
	for (int i = 0; i < LOG_LIMIT_LINES; i++) {
		cr_assert(log_limit_take(limit, event, now), "line %d", i);
	}
}

Test(log_limit, lines_above_the_limit_are_held_and_counted)
{
	struct log_limit limit = { 0 };
	char name[LOG_EVENT_BYTES];

	fill(&limit, "storm", start);
	for (int i = 0; i < 7; i++) {
		cr_assert_not(log_limit_take(&limit, "storm", later(10)));
	}
	cr_assert_eq(log_limit_collect(&limit, later(20), false, name), 0);
	cr_assert_eq(log_limit_collect(&limit, later(LOG_LIMIT_WINDOW_MS),
	    false, name), 7);
	cr_assert_str_eq(name, "storm");
	cr_assert_eq(log_limit_collect(&limit, later(LOG_LIMIT_WINDOW_MS),
	    false, name), 0);
}

Test(log_limit, one_event_does_not_hold_another_back)
{
	struct log_limit limit = { 0 };

	fill(&limit, "storm", start);
	cr_assert_not(log_limit_take(&limit, "storm", start));
	cr_assert(log_limit_take(&limit, "calm", start));
}

Test(log_limit, a_new_window_lets_lines_through_again)
{
	struct log_limit limit = { 0 };

	fill(&limit, "storm", start);
	cr_assert(log_limit_take(&limit, "storm",
	    later(LOG_LIMIT_WINDOW_MS)));
}

Test(log_limit, what_was_held_is_counted_at_the_end)
{
	struct log_limit limit = { 0 };
	char name[LOG_EVENT_BYTES];

	fill(&limit, "storm", start);
	cr_assert_not(log_limit_take(&limit, "storm", start));
	cr_assert_eq(log_limit_collect(&limit, start, true, name), 1);
}

Test(log_limit, more_events_than_rows_are_still_written)
{
	struct log_limit limit = { 0 };
	char event[32];

	for (int i = 0; i < LOG_LIMIT_EVENTS + 10; i++) {
		(void)snprintf(event, sizeof(event), "event-%d", i);
		cr_assert(log_limit_take(&limit, event, start), "%s", event);
	}
	/* Rows of the past are used again. */
	fill(&limit, "late", later(LOG_LIMIT_WINDOW_MS));
	cr_assert_not(log_limit_take(&limit, "late",
	    later(LOG_LIMIT_WINDOW_MS)));
}
