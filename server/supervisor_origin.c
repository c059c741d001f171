/* SPDX-License-Identifier: ISC */

/*
 * SIGHUP, the origins' part: new limits for records that workers use
 * meanwhile.  Only an origin of which an option changed is touched, so that
 * a limit set by hand outlives a reload that is about something else.
 */
#include "supervisor_state.h"

#include <string.h>

#include "holder.h"
#include "log.h"
#include "wake.h"

/* What an origin's door leads to. */
struct surroundings {
	struct control	*control;
	struct wake	wake;
};

static bool
holder_gone(void *arg, uint64_t holder)
{
	const struct surroundings *around = arg;

	return holder_is_dead(around->control, holder);
}

static bool
worker_gone(void *arg, uint64_t worker)
{
	const struct surroundings *around = arg;

	return holder_worker_is_dead(around->control, worker);
}

static void
tell(void *arg, uint32_t origin, uint64_t workers)
{
	struct surroundings *around = arg;

	wake_origin(&around->wake, origin, workers);
}

/* False: the record is not there as it was made. */
static bool
bind_origin(struct surroundings *around, uint32_t index,
    struct origin *origin)
{
	const struct origin_door door = {
		.dead = holder_gone,
		.worker_dead = worker_gone,
		.tell = tell,
		.arg = around,
	};
	struct control *control = around->control;
	uint64_t offset;

	if (index >= control->origin_count) {
		return false;
	}
	offset = control->origin_offsets[index];
	return offset < control->bytes && origin_bind(origin,
	    (uint8_t *)control + offset, control->bytes - offset, index,
	    &door);
}

static const struct config_origin *
find_origin(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->origin_count; i++) {
		if (strcmp(config->origins[i].name, name) == 0) {
			return &config->origins[i];
		}
	}
	return NULL;
}

/* The largest share that uploads may have of a limit and queue that fit. */
static uint32_t
share_room(const struct origin *origin, const struct config_origin *wanted)
{
	const struct limiter_config *limiter = &wanted->config.limiter;
	uint64_t calls, places, room;

	if (limiter->limit > origin->limiter.permit_capacity ||
	    limiter->places > origin->limiter.wait_capacity) {
		return 100;
	}
	/* Calls are rounded down, places up: origin_config_derive(). */
	calls = (((uint64_t)origin->upload.permit_capacity + 1) * 100 - 1) /
	    limiter->limit;
	places = limiter->places == 0 ? 100 :
	    (uint64_t)origin->upload.wait_capacity * 100 / limiter->places;
	room = calls < places ? calls : places;
	return room < 100 ? (uint32_t)room : 100;
}

/* There is room for so many calls and waiters. */
static bool
fits(const struct origin *origin, const struct config_origin *wanted)
{
	const struct {
		const char	*name;
		uint32_t	wanted;
		uint32_t	room;
	} rows[] = {
		{ "limit", wanted->config.limiter.limit,
		    origin->limiter.permit_capacity },
		{ "queue", wanted->config.limiter.places,
		    origin->limiter.wait_capacity },
		{ "upload_share", wanted->config.upload_pct,
		    share_room(origin, wanted) },
	};
	bool all = true;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].wanted > rows[i].room) {
			log_line(LOG_LEVEL_ERROR, "reload_error", "text=\""
			    "origin %s: %s: %u needs a restart, until then it "
			    "is %u at most\"", wanted->name, rows[i].name,
			    rows[i].wanted, rows[i].room);
			all = false;
		}
	}
	return all;
}

bool
supervisor_origins_fit(const struct supervisor *sup,
    const struct config *wanted)
{
	struct surroundings around = { .control = sup->heritage.control };
	const struct config *config = &sup->draft->config;
	bool all = true;

	for (uint32_t i = 0; i < config->origin_count; i++) {
		const struct config_origin *row = find_origin(wanted,
		    config->origins[i].name);
		struct origin origin;

		if (row != NULL && bind_origin(&around, i, &origin)) {
			all = fits(&origin, row) && all;
		}
	}
	return all;
}

bool
supervisor_origins_apply(struct supervisor *sup, struct config *merged)
{
	struct surroundings around = {
		.control = sup->heritage.control,
		.wake = { .heritage = &sup->heritage },
	};
	const struct config *config = &sup->draft->config;
	struct boot_ms now = clock_boot_now();
	bool all = true;

	for (uint32_t i = 0; i < config->origin_count; i++) {
		struct config_origin *row = &merged->origins[i];
		struct origin origin;

		if (!config_origin_differs(&config->origins[i], row)) {
			continue;
		}
		if (!bind_origin(&around, i, &origin) ||
		    origin_configure(&origin, &row->config, now) != OK) {
			log_line(LOG_LEVEL_ERROR, "reload_failed", "origin=%s "
			    "text=\"a stopped child holds it: it stays as it "
			    "is, try again\"", row->name);
			*row = config->origins[i];
			all = false;
		}
	}
	wake_send(&around.wake);
	return all;
}
