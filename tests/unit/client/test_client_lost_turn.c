/* SPDX-License-Identifier: ISC */

/*
 * Stress: is anybody left without a poller?
 */
#include "weir.h"

#include "fetch_fixture.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(lost_turn, .init = fetch_begin, .fini = fetch_end);

struct waiter {
	pthread_t	thread;
	int		result;
	_Atomic uint32_t done;
};

static void *
ask(void *arg)
{
	struct waiter *waiter = arg;
	struct weir_permit permit;

	waiter->result = weir_permit_acquire(fetch_handle, NULL, 30000,
	    &permit);
	atomic_store(&waiter->done, 1);
	return NULL;
}

Test(lost_turn, nobody_is_left_without_a_poller, .timeout = 60)
{
	for (unsigned round = 0; round < 3000; round++) {
		struct waiter waiters[3] = { { .done = 0 } };
		struct fake_lease *lease = &fetch_daemon.lease;

		for (unsigned i = 0; i < 3; i++) {
			fake_lease_tell(&fetch_daemon, &(struct fake_told){
				.how = FAKE_HELD });
			cr_assert_eq(pthread_create(&waiters[i].thread, NULL,
			    ask, &waiters[i]), 0);
			fake_lease_wait_held(&fetch_daemon, i + 1);
		}
		fake_lease_let_go(&fetch_daemon, 0, WEIR_SHED);
		for (volatile unsigned i = 0; i < round * 20; i++) {
		}
		fake_lease_let_go(&fetch_daemon, 1, WEIR_SHED);
		cr_assert_eq(weir_ping(fetch_handle), WEIR_OK);
		for (unsigned i = 0; i < 2; i++) {
			cr_assert(wait_until_word(&waiters[i].done, 1, 3000),
			    "round %u: %u", round, i);
		}
		fake_lease_let_go(&fetch_daemon, 2, WEIR_SHED);
		cr_assert(wait_until_word(&waiters[2].done, 1, 3000),
		    "round %u: the third is left alone", round);
		for (unsigned i = 0; i < 3; i++) {
			pthread_join(waiters[i].thread, NULL);
		}
		pthread_mutex_lock(&lease->lock);
		for (unsigned i = 0; i < 3; i++) {
			close(lease->held[i].fd);
		}
		lease->held_count = 0;
		lease->asked_count = 0;
		pthread_mutex_unlock(&lease->lock);
	}
}
