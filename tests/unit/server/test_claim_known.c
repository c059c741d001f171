/* SPDX-License-Identifier: ISC */

/*
 * A worker dies between giving and answering: what nobody was told of goes
 * back when its client claims over another worker.
 */
#include "claim_known.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holder.h"
#include "shard.h"
#include "wired_fixture.h"

#define CLAIM_ID	77u
#define LISTED_MAX	4u

/* Over the worker that dies; over the other one. */
static int old, other;
static uint64_t holder;

/* One call at once, so that a permit that is lost is seen. */
static void
open_workers(void)
{
	struct origin_config config;

	origin_config_init(&config);
	config.limiter.limit = 1;
	config.limiter.reserve_pct = 0;
	wired_create(&config);
	old = wired_connect(0, &holder);
	other = wired_connect(1, NULL);
}

static void
close_workers(void)
{
	(void)close(old);
	(void)close(other);
	wired_destroy();
}

TestSuite(claim_known, .init = open_workers, .fini = close_workers);

static uint64_t
secret_of_holder(void)
{
	struct control_client *row = holder_row(wired_worker(1)->control,
	    holder);

	cr_assert_not_null(row);
	return atomic_load(&row->secret);
}

/* What a client says that it was told of by these answers. */
static void
send_claim(int fd, const struct wired_answer *told, uint32_t count)
{
	uint8_t body[WIRE_CLAIM_BYTES + 8 + LISTED_MAX * WIRE_HOLD_BYTES];
	uint8_t *at = body + WIRE_CLAIM_BYTES + 8;

	wire_put_u64(body, holder);
	wire_put_u64(body + 8, secret_of_holder());
	wire_put_u32(body + 16, count);
	wire_put_u32(body + 20, 0);
	for (uint32_t i = 0; i < count; i++) {
		const struct wire_hold hold = {
			told[i].lease.permit, told[i].lease.token,
		};

		wire_hold_encode(at, &hold);
		at += WIRE_HOLD_BYTES;
	}
	wired_send(fd, FRAME_CLAIM, CLAIM_ID, body, (size_t)(at - body));
}

static int
claim(const struct wired_answer *told, uint32_t count)
{
	struct wired_answer answer;
	int fd = wired_connect(1, NULL);

	send_claim(fd, told, count);
	wired_expect(fd, OK, &answer);
	return fd;
}

Test(claim_known, keeps_a_lease_that_was_told_and_gives_the_others_away)
{
	struct wired_answer told, answer;
	int next;

	wired_ask(old, &(struct wired_ask){ .id = 1, .key = "told",
	    .thread = 5 });
	wired_expect(old, LEAD, &told);
	/* Given, and its answer never read. */
	wired_ask(old, &(struct wired_ask){ .id = 2, .key = "lost",
	    .thread = 6 });
	wired_turn();
	wired_ask(other, &(struct wired_ask){ .id = 3, .key = "lost" });
	wired_expect_silence(other);
	cr_assert_eq(wired_flights().leading, 2);
	wired_kill(0);
	next = claim(&told, 1);
	wired_expect(other, LEAD, &answer);
	/* The call goes on where it was; it does not wait for itself. */
	wired_ask(next, &(struct wired_ask){ .id = 2, .key = "lost",
	    .thread = 6 });
	wired_expect_silence(next);
	wired_end(other, FRAME_FILL, "lost", &answer,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(other, OK, &answer);
	wired_expect(next, OK, &answer);
	wired_end(next, FRAME_FILL, "told", &told,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(next, OK, &answer);
	cr_assert_eq(wired_flights().used, 0);
	(void)close(next);
}

Test(claim_known, lets_the_call_whose_answer_was_lost_lead_anew)
{
	struct wired_answer answer;
	int next;

	wired_ask(old, &(struct wired_ask){ .id = 1, .key = "k",
	    .origin = "db", .thread = 5 });
	wired_turn();
	cr_assert_eq(wired_flights().leading, 1);
	wired_kill(0);
	next = claim(NULL, 0);
	cr_assert_eq(wired_flights().used, 0);
	cr_assert_eq(wired_origin().in_flight, 0);
	wired_ask(next, &(struct wired_ask){ .id = 1, .key = "k",
	    .origin = "db", .thread = 5 });
	wired_expect(next, LEAD, &answer);
	(void)close(next);
}

Test(claim_known, still_knows_a_thread_that_would_wait_for_itself)
{
	struct wired_answer told, answer;
	int next;

	wired_ask(old, &(struct wired_ask){ .id = 1, .key = "k",
	    .thread = 5 });
	wired_expect(old, LEAD, &told);
	wired_kill(0);
	next = claim(&told, 1);
	wired_ask(next, &(struct wired_ask){ .id = 2, .key = "k",
	    .thread = 5 });
	wired_expect(next, WOULD_DEADLOCK, &answer);
	(void)close(next);
}

Test(claim_known, gives_back_a_permit_that_nobody_was_told_of)
{
	struct wired_answer answer;
	int next;

	wired_ask(old, &(struct wired_ask){ .id = 1, .origin = "db" });
	wired_turn();
	wired_ask(other, &(struct wired_ask){ .id = 2, .origin = "db" });
	wired_expect_silence(other);
	wired_kill(0);
	next = claim(NULL, 0);
	wired_expect(other, OK, &answer);
	cr_assert_eq(wired_origin().in_flight, 1);
	(void)close(next);
}

Test(claim_known, gives_back_a_place_s_permit_with_the_place)
{
	struct wired_answer held, answer;
	int next;

	wired_ask(other, &(struct wired_ask){ .id = 1, .origin = "db" });
	wired_expect(other, OK, &held);
	wired_ask(old, &(struct wired_ask){ .id = 2, .origin = "db" });
	wired_expect_silence(old);
	wired_kill(0);
	/* Granted to a worker that will not collect it. */
	wired_end(other, FRAME_RELEASE, NULL, &held,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(other, OK, &answer);
	cr_assert_eq(wired_origin().in_flight, 1);
	next = claim(NULL, 0);
	cr_assert_eq(wired_origin().in_flight, 0);
	cr_assert_eq(wired_origin().waiting, 0);
	(void)close(next);
}

Test(claim_known, keeps_a_permit_that_was_told)
{
	struct wired_answer told, answer;
	int next;

	wired_ask(old, &(struct wired_ask){ .id = 1, .origin = "db" });
	wired_expect(old, OK, &told);
	wired_kill(0);
	next = claim(&told, 1);
	cr_assert_eq(wired_origin().in_flight, 1);
	wired_end(next, FRAME_RELEASE, NULL, &told,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(next, OK, &answer);
	cr_assert_eq(wired_origin().in_flight, 0);
	(void)close(next);
}

Test(claim_known, gives_nothing_back_if_the_client_does_not_say)
{
	struct wired_answer answer;
	uint8_t body[WIRE_CLAIM_BYTES];
	int next;

	wired_ask(old, &(struct wired_ask){ .id = 1, .key = "k",
	    .origin = "db" });
	wired_turn();
	wired_kill(0);
	next = wired_connect(1, NULL);
	wire_put_u64(body, holder);
	wire_put_u64(body + 8, secret_of_holder());
	wired_send(next, FRAME_CLAIM, CLAIM_ID, body, sizeof(body));
	wired_expect(next, OK, &answer);
	cr_assert_eq(wired_flights().leading, 1);
	cr_assert_eq(wired_origin().in_flight, 1);
	(void)close(next);
}

/* Holds the locks of all shards while the loops turn. */
struct grip {
	pthread_barrier_t barrier;
};

static void *
grip_shards(void *arg)
{
	struct grip *grip = arg;
	const struct pool *pool = &wired_worker(1)->heritage->pools[0];

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

Test(claim_known, waits_for_what_is_locked_and_gives_it_back_then)
{
	struct wired_answer answer;
	struct grip grip;
	pthread_t thread;
	int next;

	wired_ask(old, &(struct wired_ask){ .id = 1, .key = "k" });
	wired_turn();
	wired_kill(0);
	next = wired_connect(1, NULL);
	cr_assert_eq(pthread_barrier_init(&grip.barrier, NULL, 2), 0);
	cr_assert_eq(pthread_create(&thread, NULL, grip_shards, &grip), 0);
	(void)pthread_barrier_wait(&grip.barrier);
	send_claim(next, NULL, 0);
	wired_expect_silence(next);
	(void)pthread_barrier_wait(&grip.barrier);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	(void)pthread_barrier_destroy(&grip.barrier);
	wired_expect(next, OK, &answer);
	cr_assert_eq(wired_flights().used, 0);
	(void)close(next);
}

Test(claim_known, of_a_list_without_sense_is_refused)
{
	uint8_t body[8 + 2 * WIRE_HOLD_BYTES] = { 0 };
	struct claim_known *known;

	wire_put_u32(body, 2);
	cr_assert_eq(claim_known_parse(body, sizeof(body), &known), OK);
	free(known);
	cr_assert_eq(claim_known_parse(body, sizeof(body) - 1, &known),
	    INVALID);
	cr_assert_eq(claim_known_parse(body, 7, &known), INVALID);
	wire_put_u32(body, 3);
	cr_assert_eq(claim_known_parse(body, sizeof(body), &known), INVALID);
	wire_put_u32(body, UINT32_MAX);
	cr_assert_eq(claim_known_parse(body, sizeof(body), &known), INVALID);
	wire_put_u32(body, 2);
	wire_put_u32(body + 4, 1);
	cr_assert_eq(claim_known_parse(body, sizeof(body), &known), INVALID);
	wire_put_u32(body, 0);
	wire_put_u32(body + 4, 0);
	cr_assert_eq(claim_known_parse(body, 8, &known), OK);
	free(known);
}
