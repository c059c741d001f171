/* SPDX-License-Identifier: ISC */

/*
 * Words of what a worker has to look at, and the bell.
 */
#include "wake.h"

#include <string.h>
#include <unistd.h>

#include "heritage.h"

static uint64_t
all_workers(const struct heritage *heritage)
{
	uint32_t count = heritage->config.workers;

	return count >= 64 ? UINT64_MAX : (1ull << count) - 1;
}

/* The lowest worker of a mask, taken out of it. */
static uint32_t
take_worker(uint64_t *workers)
{
	uint32_t worker = (uint32_t)__builtin_ctzll(*workers);

	*workers &= *workers - 1;
	return worker;
}

void
wake_origin(void *arg, uint32_t origin, uint64_t workers)
{
	struct wake *wake = arg;

	workers &= all_workers(wake->heritage);
	wake->due |= workers;
	while (workers != 0) {
		/* Release: w2 of wake.h; pairs with wake_take(). */
		atomic_fetch_or_explicit(&wake->heritage->control->wakes[
		    take_worker(&workers)].origins, 1ull << (origin & 63),
		    memory_order_release);
	}
}

void
wake_flight(void *arg, const struct pool *pool, uint32_t shard,
    uint32_t flight, uint64_t workers)
{
	struct wake *wake = arg;
	ptrdiff_t number = pool - wake->heritage->pools;

	(void)shard;
	if (number < 0 || number >= CONFIG_POOLS_MAX) {
		return;
	}
	workers &= all_workers(wake->heritage);
	wake->due |= workers;
	while (workers != 0) {
		/* Release: w2 of wake.h; pairs with wake_take(). */
		atomic_fetch_or_explicit(&wake->heritage->control->wakes[
		    take_worker(&workers)].flights[number],
		    1ull << (flight & 63), memory_order_release);
	}
}

void
wake_send(struct wake *wake)
{
	static const uint64_t one = 1;
	uint64_t workers = wake->due;

	wake->due = 0;
	while (workers != 0) {
		int fd = wake->heritage->wake_fds[take_worker(&workers)];

		/* Non-blocking: a full counter rings all the same. */
		if (write(fd, &one, sizeof(one)) < 0) {
			continue;
		}
	}
}

void
wake_all(struct wake *wake)
{
	uint64_t workers = all_workers(wake->heritage);

	wake->due |= workers;
	while (workers != 0) {
		/* Release: w2 of wake.h; pairs with wake_take(). */
		atomic_store_explicit(&wake->heritage->control->wakes[
		    take_worker(&workers)].all, 1, memory_order_release);
	}
	wake_send(wake);
}

/* Acquire: r2 of wake.h; pairs with the releases above. */
static uint64_t
take_word(_Atomic uint64_t *word)
{
	/* Relaxed: only to spare the exchange; the next look sees it. */
	if (atomic_load_explicit(word, memory_order_relaxed) == 0) {
		return 0;
	}
	return atomic_exchange_explicit(word, 0, memory_order_acquire);
}

bool
wake_take(struct control *control, uint32_t worker, struct wake_set *set)
{
	struct control_wake *row = &control->wakes[worker];
	bool any;

	set->all = take_word(&row->all) != 0;
	set->origins = take_word(&row->origins);
	any = set->all || set->origins != 0;
	for (uint32_t i = 0; i < CONFIG_POOLS_MAX; i++) {
		set->flights[i] = take_word(&row->flights[i]);
		any = any || set->flights[i] != 0;
	}
	return any;
}
