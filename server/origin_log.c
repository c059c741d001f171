/* SPDX-License-Identifier: ISC */

/*
 * Edges of the breaker, floods, repairs.  Figures that a look at the origin
 * gives are left out when it is locked.
 */
#include "origin_log.h"

#include "log.h"

static void
log_opened(struct origin *origin, struct boot_ms now)
{
	struct origin_view view;

	if (origin_look(origin, now, &view) != OK) {
		log_line(LOG_LEVEL_WARNING, "breaker_opened", "origin=%s",
		    origin_name(origin));
		return;
	}
	log_line(LOG_LEVEL_WARNING, "breaker_opened", "origin=%s "
	    "failures=%u successes=%u open_for_ms=%llu text=\"calls are "
	    "refused until then\"", origin_name(origin),
	    view.window_failures, view.window_successes,
	    (unsigned long long)(view.open_until_ms > now.ms ?
	    view.open_until_ms - now.ms : 0));
}

void
origin_log_events(struct origin *origin, unsigned events, struct boot_ms now)
{
	const char *name = origin_name(origin);

	if ((events & ORIGIN_OPENED) != 0) {
		log_opened(origin, now);
	}
	if ((events & ORIGIN_HALF_OPENED) != 0) {
		log_line(LOG_LEVEL_INFO, "breaker_half_open", "origin=%s "
		    "text=\"one call tries it\"", name);
	}
	if ((events & ORIGIN_CLOSED) != 0) {
		log_line(LOG_LEVEL_INFO, "breaker_closed", "origin=%s", name);
	}
	if ((events & ORIGIN_PARTITION_OPENED) != 0) {
		log_line(LOG_LEVEL_WARNING, "partition_breaker_opened",
		    "origin=%s", name);
	}
	if ((events & ORIGIN_PARTITION_CLOSED) != 0) {
		log_line(LOG_LEVEL_INFO, "partition_breaker_closed",
		    "origin=%s", name);
	}
	if ((events & ORIGIN_MISS_FLOOD) != 0) {
		log_line(LOG_LEVEL_WARNING, "miss_flood", "origin=%s "
		    "text=\"nearly all that is asked of one partition "
		    "misses\"", name);
	}
	if ((events & ORIGIN_REBUILT) != 0) {
		log_line(LOG_LEVEL_WARNING, "origin_repaired", "origin=%s "
		    "text=\"a worker died while it changed it\"", name);
	}
}
