/* SPDX-License-Identifier: ISC */

#include "lease_session.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "origin_record.h"
#include "orphan.h"
#include "session.h"
#include "wired_fixture.h"

static int client;

static void
open_workers(void)
{
	struct origin_config config;

	origin_config_init(&config);
	config.limiter.limit = 2;
	wired_create(&config);
	client = wired_connect(0, NULL);
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
	(void)close(client);
	wired_turn();
	cr_assert_eq(wired_flights().used, 0, "a flight was left behind");
	cr_assert_eq(wired_origin().in_flight, 0, "a permit was left");
	cr_assert_eq(wired_origin().waiting, 0, "a place was left");
}

TestSuite(lease_session, .init = open_workers, .fini = close_workers);

static void
abandon(int fd, uint64_t id)
{
	struct wired_answer answer;
	uint8_t body[8];

	wire_put_u64(body, id);
	wired_send(fd, FRAME_ABANDON, 99, body, sizeof(body));
	wired_expect(fd, OK, &answer);
	cr_assert_eq(answer.frame.id, 99);
}

Test(lease_session, gives_a_lease_with_its_permit)
{
	struct wired_answer answer;

	wired_ask(client, &(struct wired_ask){ .id = 3, .key = "k",
	    .origin = "db", .lease_ms = 20000 });
	wired_expect(client, LEAD, &answer);
	cr_assert_eq(answer.frame.id, 3);
	cr_assert_neq(answer.lease.token, 0);
	cr_assert_neq(answer.lease.permit.number, 0);
	cr_assert_neq(answer.lease.permit.token, 0);
	cr_assert_gt(answer.lease.left_ms, 15000);
	cr_assert_leq(answer.lease.left_ms, 20000);
	cr_assert_eq(wired_origin().in_flight, 1);
	leave_nothing();
}

Test(lease_session, looks_again_at_what_was_stored_meanwhile)
{
	struct wired_answer led, answer;

	wired_ask(client, &(struct wired_ask){ .id = 3, .key = "k" });
	wired_expect(client, LEAD, &led);
	wired_end(client, FRAME_FILL, "k", &led,
	    &(struct wire_end){ .outcome = BREAKER_SUCCESS });
	wired_expect(client, OK, &answer);
	cr_assert_neq(wire_get_u64(answer.body), 0, "its version");
	wired_ask(client, &(struct wired_ask){ .id = 4, .key = "k" });
	wired_expect(client, OK, &answer);
	cr_assert_eq(answer.lease.token, 0);
	leave_nothing();
}

Test(lease_session, does_not_wait_for_who_does_not_want_to)
{
	struct wired_answer answer;
	int other = wired_connect(1, NULL);

	wired_ask(client, &(struct wired_ask){ .id = 3, .key = "k" });
	wired_expect(client, LEAD, &answer);
	wired_ask(other, &(struct wired_ask){ .id = 4, .key = "k",
	    .flags = WIRE_NO_WAIT });
	wired_expect(other, BUSY, &answer);
	cr_assert_eq(wired_flights().waiters, 0);
	(void)close(other);
	leave_nothing();
}

Test(lease_session, knows_a_thread_that_would_wait_for_itself)
{
	struct wired_answer answer;

	wired_ask(client, &(struct wired_ask){ .id = 3, .key = "k",
	    .thread = 7 });
	wired_expect(client, LEAD, &answer);
	wired_ask(client, &(struct wired_ask){ .id = 4, .key = "k",
	    .thread = 7 });
	wired_expect(client, WOULD_DEADLOCK, &answer);
	wired_ask(client, &(struct wired_ask){ .id = 5, .key = "k",
	    .thread = 8 });
	wired_expect_silence(client);
	leave_nothing();
}

Test(lease_session, says_which_origin_there_is_not)
{
	struct wired_answer answer;

	wired_ask(client, &(struct wired_ask){ .id = 3, .key = "k",
	    .origin = "dbx" });
	wired_expect(client, MISS, &answer);
	wired_ask(client, &(struct wired_ask){ .id = 4, .origin = "d" });
	wired_expect(client, MISS, &answer);
	leave_nothing();
}

Test(lease_session, takes_back_what_nobody_waits_for)
{
	struct wired_answer answer;
	int other = wired_connect(1, NULL);

	wired_ask(client, &(struct wired_ask){ .id = 3, .key = "k",
	    .origin = "db" });
	wired_expect(client, LEAD, &answer);
	wired_ask(other, &(struct wired_ask){ .id = 4, .key = "k" });
	wired_ask(other, &(struct wired_ask){ .id = 5, .key = "k" });
	wired_expect_silence(other);
	abandon(other, 5);
	cr_assert_eq(wired_flights().waiters, 1);
	/* A lease whose answer was not taken goes to who waits. */
	abandon(client, 3);
	cr_assert_eq(wired_origin().in_flight, 0);
	wired_expect(other, LEAD, &answer);
	cr_assert_eq(answer.frame.id, 4);
	/* What there is not is nobody's. */
	abandon(client, 3);
	abandon(client, 1234);
	wired_hang_up(other);
	leave_nothing();
}

Test(lease_session, lets_a_connection_lead_so_many_and_no_more)
{
	struct wired_answer answer;
	int other = wired_connect(1, NULL);
	char key[16];

	for (uint64_t i = 0; i <= ASK_LEADS_MAX; i++) {
		(void)snprintf(key, sizeof(key), "k%u", (unsigned)i);
		wired_ask(client, &(struct wired_ask){ .id = i,
		    .key = key });
		wired_expect(client, i < ASK_LEADS_MAX ? LEAD : BUSY,
		    &answer);
	}
	/* The one too many is free for others. */
	wired_ask(other, &(struct wired_ask){ .id = 1, .key = key });
	wired_expect(other, LEAD, &answer);
	/* And one that is given back makes room. */
	abandon(client, 0);
	wired_ask(client, &(struct wired_ask){ .id = 100, .key = "k0" });
	wired_expect(client, LEAD, &answer);
	wired_hang_up(other);
	leave_nothing();
}

static void
wait_ms(uint64_t ms)
{
	uint64_t until_ms = clock_boot_now().ms + ms;

	while (clock_boot_now().ms <= until_ms) {
		wired_turn();
	}
}

Test(lease_session, forgets_leases_whose_time_is_over)
{
	struct wired_answer answer;
	char key[16];

	for (uint64_t i = 0; i < ASK_LEADS_MAX; i++) {
		(void)snprintf(key, sizeof(key), "k%u", (unsigned)i);
		wired_ask(client, &(struct wired_ask){ .id = i, .key = key,
		    .lease_ms = i < 2 ? 60000 : 20 });
		wired_expect(client, LEAD, &answer);
	}
	wait_ms(20);
	wired_ask(client, &(struct wired_ask){ .id = 100, .key = "more" });
	wired_expect(client, LEAD, &answer);
	cr_assert_eq(LIST_FIRST(&wired_worker(0)->connections)->session->
	    leases.leads, 3);
	orphans_sweep_held(wired_worker(0), clock_boot_now());
	leave_nothing();
}

Test(lease_session, forgets_permits_that_are_overdue)
{
	struct origin *origin = &wired_worker(0)->origins[0];
	struct lease_session *session = &LIST_FIRST(&wired_worker(0)->
	    connections)->session->leases;
	struct wired_answer answer;
	unsigned events;

	origin->record->config.limiter.permit_ms = 1;
	for (uint64_t i = 0; i < 6 * ASK_LEADS_MAX; i++) {
		wired_ask(client, &(struct wired_ask){ .id = i,
		    .origin = "db" });
		wired_expect(client, OK, &answer);
		wait_ms(1);
		cr_assert(origin_sweep(origin, clock_boot_now(), &events));
	}
	cr_assert_leq(session->led_count, 2 * ASK_LEADS_MAX);
	leave_nothing();
}

Test(lease_session, cuts_the_time_of_a_lease)
{
	struct wired_answer answer;

	wired_ask(client, &(struct wired_ask){ .id = 1, .key = "k",
	    .lease_ms = UINT32_MAX });
	wired_expect(client, LEAD, &answer);
	cr_assert_leq(answer.lease.left_ms, WIRE_LEASE_MAX_MS);
	cr_assert_gt(answer.lease.left_ms, WIRE_LEASE_MAX_MS / 2);
	leave_nothing();
}

Test(lease_session, lets_a_connection_wait_so_often_and_no_more)
{
	struct wired_answer answer;
	int other = wired_connect(1, NULL);

	wired_ask(client, &(struct wired_ask){ .id = 1, .key = "k" });
	wired_expect(client, LEAD, &answer);
	for (uint64_t i = 0; i < ASK_WAITS_MAX; i++) {
		wired_ask(other, &(struct wired_ask){ .id = i,
		    .key = "k", .wait_ms = 60000 });
	}
	wired_expect_silence(other);
	cr_assert_eq(wired_flights().waiters, ASK_WAITS_MAX);
	wired_ask(other, &(struct wired_ask){ .id = ASK_WAITS_MAX,
	    .key = "k" });
	wired_expect(other, BUSY, &answer);
	cr_assert_eq(answer.frame.id, ASK_WAITS_MAX);
	wired_hang_up(other);
	cr_assert_eq(wired_flights().waiters, 0);
	leave_nothing();
}

static void
send_lease(enum frame_type type, const struct wire_lease *lease,
    size_t length)
{
	struct wired_answer answer;
	uint8_t body[WIRE_LEASE_BYTES + 64] = { 0 };

	wire_lease_encode(body, lease);
	wired_send(client, type, 3, body, length);
	wired_receive(client, &answer);
	cr_assert_eq(answer.frame.status, (int32_t)INVALID);
}

Test(lease_session, refuses_frames_that_make_no_sense)
{
	static const struct wire_lease good = {
		.lease_ms = 100, .wait_ms = 100, .key_length = 1,
	};
	struct wire_lease lease = good;
	struct wired_answer answer;

	for (size_t cut = 0; cut <= WIRE_LEASE_BYTES; cut++) {
		send_lease(FRAME_LEASE, &good, cut);
	}
	send_lease(FRAME_LEASE, &good, WIRE_LEASE_BYTES + 2);
	send_lease(FRAME_PERMIT, &good, WIRE_LEASE_BYTES + 1);
	lease.key_length = 0;
	send_lease(FRAME_LEASE, &lease, WIRE_LEASE_BYTES);
	send_lease(FRAME_PERMIT, &lease, WIRE_LEASE_BYTES);
	lease = good;
	lease.lease_ms = 0;
	send_lease(FRAME_LEASE, &lease, WIRE_LEASE_BYTES + 1);
	lease = good;
	lease.flags = WIRE_LEASE_FLAGS + 1;
	send_lease(FRAME_LEASE, &lease, WIRE_LEASE_BYTES + 1);
	lease = good;
	lease.name_length = UINT16_MAX;
	send_lease(FRAME_LEASE, &lease, WIRE_LEASE_BYTES + 1);
	lease.key_length = UINT16_MAX;
	send_lease(FRAME_LEASE, &lease, WIRE_LEASE_BYTES + 64);
	wired_send(client, FRAME_ABANDON, 3, &good, 7);
	wired_expect(client, INVALID, &answer);
	/* It goes on. */
	wired_ask(client, &(struct wired_ask){ .id = 4, .key = "k" });
	wired_expect(client, LEAD, &answer);
	leave_nothing();
}
