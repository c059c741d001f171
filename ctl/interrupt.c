/* SPDX-License-Identifier: ISC */

#include "interrupt.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* A signal handler may touch nothing but a lock-free atomic. */
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "needs lock-free atomic_bool");

static atomic_bool interrupted;

static void
handle_signal(int number)
{
	(void)number;		/* SIGINT is the only one */
	/* Relaxed: the flag stands alone and orders nothing. */
	atomic_store_explicit(&interrupted, true, memory_order_relaxed);
}

void
interrupt_init(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handle_signal;
	/* No SA_RESTART: a blocked read must come back. */
	(void)sigaction(SIGINT, &action, NULL);	/* cannot fail here */
}

const atomic_bool *
interrupt_flag(void)
{
	return &interrupted;
}

void
interrupt_clear(void)
{
	/* Relaxed: as in handle_signal(). */
	atomic_store_explicit(&interrupted, false, memory_order_relaxed);
}
