/* SPDX-License-Identifier: ISC */

#include "ask.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "wired_fixture.h"

static int first, second;
static struct wired_answer held;

/* One call at once; two may wait. */
static void
open_workers(void)
{
	struct origin_config config;

	origin_config_init(&config);
	config.limiter.limit = 1;
	config.limiter.places = 2;
	config.limiter.partition_places = 2;
	config.limiter.reserve_pct = 0;
	wired_create(&config);
	first = wired_connect(0, NULL);
	second = wired_connect(1, NULL);
	wired_ask(first, &(struct wired_ask){ .id = 1, .origin = "db" });
	wired_expect(first, OK, &held);
	cr_assert_neq(held.lease.permit.number, 0);
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
	wired_hang_up(first);
	wired_hang_up(second);
	cr_assert_eq(wired_flights().used, 0, "a flight was left behind");
	cr_assert_eq(wired_origin().in_flight, 0, "a permit was left");
	cr_assert_eq(wired_origin().waiting, 0, "a place was left");
}

TestSuite(ask_permit, .init = open_workers, .fini = close_workers);

static void
release(int fd, const struct wired_answer *given, enum result expected)
{
	struct wired_answer answer;

	wired_end(fd, FRAME_RELEASE, NULL, given,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(fd, expected, &answer);
}

static void
ask_permit_of(int fd, uint64_t id, uint32_t flags)
{
	wired_ask(fd, &(struct wired_ask){ .id = id, .origin = "db",
	    .flags = flags });
}

static void
abandon(int fd, uint64_t id)
{
	struct wired_answer answer;
	uint8_t body[8];

	wire_put_u64(body, id);
	wired_send(fd, FRAME_ABANDON, 99, body, sizeof(body));
	wired_expect(fd, OK, &answer);
}

Test(ask_permit, is_waited_for_in_turn)
{
	struct wired_answer answer;

	ask_permit_of(second, 2, 0);
	wired_expect_silence(second);
	ask_permit_of(first, 3, 0);
	wired_expect_silence(first);
	cr_assert_eq(wired_origin().waiting, 2);
	release(first, &held, OK);
	wired_expect(second, OK, &answer);
	cr_assert_eq(answer.frame.id, 2);
	cr_assert_gt(answer.lease.left_ms, 0);
	wired_expect_silence(first);
	release(second, &answer, OK);
	wired_expect(first, OK, &held);
	cr_assert_eq(held.frame.id, 3);
	cr_assert_eq(wired_origin().successes, 2);
	leave_nothing();
}

Test(ask_permit, is_released_by_its_holder_alone_and_once)
{
	release(second, &held, LEASE_LOST);
	cr_assert_eq(wired_origin().in_flight, 1);
	release(first, &held, OK);
	release(first, &held, LEASE_LOST);
	held.lease.permit.origin = 5;
	release(first, &held, INVALID);
	held.lease.permit.origin = 0;
	held.lease.permit.number = 0x7fffffff;
	release(first, &held, LEASE_LOST);
	leave_nothing();
}

Test(ask_permit, of_a_client_that_hangs_up_is_the_next_ones)
{
	struct wired_answer answer;

	ask_permit_of(second, 2, 0);
	wired_expect_silence(second);
	wired_hang_up(first);
	wired_expect(second, OK, &answer);
	first = wired_connect(0, NULL);
	leave_nothing();
}

Test(ask_permit, is_refused_with_the_reason)
{
	struct wired_answer answer;

	ask_permit_of(second, 2, WIRE_NO_WAIT);
	wired_expect(second, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_NO_WAIT);
	cr_assert_gt(answer.lease.retry_after_ms, 0);
	ask_permit_of(second, 3, WIRE_BACKGROUND);
	wired_expect(second, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_BACKGROUND_SHED);
	ask_permit_of(second, 4, 0);
	ask_permit_of(second, 5, 0);
	wired_expect_silence(second);
	ask_permit_of(first, 6, 0);
	wired_expect(first, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_QUEUE_FULL);
	leave_nothing();
}

Test(ask_permit, that_comes_too_late_is_no_more_waited_for)
{
	struct wired_answer answer;

	wired_ask(second, &(struct wired_ask){ .id = 2, .origin = "db",
	    .wait_ms = 20 });
	wired_expect(second, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_QUEUE_TIMEOUT);
	cr_assert_eq(wired_origin().waiting, 0);
	leave_nothing();
}

Test(ask_permit, makes_a_leader_and_who_waits_for_it_wait)
{
	struct wired_answer led, answer;

	wired_ask(second, &(struct wired_ask){ .id = 2, .key = "k",
	    .origin = "db", .lease_ms = 20000 });
	wired_expect_silence(second);
	wired_ask(first, &(struct wired_ask){ .id = 3, .key = "k",
	    .origin = "db" });
	wired_expect_silence(first);
	cr_assert_eq(wired_origin().waiting, 1, "one of a flight");
	release(first, &held, OK);
	wired_expect(second, LEAD, &led);
	cr_assert_gt(led.lease.left_ms, 19000, "its time begins now");
	wired_end(second, FRAME_FILL, "k", &led,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(second, OK, &answer);
	wired_expect(first, OK, &answer);
	cr_assert_eq(wired_origin().in_flight, 0);
	leave_nothing();
}

Test(ask_permit, refused_for_the_origins_sake_ends_the_flight_for_all)
{
	struct wired_answer answer;

	ask_permit_of(second, 2, 0);
	ask_permit_of(second, 3, 0);
	wired_expect_silence(second);
	wired_ask(first, &(struct wired_ask){ .id = 4, .key = "k" });
	wired_expect(first, LEAD, &held);
	wired_ask(second, &(struct wired_ask){ .id = 5, .key = "k",
	    .origin = "db" });
	wired_ask(second, &(struct wired_ask){ .id = 6, .key = "k",
	    .origin = "db" });
	wired_expect_silence(second);
	/* The leader gives up: the queue is full for whoever is next. */
	abandon(first, 4);
	wired_expect(second, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_QUEUE_FULL);
	wired_expect(second, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_QUEUE_FULL);
	leave_nothing();
}

Test(ask_permit, refused_for_the_callers_sake_hands_the_flight_over)
{
	struct wired_answer answer;

	wired_ask(first, &(struct wired_ask){ .id = 4, .key = "k" });
	wired_expect(first, LEAD, &answer);
	wired_ask(second, &(struct wired_ask){ .id = 5, .key = "k" });
	wired_ask(second, &(struct wired_ask){ .id = 6, .key = "k",
	    .origin = "db", .flags = WIRE_BACKGROUND });
	wired_expect_silence(second);
	abandon(first, 4);
	for (int i = 0; i < 2; i++) {
		wired_receive(second, &answer);
		cr_assert_eq(answer.frame.status, answer.frame.id == 6 ?
		    (int32_t)SHED : (int32_t)LEAD);
	}
	leave_nothing();
}

Test(ask_permit, is_given_up_by_all_when_the_breaker_opens)
{
	struct wired_answer answer;
	struct worker *worker = wired_worker(0);

	wired_ask(second, &(struct wired_ask){ .id = 2, .key = "k",
	    .origin = "db" });
	wired_ask(first, &(struct wired_ask){ .id = 3, .key = "k",
	    .origin = "db" });
	ask_permit_of(first, 4, 0);
	wired_expect_silence(first);
	wired_expect_silence(second);
	cr_assert_eq(origin_trip(&worker->origins[0], 1, clock_boot_now()),
	    OK);
	wake_send(&worker->wake);
	for (int i = 0; i < 2; i++) {
		wired_expect(first, CIRCUIT_OPEN, &answer);
		cr_assert_gt(answer.lease.retry_after_ms, 0);
	}
	wired_expect(second, CIRCUIT_OPEN, &answer);
	cr_assert_eq(wired_origin().waiting, 0);
	ask_permit_of(second, 5, 0);
	wired_expect(second, CIRCUIT_OPEN, &answer);
	leave_nothing();
}

Test(ask_permit, is_all_that_is_asked_for_in_an_incident)
{
	struct wired_answer answer;
	struct origin *origin = &wired_worker(0)->origins[0];
	struct boot_ms now = clock_boot_now();

	release(first, &held, OK);
	cr_assert_eq(origin_set_mode(origin, ORIGIN_BYPASS,
	    (struct boot_ms){ .ms = now.ms + 60000 }, now), OK);
	wired_ask(second, &(struct wired_ask){ .id = 2, .key = "k",
	    .origin = "db" });
	wired_expect(second, ALONE, &answer);
	cr_assert_eq(answer.lease.mode, ORIGIN_BYPASS);
	cr_assert_neq(answer.lease.permit.number, 0);
	cr_assert_eq(answer.lease.token, 0);
	cr_assert_eq(wired_flights().used, 0);
	leave_nothing();
}
