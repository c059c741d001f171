/* SPDX-License-Identifier: ISC */

/*
 * Leaders who wait for a permit, and what becomes of their flights; what an
 * origin's detector of floods hears of them.
 */
#include "ask.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "origin_record.h"
#include "waiters.h"
#include "wired_fixture.h"

#define PARTITION	77u

static int first, second;
static struct wired_answer held;

/* One call at once; it is the first client's. */
static void
open_workers(uint32_t wait_ms)
{
	struct origin_config config;

	origin_config_init(&config);
	config.limiter.limit = 1;
	config.limiter.reserve_pct = 0;
	config.limiter.wait_ms = wait_ms;
	wired_create(&config);
	first = wired_connect(0, NULL);
	second = wired_connect(1, NULL);
	wired_ask(first, &(struct wired_ask){ .id = 1, .origin = "db" });
	wired_expect(first, OK, &held);
}

static void
close_workers(void)
{
	(void)close(first);
	(void)close(second);
	wired_destroy();
}

static void
ask(int fd, uint64_t id, uint32_t wait_ms)
{
	wired_ask(fd, &(struct wired_ask){ .id = id, .key = "k",
	    .origin = "db", .wait_ms = wait_ms, .partition = PARTITION });
	wired_turn();
}

static void
release(void)
{
	struct wired_answer answer;

	wired_end(first, FRAME_RELEASE, NULL, &held,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(first, OK, &answer);
}

Test(ask_patience, of_a_leader_alone_does_not_end_the_flight)
{
	struct wired_answer answer;

	open_workers(60000);
	ask(second, 2, 20);
	ask(first, 3, 4000);
	wired_expect(second, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_QUEUE_TIMEOUT);
	wired_expect_silence(first);
	cr_assert_eq(wired_flights().leading, 1, "the next one leads");
	cr_assert_eq(wired_origin().waiting, 1);
	release();
	wired_expect(first, LEAD, &answer);
	close_workers();
}

Test(ask_patience, of_the_origin_ends_it_for_all)
{
	struct wired_answer answer;

	open_workers(20);
	ask(second, 2, 4000);
	ask(first, 3, 4000);
	wired_expect(second, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_QUEUE_TIMEOUT);
	wired_expect(first, SHED, &answer);
	cr_assert_eq(answer.lease.reason, LIMITER_QUEUE_TIMEOUT);
	cr_assert_eq(wired_flights().used, 0);
	close_workers();
}

static uint32_t
misses_noted(void)
{
	const struct missrate *noted =
	    &wired_worker(0)->origins[0].record->missrate;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < MISSRATE_ROWS; i++) {
		sum += noted->partition[i] == PARTITION ?
		    noted->row[i].misses : 0;
	}
	return sum;
}

Test(ask_patience, a_miss_whose_place_was_swept_counts_once)
{
	struct connection *conn;
	struct origin_ticket place;
	struct wired_answer answer;

	open_workers(60000);
	ask(second, 2, 4000);
	cr_assert_eq(misses_noted(), 1);
	conn = LIST_FIRST(&wired_worker(1)->connections);
	place = LIST_FIRST(&conn->session->leases.asks)->ticket;
	cr_assert(origin_cancel(&wired_worker(1)->origins[0], &place,
	    conn->session->leases.holder, 7, clock_boot_now()));
	cr_assert_eq(wired_origin().waiting, 0);
	wake_all(&wired_worker(0)->wake);
	wired_expect_silence(second);
	cr_assert_eq(wired_origin().waiting, 1, "it has a place anew");
	cr_assert_eq(misses_noted(), 1);
	release();
	wired_expect(second, LEAD, &answer);
	cr_assert_eq(misses_noted(), 1);
	close_workers();
}

static void
ask_for(uint64_t id, const char *origin)
{
	char key[16];

	(void)snprintf(key, sizeof(key), "k%u", (unsigned)id);
	wired_ask(second, &(struct wired_ask){ .id = id, .key = key,
	    .origin = origin, .wait_ms = 4000 });
	wired_turn();
}

Test(ask_patience, who_waits_for_a_place_holds_no_lease_yet)
{
	struct wired_answer answer;

	open_workers(60000);
	for (uint64_t id = 2; id < 2 + 2 * ASK_LEADS_MAX; id++) {
		ask_for(id, "db");
	}
	wired_expect_silence(second);
	cr_assert_eq(wired_origin().waiting, 2 * ASK_LEADS_MAX);
	release();
	wired_expect(second, LEAD, &answer);
	cr_assert_eq(answer.frame.id, 2);
	close_workers();
}

Test(ask_patience, ends_when_the_place_is_there_and_too_many_leases_are)
{
	struct wired_answer answer;

	open_workers(60000);
	ask_for(2, "db");
	for (uint64_t id = 3; id < 3 + ASK_LEADS_MAX; id++) {
		ask_for(id, NULL);
		wired_expect(second, LEAD, &answer);
	}
	release();
	wired_expect(second, BUSY, &answer);
	cr_assert_eq(answer.frame.id, 2);
	cr_assert_eq(wired_origin().in_flight, 0, "its permit is free");
	cr_assert_eq(wired_flights().leading, ASK_LEADS_MAX);
	close_workers();
}
