/* SPDX-License-Identifier: ISC */

/*
 * Answers that take long: other threads use the handle meanwhile, everybody
 * gets their own answer, and the daemon is told who waits no more.
 */
#include "weir.h"

#include "fake_daemon.h"
#include "handle.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS		4u

static struct fake_daemon fake;
static struct weir *handle;

static void
setup(void)
{
	fake_daemon_start(&fake, NULL, 1);
	handle = fake_daemon_open(&fake, 5000);
	cr_assert_eq(weir_connect(handle), WEIR_OK);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&fake);
}

TestSuite(channel_long, .init = setup, .fini = teardown);

struct waiter {
	pthread_t	thread;
	char		key[16];
	struct weir_lease lease;
	int		result;
	_Atomic uint32_t done;
};

static void *
ask(void *arg)
{
	struct waiter *waiter = arg;

	waiter->result = weir_lease(handle, waiter->key, strlen(waiter->key),
	    0, NULL, &waiter->lease);
	atomic_store(&waiter->done, 1);
	return NULL;
}

static void
hold_next(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		fake_lease_tell(&fake, &(struct fake_told){
			.how = FAKE_HELD,
		});
	}
}

/* Each asks after the one before it: they are held in this order. */
static void
start(struct waiter *waiters, unsigned count)
{
	hold_next(count);
	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(waiters[i].key, sizeof(waiters[i].key), "k%u",
		    i);
		cr_assert_eq(pthread_create(&waiters[i].thread, NULL, ask,
		    &waiters[i]), 0);
		fake_lease_wait_held(&fake, i + 1);
	}
}

static void
expect_done(struct waiter *waiter, int result)
{
	cr_assert(wait_until_word(&waiter->done, 1, 5000), "%s waits",
	    waiter->key);
	cr_assert_eq(pthread_join(waiter->thread, NULL), 0);
	cr_assert_eq(waiter->result, result);
}

Test(channel_long, a_wait_holds_up_no_other_thread)
{
	struct waiter waiter = { .done = 0 };
	char value[4];

	start(&waiter, 1);
	cr_assert_eq(weir_ping(handle), WEIR_OK);
	cr_assert_eq(weir_set(handle, "s", 1, "v", 1, NULL, NULL), WEIR_OK);
	cr_assert_eq(weir_get(handle, "s", 1, value, 4, NULL, NULL),
	    WEIR_OK);
	cr_assert_eq(atomic_load(&waiter.done), 0);
	fake_lease_let_go(&fake, 0, WEIR_LEAD);
	expect_done(&waiter, WEIR_LEAD);
	cr_assert_eq(atomic_load(&fake.hellos), 1);
}

static void
answer_in_order(bool backward)
{
	struct waiter waiters[THREADS] = { { .done = 0 } };

	start(waiters, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		unsigned who = backward ? THREADS - 1 - i : i;

		fake_lease_let_go(&fake, who, WEIR_LEAD);
		expect_done(&waiters[who], WEIR_LEAD);
		/* Grants are numbered as they are given. */
		cr_assert_eq(waiters[who].lease.secret[0] >> 32, i + 1);
	}
}

Test(channel_long, the_first_answered_first_each_gets_its_own)
{
	answer_in_order(false);
}

Test(channel_long, the_last_answered_first_each_gets_its_own)
{
	answer_in_order(true);
}

Test(channel_long, all_answered_at_once_all_go_on)
{
	struct waiter waiters[THREADS] = { { .done = 0 } };

	start(waiters, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		fake_lease_let_go(&fake, i, WEIR_SHED);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		expect_done(&waiters[i], WEIR_SHED);
	}
}

Test(channel_long, a_short_call_may_take_the_answers_of_long_ones)
{
	struct waiter waiters[THREADS] = { { .done = 0 } };

	start(waiters, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		fake_lease_let_go(&fake, i, WEIR_OK);
		cr_assert_eq(weir_ping(handle), WEIR_OK);
		expect_done(&waiters[i], WEIR_OK);
	}
}

Test(channel_long, whoever_waits_in_vain_tells_the_daemon)
{
	struct weir *hasty = fake_daemon_open(&fake, 30);
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct weir_lease lease;
	struct fake_asked asked, abandoned;

	cr_assert_eq(weir_connect(hasty), WEIR_OK);
	options.wait_ms = 1;
	hold_next(1);
	cr_assert_eq(weir_lease(hasty, "k", 1, 0, &options, &lease),
	    WEIR_TIMEOUT);
	cr_assert_gt(strlen(weir_detail(hasty)), 0);
	fake_lease_wait(&fake, 2, &abandoned);
	asked = fake_lease_asked(&fake, 0);
	cr_assert_eq(abandoned.type, FRAME_ABANDON);
	cr_assert_eq(abandoned.number[0], asked.id);
	/* The late answer is nobody's, and the connection goes on. */
	fake_lease_let_go(&fake, 0, WEIR_LEAD);
	cr_assert_eq(weir_permit_acquire(hasty, NULL, 5000,
	    &(struct weir_permit){ .left_ms = 0 }), WEIR_OK);
	cr_assert_eq(atomic_load(&fake.hellos), 2);
	weir_close(hasty);
}

Test(channel_long, one_that_gives_up_leaves_the_others_waiting)
{
	struct waiter waiter = { .done = 0 };
	struct weir_permit permit;

	start(&waiter, 1);
	hold_next(1);
	handle->timeout_ms = 30;	/* for the second alone */
	cr_assert_eq(weir_permit_acquire(handle, NULL, 1, &permit),
	    WEIR_TIMEOUT);
	cr_assert_eq(atomic_load(&waiter.done), 0);
	fake_lease_let_go(&fake, 0, WEIR_LEAD);
	expect_done(&waiter, WEIR_LEAD);
}

Test(channel_long, a_hang_up_repeats_what_waited)
{
	struct weir_lease lease;

	fake_lease_tell(&fake, &(struct fake_told){ .how = FAKE_NEVER });
	cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease),
	    WEIR_LEAD);
	cr_assert_eq(fake_lease_count(&fake, FRAME_LEASE), 2);
	cr_assert_eq(atomic_load(&fake.hellos), 2);
	cr_assert_eq(weir_lease_fill(handle, &lease, "k", 1, "v", 1, NULL,
	    NULL), WEIR_OK);
}

Test(channel_long, a_hang_up_repeats_what_all_threads_waited_for)
{
	struct waiter waiters[THREADS] = { { .done = 0 } };

	start(waiters, THREADS);
	atomic_store(&fake.fault, FAKE_HANGS_UP);
	cr_assert_eq(weir_ping(handle), WEIR_CLOSED);
	for (unsigned i = 0; i < THREADS; i++) {
		expect_done(&waiters[i], WEIR_LEAD);
	}
	cr_assert_eq(fake_lease_count(&fake, FRAME_LEASE), 2 * THREADS);
	cr_assert_eq(atomic_load(&fake.hellos), 2);
}

Test(channel_long, a_daemon_that_always_hangs_up_is_given_up)
{
	struct weir_lease lease;
	unsigned asked;

	for (unsigned i = 0; i < FAKE_TOLD_MAX; i++) {
		fake_lease_tell(&fake, &(struct fake_told){
			.how = FAKE_NEVER,
		});
	}
	cr_assert_eq(weir_lease(handle, "k", 1, 0, NULL, &lease),
	    WEIR_CLOSED);
	asked = fake_lease_count(&fake, FRAME_LEASE);
	cr_assert(asked > 1 && asked < FAKE_TOLD_MAX, "%u", asked);
}

Test(channel_long, nonsense_is_no_answer_and_is_asked_again_elsewhere)
{
	struct weir_lease lease;
	struct waiter waiter = { .done = 0 };

	start(&waiter, 1);
	atomic_store(&fake.fault, FAKE_GARBAGE_ONCE);
	cr_assert_eq(weir_ping(handle), WEIR_CORRUPT);
	expect_done(&waiter, WEIR_LEAD);
	cr_assert_eq(weir_lease(handle, "l", 1, 0, NULL, &lease),
	    WEIR_LEAD);
}

/* After fork() the child of a program with threads may read and close. */
Test(channel_long, a_child_reads_while_its_parent_waits)
{
	struct waiter waiter = { .done = 0 };
	int status = -1;
	pid_t child;

	cr_assert_eq(weir_set(handle, "s", 1, "v", 1, NULL, NULL), WEIR_OK);
	start(&waiter, 1);
	child = fork();
	if (child == 0) {
		char value[4];
		int result = weir_get(handle, "s", 1, value, 4, NULL, NULL);

		weir_close(handle);
		_exit(result == WEIR_OK ? 0 : 1);
	}
	cr_assert(wait_until_exit(child, 10000, &status));
	cr_assert_eq(status, 0);
	cr_assert_eq(atomic_load(&waiter.done), 0);
	fake_lease_let_go(&fake, 0, WEIR_LEAD);
	expect_done(&waiter, WEIR_LEAD);
	cr_assert_eq(fake_lease_count(&fake, FRAME_ABANDON), 0);
}

Test(channel_long, a_second_wait_ends_before_the_first)
{
	struct waiter waiter = { .done = 0 };
	struct weir_lease lease;

	start(&waiter, 1);
	fake_lease_tell(&fake, &(struct fake_told){ .status = WEIR_LEAD });
	cr_assert_eq(weir_lease(handle, "other", 5, 0, NULL, &lease),
	    WEIR_LEAD);
	cr_assert_eq(weir_lease_fail(handle, &lease, "other", 5,
	    WEIR_FAILURE, 1, 0), WEIR_OK);
	cr_assert_eq(atomic_load(&waiter.done), 0);
	fake_lease_let_go(&fake, 0, WEIR_FAILED);
	expect_done(&waiter, WEIR_FAILED);
}
