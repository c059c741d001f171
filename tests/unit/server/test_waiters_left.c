/* SPDX-License-Identifier: ISC */

#include "waiters.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "origin_record.h"
#include "shard.h"
#include "wired_fixture.h"

/* What must not be left behind when locks, leaders or clients go. */

static const struct wire_end success = { .outcome = BREAKER_SUCCESS };
static int near, far;
static uint64_t near_holder;

static void
open_workers(void)
{
	struct origin_config config;

	origin_config_init(&config);
	config.limiter.limit = 1;
	config.limiter.places = 2000;
	config.limiter.partition_places = 2000;
	config.limiter.wait_ms = 60000;
	config.limiter.reserve_pct = 0;
	wired_create(&config);
	near = wired_connect(0, &near_holder);
	far = wired_connect(1, NULL);
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
	uint64_t until_ms = clock_boot_now().ms + WIRED_PATIENCE_MS;

	(void)close(near);
	(void)close(far);
	do {
		wired_turn();
	} while (wired_flights().used != 0 && clock_boot_now().ms < until_ms);
	cr_assert_eq(wired_flights().used, 0, "a flight was left behind");
	cr_assert_eq(wired_origin().in_flight, 0, "a permit was left");
	cr_assert_eq(wired_origin().waiting, 0, "a place was left");
}

TestSuite(waiters_left, .init = open_workers, .fini = close_workers);

static void
ask(int fd, uint64_t id, const char *key, const char *origin)
{
	wired_ask(fd, &(struct wired_ask){ .id = id, .key = key,
	    .origin = origin, .wait_ms = 60000 });
}

static void
lead(int fd, uint64_t id, const char *key, const char *origin,
    struct wired_answer *answer)
{
	ask(fd, id, key, origin);
	wired_expect(fd, LEAD, answer);
}

/* Holds a lock in a thread of its own while the loops turn. */
struct grip {
	pthread_barrier_t barrier;
};

static void *
grip_origin(void *arg)
{
	struct grip *grip = arg;
	struct origin origin = wired_worker(0)->origins[0];

	cr_assert(origin_lock(&origin, clock_boot_now()));
	(void)pthread_barrier_wait(&grip->barrier);
	(void)pthread_barrier_wait(&grip->barrier);
	origin_unlock(&origin);
	return NULL;
}

static void *
grip_shards(void *arg)
{
	struct grip *grip = arg;
	const struct pool *pool = &wired_worker(0)->heritage->pools[0];

	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		cr_assert_eq(shard_enter(pool, s), OK);
	}
	(void)pthread_barrier_wait(&grip->barrier);
	(void)pthread_barrier_wait(&grip->barrier);
	for (uint32_t s = 0; s < pool->g.shard_count; s++) {
		shard_leave(pool, s);
	}
	return NULL;
}

static void
turn_while_locked(void *(*fn)(void *grip))
{
	struct grip grip;
	pthread_t thread;

	cr_assert_eq(pthread_barrier_init(&grip.barrier, NULL, 2), 0);
	cr_assert_eq(pthread_create(&thread, NULL, fn, &grip), 0);
	(void)pthread_barrier_wait(&grip.barrier);
	wired_turn();
	(void)pthread_barrier_wait(&grip.barrier);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	(void)pthread_barrier_destroy(&grip.barrier);
}

Test(waiters_left, that_came_while_leaders_changed_are_told)
{
	struct wired_answer led, answer;
	int gone = wired_connect(1, NULL), early = wired_connect(0, NULL);

	lead(gone, 1, "k", NULL, &led);
	ask(early, 2, "k", NULL);
	ask(far, 3, "k", NULL);
	wired_expect_silence(early);
	wired_hang_up(gone);
	/* Worker 0 saw the offer, and not yet who took it. */
	ask(near, 4, "k", NULL);
	wired_expect(far, LEAD, &led);
	wired_expect_silence(near);
	wired_hang_up(early);
	wired_end(far, FRAME_FILL, "k", &led, &success);
	wired_expect(far, OK, &answer);
	wired_expect(near, OK, &answer);
	leave_nothing();
}

Test(waiters_left, lead_at_once_when_only_the_permit_was_released)
{
	struct wired_answer led, answer;

	lead(near, 1, "k", "db", &led);
	ask(far, 2, "k", NULL);
	wired_expect_silence(far);
	wired_end(near, FRAME_RELEASE, NULL, &led, &success);
	wired_expect(near, OK, &answer);
	wired_hang_up(near);
	wired_expect(far, LEAD, &answer);
	near = wired_connect(0, NULL);
	leave_nothing();
}

Test(waiters_left, lead_at_once_after_an_end_of_another_key)
{
	static const enum frame_type types[] = {
		FRAME_FILL, FRAME_FAIL, FRAME_UNCACHEABLE,
	};
	struct wired_answer led, answer;

	for (uint32_t i = 0; i < 3; i++) {
		lead(near, 1, "k", NULL, &led);
		ask(far, 2, "k", NULL);
		wired_expect_silence(far);
		wired_end(near, types[i], "other", &led, &success);
		wired_expect(near, LEASE_LOST, &answer);
		wired_hang_up(near);
		wired_expect(far, LEAD, &answer);
		wired_hang_up(far);
		near = wired_connect(0, NULL);
		far = wired_connect(1, NULL);
	}
	leave_nothing();
}

Test(waiters_left, lead_at_once_after_a_fill_that_makes_no_sense)
{
	uint8_t body[WIRE_END_BYTES + WIRE_SET_BYTES] = { 0 };
	struct wire_end end = success;
	struct wired_answer led, answer;

	lead(near, 1, "k", NULL, &led);
	ask(far, 2, "k", NULL);
	wired_expect_silence(far);
	end.token = led.lease.token;
	wire_end_encode(body, &end);
	wired_send(near, FRAME_FILL, 3, body, sizeof(body));
	wired_receive(near, &answer);
	cr_assert_neq(answer.frame.status, (int32_t)OK);
	wired_hang_up(near);
	wired_expect(far, LEAD, &answer);
	near = wired_connect(0, NULL);
	leave_nothing();
}

Test(waiters_left, wait_as_long_as_they_like)
{
	struct wired_answer led;

	lead(near, 1, "k", NULL, &led);
	wired_ask(far, &(struct wired_ask){ .id = 2, .key = "k",
	    .wait_ms = UINT32_MAX });
	for (int i = 0; i < 3; i++) {
		wired_expect_silence(far);
	}
	leave_nothing();
}

Test(waiters_left, for_permits_are_counted_too)
{
	struct wired_answer answer;

	wired_ask(near, &(struct wired_ask){ .id = 1, .origin = "db" });
	wired_expect(near, OK, &answer);
	for (uint64_t i = 0; i < ASK_WAITS_MAX; i++) {
		ask(far, i, NULL, "db");
	}
	wired_expect_silence(far);
	ask(far, ASK_WAITS_MAX, NULL, "db");
	wired_expect(far, BUSY, &answer);
	cr_assert_eq(wired_origin().waiting, ASK_WAITS_MAX);
	leave_nothing();
}

Test(waiters_left, are_found_after_the_origin_was_locked)
{
	struct wired_answer held, answer;
	struct worker *worker = wired_worker(0);
	unsigned events;

	wired_ask(near, &(struct wired_ask){ .id = 1, .origin = "db" });
	wired_expect(near, OK, &held);
	ask(far, 2, NULL, "db");
	wired_expect_silence(far);
	cr_assert_eq(origin_release(&worker->origins[0],
	    held.lease.permit.number, false, held.lease.permit.token,
	    near_holder, BREAKER_SUCCESS, 1, clock_boot_now(), &events), OK);
	wake_send(&worker->wake);
	turn_while_locked(grip_origin);
	wired_expect(far, OK, &answer);
	leave_nothing();
}

Test(waiters_left, are_counted_out_after_the_shard_was_locked)
{
	struct wired_answer led, answer;

	lead(near, 1, "k", NULL, &led);
	ask(far, 2, "k", NULL);
	wired_expect_silence(far);
	(void)close(far);
	turn_while_locked(grip_shards);
	far = wired_connect(1, NULL);
	wired_end(near, FRAME_FILL, "k", &led, &success);
	wired_expect(near, OK, &answer);
	leave_nothing();
}
