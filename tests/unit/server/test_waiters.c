/* SPDX-License-Identifier: ISC */

#include "waiters.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "wired_fixture.h"

#define CLIENTS	4u
#define EACH	50u

static int leader;
static struct wired_answer led;

static void
open_workers(void)
{
	struct origin_config config;

	origin_config_init(&config);
	wired_create(&config);
	leader = wired_connect(0, NULL);
	wired_ask(leader, &(struct wired_ask){ .id = 1, .key = "k" });
	wired_expect(leader, LEAD, &led);
}

static void
close_workers(void)
{
	wired_destroy();
}

/* All clients end: nothing of theirs is left. */
static void
leave_nothing(void)
{
	(void)close(leader);
	wired_turn();
	cr_assert_eq(wired_flights().used, 0, "a flight was left behind");
}

TestSuite(waiters, .init = open_workers, .fini = close_workers);

static int
wait_at(uint32_t worker, uint64_t id)
{
	int fd = wired_connect(worker, NULL);

	wired_ask(fd, &(struct wired_ask){ .id = id, .key = "k" });
	wired_expect_silence(fd);
	return fd;
}

static void
end(enum frame_type type, const struct wire_end *how)
{
	struct wired_answer answer;

	wired_end(leader, type, "k", &led, how);
	wired_expect(leader, OK, &answer);
}

Test(waiters, are_all_answered_once_by_one_fill)
{
	struct wired_answer answer;
	bool seen[CLIENTS * EACH] = { false };
	int fds[CLIENTS];

	for (uint32_t c = 0; c < CLIENTS; c++) {
		fds[c] = wired_connect(c % WIRED_WORKERS, NULL);
		for (uint32_t i = 0; i < EACH; i++) {
			wired_ask(fds[c], &(struct wired_ask){
			    .id = c * EACH + i, .key = "k" });
		}
		wired_expect_silence(fds[c]);
	}
	cr_assert_eq(wired_flights().waiters, CLIENTS * EACH);
	end(FRAME_FILL, &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	for (uint32_t n = 0; n < CLIENTS * EACH; n++) {
		wired_expect(fds[n / EACH], OK, &answer);
		cr_assert_eq(answer.frame.type, FRAME_LEASE);
		cr_assert_eq(answer.frame.id / EACH, n / EACH);
		cr_assert_not(seen[answer.frame.id], "answered twice");
		seen[answer.frame.id] = true;
	}
	for (uint32_t c = 0; c < CLIENTS; c++) {
		wired_expect_silence(fds[c]);
		wired_hang_up(fds[c]);
	}
	leave_nothing();
}

Test(waiters, hear_how_it_failed_and_newcomers_back_off)
{
	const struct wire_end failed = {
		.outcome = BREAKER_FAILURE, .code = -17, .note_ms = 5000,
	};
	struct wired_answer answer;
	int near = wait_at(0, 5), far = wait_at(1, 6);

	end(FRAME_FAIL, &failed);
	wired_expect(near, FAILED, &answer);
	cr_assert_eq(answer.lease.code, -17);
	cr_assert_gt(answer.lease.retry_after_ms, 0);
	wired_expect(far, FAILED, &answer);
	cr_assert_eq(answer.lease.code, -17);
	wired_ask(far, &(struct wired_ask){ .id = 7, .key = "k" });
	wired_expect(far, BACKING_OFF, &answer);
	cr_assert_gt(answer.lease.retry_after_ms, 0);
	cr_assert_leq(answer.lease.retry_after_ms, 5000);
	(void)close(near);
	(void)close(far);
	leave_nothing();
}

Test(waiters, each_compute_their_own_of_what_cannot_be_shared)
{
	const struct wire_end uncacheable = {
		.outcome = BREAKER_SUCCESS, .note_ms = 60000,
	};
	struct wired_answer answer;
	int near = wait_at(0, 5), far = wait_at(1, 6);

	end(FRAME_UNCACHEABLE, &uncacheable);
	wired_expect(near, ALONE, &answer);
	cr_assert_eq(answer.lease.token, 0);
	wired_expect(far, ALONE, &answer);
	wired_ask(far, &(struct wired_ask){ .id = 7, .key = "k" });
	wired_expect(far, ALONE, &answer);
	(void)close(near);
	(void)close(far);
	leave_nothing();
}

Test(waiters, one_of_them_leads_when_the_leader_hangs_up)
{
	struct wired_answer answer;
	int near = wait_at(0, 5), far = wait_at(1, 6), next = near;

	(void)close(leader);
	leader = -1;
	wired_turn();
	cr_assert_eq(wired_flights().leading, 1);
	cr_assert_eq(wired_flights().waiters, 1);
	wired_expect(next, LEAD, &answer);
	cr_assert_neq(answer.lease.token, led.lease.token);
	wired_expect_silence(far);
	leader = next;
	led = answer;
	end(FRAME_FILL, &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(far, OK, &answer);
	(void)close(far);
	leave_nothing();
}

Test(waiters, of_another_worker_lead_when_none_is_nearer)
{
	struct wired_answer answer;
	int far = wait_at(1, 6);

	(void)close(leader);
	leader = -1;
	wired_turn();
	wired_expect(far, LEAD, &answer);
	leader = far;
	led = answer;
	leave_nothing();
}

Test(waiters, that_hang_up_are_counted_out)
{
	int near = wait_at(0, 5), far = wait_at(1, 6);

	cr_assert_eq(wired_flights().waiters, 2);
	wired_hang_up(near);
	cr_assert_eq(wired_flights().waiters, 1);
	wired_hang_up(far);
	cr_assert_eq(wired_flights().waiters, 0);
	cr_assert_eq(wired_flights().leading, 1);
	leave_nothing();
}

Test(waiters, are_told_when_their_time_is_over)
{
	struct wired_answer answer;
	int near = wired_connect(0, NULL);

	wired_ask(near, &(struct wired_ask){ .id = 5, .key = "k",
	    .wait_ms = 20 });
	wired_expect(near, TIMEOUT, &answer);
	cr_assert_eq(wired_flights().waiters, 0);
	(void)close(near);
	leave_nothing();
}

Test(waiters, take_over_when_the_lease_is_over)
{
	struct wired_answer answer;
	int near = wired_connect(0, NULL), far;

	wired_ask(leader, &(struct wired_ask){ .id = 2, .key = "short",
	    .lease_ms = 30 });
	wired_expect(leader, LEAD, &led);
	wired_ask(near, &(struct wired_ask){ .id = 5, .key = "short" });
	wired_expect(near, LEAD, &answer);
	far = wired_connect(1, NULL);
	wired_ask(far, &(struct wired_ask){ .id = 6, .key = "short" });
	wired_end(leader, FRAME_FILL, "short", &led,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(leader, LEASE_LOST, &led);
	wired_end(near, FRAME_FILL, "short", &answer,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(near, OK, &answer);
	wired_expect(far, OK, &answer);
	(void)close(near);
	(void)close(far);
	leave_nothing();
}

Test(waiters, of_a_key_do_not_hear_of_another)
{
	struct wired_answer other, answer;
	int near = wired_connect(0, NULL), far;

	wired_ask(leader, &(struct wired_ask){ .id = 2, .key = "other" });
	wired_expect(leader, LEAD, &other);
	wired_ask(near, &(struct wired_ask){ .id = 5, .key = "other" });
	wired_expect_silence(near);
	far = wait_at(0, 6);
	end(FRAME_FILL, &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(far, OK, &answer);
	wired_expect_silence(near);
	(void)close(near);
	(void)close(far);
	leave_nothing();
}

Test(waiters, that_joined_under_the_next_leader_leave_nobody_behind)
{
	struct wired_answer answer;
	int next = wait_at(0, 5), far = wait_at(1, 6), later;

	(void)close(leader);
	wired_turn();
	wired_expect(next, LEAD, &led);
	leader = next;
	later = wired_connect(1, NULL);
	wired_ask(later, &(struct wired_ask){ .id = 7, .key = "k",
	    .wait_ms = 20 });
	wired_expect(later, TIMEOUT, &answer);
	cr_assert_eq(wired_flights().waiters, 1);
	end(FRAME_FILL, &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(far, OK, &answer);
	(void)close(far);
	(void)close(later);
	leave_nothing();
}

Test(waiters, wait_for_as_long_as_can_be_said)
{
	struct wired_answer answer;
	int near = wired_connect(0, NULL);

	wired_ask(near, &(struct wired_ask){ .id = 5, .key = "k",
	    .wait_ms = UINT32_MAX });
	wired_expect_silence(near);
	end(FRAME_FILL, &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(near, OK, &answer);
	(void)close(near);
	leave_nothing();
}
