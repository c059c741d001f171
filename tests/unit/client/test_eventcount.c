/* SPDX-License-Identifier: ISC */

#include "eventcount.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "clock.h"

#define SLEEPERS	40u	/* more than there are bits */
#define ROUNDS		400u
/* A wake-up that was lost ends the test instead of hanging it. */
#define PATIENCE_NS	(20ull * CLOCK_NS_PER_S)

static struct eventcount count;
/* Rounds that each may do, and has done. */
static _Atomic uint32_t may[SLEEPERS], done[SLEEPERS];
static _Atomic uint32_t late;

static uint64_t
now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void *
sleeper_main(void *arg)
{
	uint32_t self = (uint32_t)(uintptr_t)arg;
	uint64_t until_ns = now_ns() + PATIENCE_NS;

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		for (;;) {
			uint32_t epoch = eventcount_epoch(&count);

			if (atomic_load_explicit(&may[self],
			    memory_order_acquire) >= round) {
				break;
			}
			if (now_ns() >= until_ns) {
				atomic_fetch_add(&late, 1);
				return NULL;
			}
			eventcount_sleep(&count, epoch, eventcount_bit(self),
			    until_ns);
		}
		atomic_store_explicit(&done[self], round,
		    memory_order_release);
	}
	return NULL;
}

Test(eventcount, loses_no_wake_up)
{
	pthread_t threads[SLEEPERS];

	for (uintptr_t i = 0; i < SLEEPERS; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, sleeper_main,
		    (void *)i), 0);
	}
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		for (uint32_t i = 0; i < SLEEPERS; i++) {
			atomic_store_explicit(&may[i], round,
			    memory_order_release);
			/* Some one by one, some together with the next. */
			if (i % 3 != 0) {
				eventcount_wake(&count, eventcount_bit(i) |
				    eventcount_bit(i - 1));
			}
		}
		/* 39, and 0, which shares a bit with 32. */
		eventcount_wake(&count, UINT32_MAX);
	}
	for (uint32_t i = 0; i < SLEEPERS; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
		cr_assert_eq(atomic_load(&done[i]), ROUNDS);
	}
	cr_assert_eq(atomic_load(&late), 0);
}

Test(eventcount, does_not_sleep_when_the_epoch_is_over)
{
	uint32_t epoch = eventcount_epoch(&count);
	uint64_t start_ns = now_ns();

	eventcount_wake(&count, 1);
	eventcount_sleep(&count, epoch, 1, start_ns + PATIENCE_NS);
	cr_assert_lt(now_ns() - start_ns, PATIENCE_NS);
}

Test(eventcount, sleeps_until_its_time_and_no_longer)
{
	uint64_t start_ns = now_ns();

	while (now_ns() < start_ns + 20 * CLOCK_NS_PER_MS) {
		eventcount_sleep(&count, eventcount_epoch(&count), 1,
		    start_ns + 20 * CLOCK_NS_PER_MS);
	}
	cr_assert_lt(now_ns() - start_ns, PATIENCE_NS);
}
