/* SPDX-License-Identifier: ISC */

/* What a change made by hand leaves in the log. */
#include "admin.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon_fixture.h"
#include "origins_fixture.h"

static struct heritage *heritage;
static struct origin *origins;
static char log_text[4096];

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

TestSuite(admin_log, .init = open_daemon, .fini = close_daemon);

/* What the request wrote to standard error is in log_text. */
static void
serve(const char *request, enum result expected)
{
	static const struct peer peer = { .pid = 77, .uid = 12 };
	struct admin admin = {
		.heritage = heritage, .peer = &peer, .level = PEER_LEVEL_FULL,
		.now = fixture_at(10), .origins = origins,
		.origin_count = FIXTURE_ORIGINS,
	};
	int file = memfd_create("log", MFD_CLOEXEC);
	int before = dup(STDERR_FILENO);
	enum result status = OK;
	ssize_t length;

	cr_assert_geq(file, 0);
	cr_assert_geq(dup2(file, STDERR_FILENO), 0);
	json_decref(admin_serve(&admin, request, strlen(request), &status));
	cr_assert_geq(dup2(before, STDERR_FILENO), 0);
	close(before);
	length = pread(file, log_text, sizeof(log_text) - 1, 0);
	cr_assert_geq(length, 0);
	log_text[length] = '\0';
	close(file);
	cr_assert_eq(status, expected, "%s", result_name(status));
}

Test(admin_log, a_change_is_one_line_with_old_new_uid_and_reason)
{
	serve("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
	    "\"limit\":32,\"reason\":\"slow disk\"}}", OK);
	cr_assert_str_eq(log_text, "admin-change verb=limiter_set origin=web "
	    "old=64 new=32 uid=12 pid=77 result=OK reason=\"slow disk\"\n");
	serve("{\"verb\":\"breaker_trip\",\"args\":{\"origin\":\"web\"}}", OK);
	cr_assert_str_eq(log_text, "admin-change verb=breaker_trip origin=web "
	    "old=\"closed\" new=\"open\" uid=12 pid=77 result=OK\n");
}

Test(admin_log, a_change_for_a_time_says_how_long)
{
	serve("{\"verb\":\"mode_set\",\"args\":{\"origin\":\"web\","
	    "\"mode\":\"bypass\",\"for_ms\":90}}", OK);
	cr_assert_str_eq(log_text, "admin-change verb=mode_set origin=web "
	    "old=\"normal\" new=\"bypass\" for_ms=90 uid=12 pid=77 "
	    "result=OK\n");
	serve("{\"verb\":\"breaker_hold\",\"args\":{\"origin\":\"web\","
	    "\"state\":\"closed\",\"for_ms\":7}}", OK);
	cr_assert_str_eq(log_text, "admin-change verb=breaker_hold origin=web "
	    "old=\"closed\" new=\"closed\" for_ms=7 uid=12 pid=77 "
	    "result=OK\n");
}

Test(admin_log, a_reason_cannot_pretend_to_be_more_than_a_reason)
{
	serve("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
	    "\"limit\":3,\"reason\":\"a\\\" uid=0 \\\\\\nadmin-change\"}}",
	    OK);
	cr_assert_str_eq(log_text, "admin-change verb=limiter_set origin=web "
	    "old=64 new=3 uid=12 pid=77 result=OK "
	    "reason=\"a\\\" uid=0 \\\\\\x0aadmin-change\"\n");
}

Test(admin_log, a_reason_that_is_none_changes_nothing)
{
	char request[400];

	serve("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
	    "\"limit\":3,\"reason\":5}}", INVALID);
	cr_assert_str_eq(log_text, "admin-change verb=limiter_set origin=web "
	    "uid=12 pid=77 result=INVALID\n");
	serve("{\"verb\":\"limiter_set\",\"args\":{\"origin\":\"web\","
	    "\"limit\":3,\"reason\":\"a\\u0000b\"}}", INVALID);
	(void)snprintf(request, sizeof(request), "{\"verb\":\"limiter_set\","
	    "\"args\":{\"origin\":\"web\",\"limit\":3,\"reason\":\"%0*d\"}}",
	    (int)ADMIN_REASON_BYTES + 1, 0);
	serve(request, INVALID);
	(void)snprintf(request, sizeof(request), "{\"verb\":\"limiter_set\","
	    "\"args\":{\"origin\":\"web\",\"limit\":3,\"reason\":\"%0*d\"}}",
	    (int)ADMIN_REASON_BYTES, 0);
	serve(request, OK);
	cr_assert_not_null(strstr(log_text, "old=64 new=3 "));
}

Test(admin_log, an_origin_that_is_not_there_is_not_repeated)
{
	serve("{\"verb\":\"breaker_reset\",\"args\":{\"origin\":\"x uid=0\"}}",
	    MISS);
	cr_assert_str_eq(log_text, "admin-change verb=breaker_reset origin=- "
	    "uid=12 pid=77 result=MISS\n");
}

Test(admin_log, looking_leaves_no_line)
{
	serve("{\"verb\":\"origins\"}", OK);
	cr_assert_str_eq(log_text, "");
}
