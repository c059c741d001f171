/* SPDX-License-Identifier: ISC */

/*
 * What people do to an origin and what they see of it.  Daemon processes.
 */
#include "origin_record.h"

#include <string.h>

/* The mode shares its word with its end. */
#define MODE_BITS	2
#define MODE_MASK	3u
/* Clocks of processes differ by a tick: a longest mode may seem longer. */
#define MODE_SLACK_MS	1000u

_Static_assert(ORIGIN_MODES <= MODE_MASK + 1, "a mode does not fit");

static const char *const mode_names[ORIGIN_MODES] = {
	[ORIGIN_NORMAL] = "normal",
	[ORIGIN_STALE_ON_ERROR] = "stale-on-error",
	[ORIGIN_BYPASS] = "bypass",
};

const char *
origin_mode_name(enum origin_mode mode)
{
	return (unsigned)mode < ORIGIN_MODES ? mode_names[mode] : "unknown";
}

enum result
origin_set_limit(struct origin *origin, uint32_t limit, struct boot_ms now,
    uint32_t *old)
{
	struct origin_record *record = origin->record;

	if (limit == 0 || limit > origin->limiter.permit_capacity) {
		return INVALID;
	}
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	*old = record->config.limiter.limit;
	record->config.limiter.limit = limit;
	origin_config_derive(&record->config);
	/* An adaptive limit starts anew from what was just said. */
	memset(&record->adaptive, 0, sizeof(record->adaptive));
	/* The caps of uploads and of marked calls follow the limit. */
	origin_sweep_locked(origin, now, true);
	origin_unlock(origin);
	return OK;
}

static bool
fits(const struct limiter *limiter, const struct limiter_config *config)
{
	return config->limit <= limiter->permit_capacity &&
	    config->places <= limiter->wait_capacity;
}

enum result
origin_configure(struct origin *origin, const struct origin_config *config,
    struct boot_ms now)
{
	if (!origin_config_is_valid(config) ||
	    !fits(&origin->limiter, &config->limiter) ||
	    !fits(&origin->upload, &config->upload)) {
		return INVALID;
	}
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	origin->record->config = *config;
	if (!config->breaker_by_partition) {
		memset(&origin->record->partitions, 0,
		    sizeof(origin->record->partitions));
	}
	/* Caps may have changed: what is runnable is found anew. */
	origin_sweep_locked(origin, now, true);
	origin_unlock(origin);
	return OK;
}

enum result
origin_trip(struct origin *origin, uint64_t random, struct boot_ms now)
{
	struct origin_record *record = origin->record;
	enum result res = OK;

	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	if (record->config.breaker.enabled) {
		if (record->breaker.state != BREAKER_OPEN) {
			record->events |= ORIGIN_OPENED;
		}
		breaker_trip(&record->breaker, &record->config.breaker,
		    random, now);
		origin_tell_opened_locked(origin);
	} else {
		res = INVALID;
	}
	origin_unlock(origin);
	return res;
}

enum result
origin_reset(struct origin *origin, struct boot_ms now)
{
	struct origin_record *record = origin->record;

	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	if (record->breaker.state != BREAKER_CLOSED) {
		record->events |= ORIGIN_CLOSED;
	}
	breaker_reset(&record->breaker, now);
	/* A partition without a row has a closed breaker. */
	memset(&record->partitions, 0, sizeof(record->partitions));
	origin_unlock(origin);
	return OK;
}

/* Not over yet, and not too far ahead. */
static bool
is_an_end(struct boot_ms until, struct boot_ms now)
{
	return until.ms > now.ms && until.ms - now.ms <= ORIGIN_MODE_MAX_MS;
}

enum result
origin_hold(struct origin *origin, enum breaker_state state,
    struct boot_ms until, struct boot_ms now)
{
	if ((state != BREAKER_OPEN && state != BREAKER_CLOSED) ||
	    (until.ms != 0 && !is_an_end(until, now))) {
		return INVALID;
	}
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	breaker_hold(&origin->record->breaker, state, until, now);
	if (state == BREAKER_OPEN && until.ms != 0) {
		origin_tell_opened_locked(origin);
	}
	origin_unlock(origin);
	return OK;
}

enum result
origin_set_mode(struct origin *origin, enum origin_mode mode,
    struct boot_ms until, struct boot_ms now)
{
	uint64_t word = 0;

	if ((unsigned)mode >= ORIGIN_MODES ||
	    (mode != ORIGIN_NORMAL && !is_an_end(until, now))) {
		return INVALID;
	}
	if (mode != ORIGIN_NORMAL) {
		word = until.ms << MODE_BITS | mode;
	}
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	/* Relaxed: the word says it all, and orders nothing. */
	atomic_store_explicit(&origin->record->mode, word,
	    memory_order_relaxed);
	origin_unlock(origin);
	return OK;
}

static enum origin_mode
look_at_mode(const struct origin *origin, struct boot_ms now,
    uint64_t *until_ms)
{
	/* Relaxed: see origin_set_mode(). */
	uint64_t word = atomic_load_explicit(&origin->record->mode,
	    memory_order_relaxed);
	unsigned mode = (unsigned)(word & MODE_MASK);
	uint64_t end_ms = word >> MODE_BITS;

	*until_ms = 0;
	if (mode == ORIGIN_NORMAL || mode >= ORIGIN_MODES ||
	    end_ms <= now.ms ||
	    end_ms - now.ms > ORIGIN_MODE_MAX_MS + MODE_SLACK_MS) {
		return ORIGIN_NORMAL;
	}
	*until_ms = end_ms;
	return (enum origin_mode)mode;
}

enum origin_mode
origin_mode_now(const struct origin *origin, struct boot_ms now)
{
	uint64_t until_ms;

	return look_at_mode(origin, now, &until_ms);
}

uint64_t
origin_openings(const struct origin *origin)
{
	/* Relaxed: see origin_tell_opened_locked(). */
	return atomic_load_explicit(&origin->record->openings,
	    memory_order_relaxed);
}

static void
look_at_breaker(const struct origin_record *record, struct boot_ms now,
    struct origin_view *view)
{
	const struct breaker *breaker = &record->breaker;
	const struct breaker_config *config = &record->config.breaker;

	view->breaker = breaker_state_now(breaker, config, now);
	view->held = now.ms < breaker->hold_until_ms;
	view->breaker_generation = breaker->generation;
	view->breaker_changed_ms = breaker->changed_ms;
	view->open_until_ms = breaker->open_until_ms;
	view->hold_until_ms = breaker->hold_until_ms;
	view->opened_count = breaker->opened_count;
	view->probe_owner = breaker->probe_owner;
	breaker_window(breaker, config, now, &view->window_successes,
	    &view->window_failures);
	for (unsigned i = 0; i < ORIGIN_BREAKERS; i++) {
		view->partitions_open += record->partitions.hash[i] != 0 &&
		    breaker_state_now(&record->partitions.breaker[i], config,
		    now) != BREAKER_CLOSED;
	}
}

enum result
origin_look(struct origin *origin, struct boot_ms now,
    struct origin_view *view)
{
	const struct origin_record *record = origin->record;

	memset(view, 0, sizeof(*view));
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	view->config = record->config;
	view->limit_now = origin_limits_locked(origin, false).limit;
	view->limit_max = origin->limiter.permit_capacity;
	view->limiter = *origin->limiter.state;
	view->upload = *origin->upload.state;
	view->in_flight = view->limiter.in_flight;
	view->waiting = view->limiter.waiting;
	view->upload_in_flight = view->upload.in_flight;
	view->upload_waiting = view->upload.waiting;
	look_at_breaker(record, now, view);
	view->openings = origin_openings(origin);
	view->mode = look_at_mode(origin, now, &view->mode_until_ms);
	view->refused_open = record->counts.refused_open;
	view->successes = record->counts.successes;
	view->failures = record->counts.failures;
	view->neutral = record->counts.neutral;
	view->rebuilt = record->counts.rebuilt;
	view->miss_floods = record->missrate.floods;
	view->flood_partition = record->missrate.last_flood;
	view->latency_us = record->adaptive.short_us;
	origin_unlock(origin);
	return OK;
}

unsigned
origin_verify(struct origin *origin, struct boot_ms now)
{
	const struct origin_record *record = origin->record;
	struct limiter_config calls, uploads;
	unsigned faults = 0;

	if (!origin_lock(origin, now)) {
		return 1;
	}
	calls = origin_limits_locked(origin, false);
	uploads = origin_limits_locked(origin, true);
	faults += limiter_verify(&origin->limiter, &calls);
	faults += limiter_verify(&origin->upload, &uploads);
	faults += !origin_config_is_valid(&record->config);
	faults += record->breaker.state > BREAKER_HALF_OPEN;
	faults += record->breaker.state != BREAKER_HALF_OPEN &&
	    record->breaker.probe_owner != 0;
	for (unsigned i = 0; i < ORIGIN_BREAKERS; i++) {
		faults += record->partitions.hash[i] != 0 &&
		    record->partitions.breaker[i].state > BREAKER_HALF_OPEN;
	}
	origin_unlock(origin);
	return faults;
}
