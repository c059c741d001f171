/* SPDX-License-Identifier: ISC */

#include "eventcount.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

void
eventcount_sleep(struct eventcount *count, uint32_t epoch, uint32_t bits,
    uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(until_ns % CLOCK_NS_PER_S),
	};

	/* Woken, too late, interrupted, or another epoch: all look again. */
	(void)syscall(SYS_futex, &count->epoch,
	    FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, epoch, &until, NULL,
	    bits);
}

void
eventcount_wake(struct eventcount *count, uint32_t bits)
{
	/* Release, partner: s1. */
	(void)atomic_fetch_add_explicit(&count->epoch, 1,
	    memory_order_release);
	(void)syscall(SYS_futex, &count->epoch,
	    FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL,
	    bits);
}
