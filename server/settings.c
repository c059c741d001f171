/* SPDX-License-Identifier: ISC */

/*
 * Settings are copied under their lock, so that no half of a reload is seen.
 * Clients that are connected keep what they were given.
 */
#include "settings.h"

#include <string.h>

#include "log.h"
#include "worker.h"

void
settings_follow(struct worker *worker)
{
	struct control *control = worker->control;
	/* Acquire: pairs with the supervisor's release after its change. */
	uint64_t generation = atomic_load_explicit(
	    &control->settings_generation, memory_order_acquire);

	/* Generations count from 0; the copy's begins where none is. */
	if (generation == worker->settings_generation) {
		return;
	}
	switch (lock_acquire(&control->settings_lock, LOCK_TIMEOUT_MS)) {
	case LOCK_HELD:
		break;
	case LOCK_HELD_OWNER_DIED:
		/* The supervisor, and we end with it. */
		lock_mark_consistent(&control->settings_lock);
		break;
	default:
		return;
	}
	memcpy(worker->access, control->access, sizeof(worker->access));
	worker->admin_group = control->admin_group;
	worker->admin_read_group = control->admin_read_group;
	worker->drain_timeout_ms = control->drain_timeout_ms;
	log_set_level((enum log_level)control->log_level);
	lock_release(&control->settings_lock);
	worker->settings_generation = generation;
}
