/* SPDX-License-Identifier: ISC */

/*
 * The keeper: once a second it stamps its heartbeat into each pool's header,
 * by which clients tell a living daemon from a dead one.  One process.
 */
#include <signal.h>
#include <time.h>

#include "clock.h"
#include "heritage.h"
#include "log.h"

static void
stamp(struct heritage *heritage, struct control_process *me)
{
	uint64_t now_ms = clock_boot_now().ms;

	/* Relaxed, both: a clock that others read, it publishes no data. */
	for (uint32_t i = 0; i < heritage->config.pool_count; i++) {
		atomic_store_explicit(
		    &heritage->pools[i].header->heartbeat_ms, now_ms,
		    memory_order_relaxed);
	}
	atomic_store_explicit(&me->heartbeat_ms, now_ms,
	    memory_order_relaxed);
}

int
keeper_main(struct heritage *heritage)
{
	struct control_process *me =
	    &heritage->control->processes[heritage->process];
	const struct timespec second = { .tv_sec = 1 };
	sigset_t stop;

	/* Blocked since before this process could be seen. */
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTERM);
	stamp(heritage, me);
	/* Release: who sees it running sees the stamps. */
	atomic_store_explicit(&me->state, PROCESS_RUNNING,
	    memory_order_release);
	while (sigtimedwait(&stop, NULL, &second) != SIGTERM) {
		stamp(heritage, me);
		log_tick();
	}
	atomic_store_explicit(&me->state, PROCESS_DRAINING,
	    memory_order_release);
	return 0;
}
