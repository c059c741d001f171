/* SPDX-License-Identifier: ISC */

/*
 * Configuration, memory and lock of an origin, and what is made anew after a
 * death.  The supervisor creates; daemon processes bind and lock.
 */
#include "origin_record.h"

#include "fault.h"

#include <string.h>

#define ALIGNMENT	64u
/* Room to raise a limit: so many times itself, and at least that many. */
#define CAPACITY_FACTOR	4u
#define CAPACITY_MIN	1024u
/* Longest times and queues that a configuration may ask for. */
#define TIME_MAX_MS	(3600u * 1000u)
#define PLACES_MAX	65536u

void
origin_config_init(struct origin_config *config)
{
	static const struct limiter_config limiter = LIMITER_CONFIG_INIT;
	static const struct breaker_config breaker = BREAKER_CONFIG_INIT;
	static const struct adaptive_config adaptive = ADAPTIVE_CONFIG_INIT;
	static const struct missrate_config missrate = MISSRATE_CONFIG_INIT;

	memset(config, 0, sizeof(*config));
	config->limiter = limiter;
	config->breaker = breaker;
	config->adaptive = adaptive;
	config->missrate = missrate;
	config->upload_pct = ORIGIN_UPLOAD_PCT;
	origin_config_derive(config);
}

/* Rounded up: of something it is something. */
static uint32_t
share_of(uint32_t of, uint32_t pct)
{
	return (uint32_t)(((uint64_t)of * pct + 99) / 100);
}

static uint32_t
smaller(uint32_t one, uint32_t other)
{
	return one < other ? one : other;
}

void
origin_config_derive(struct origin_config *config)
{
	struct limiter_config *upload = &config->upload;

	*upload = config->limiter;
	upload->limit = (uint32_t)((uint64_t)config->limiter.limit *
	    config->upload_pct / 100);
	if (upload->limit == 0) {
		upload->limit = 1;
	}
	upload->places = share_of(config->limiter.places,
	    config->upload_pct);
	upload->partition_places = share_of(config->limiter.partition_places,
	    config->upload_pct);
	upload->reserve_pct = 0;
	upload->headroom = 0;
	upload->partition_cap = smaller(LIMITER_PARTITION_CAP,
	    upload->limit);
	if (upload->host_cap != 0) {
		upload->host_cap = smaller(upload->host_cap, upload->limit);
	}
	config->breaker.probe_ms = config->limiter.permit_ms;
}

static bool
within(uint32_t value, uint32_t low, uint32_t high)
{
	return value >= low && value <= high;
}

static bool
limiter_is_valid(const struct limiter_config *config)
{
	return within(config->limit, 1, ORIGIN_LIMIT_MAX) &&
	    within(config->places, 0, PLACES_MAX) &&
	    within(config->wait_ms, 0, TIME_MAX_MS) &&
	    within(config->reserve_pct, 0, 100) &&
	    within(config->permit_ms, 1, TIME_MAX_MS);
}

static bool
breaker_is_valid(const struct breaker_config *config)
{
	return within(config->window_ms, BREAKER_BUCKETS, TIME_MAX_MS) &&
	    within(config->min_outcomes, 1, 1000000) &&
	    within(config->failure_pct, 1, 100) &&
	    within(config->min_partitions, 1, BREAKER_PARTITIONS) &&
	    within(config->open_ms, 1, TIME_MAX_MS) &&
	    within(config->open_max_ms, config->open_ms, TIME_MAX_MS) &&
	    within(config->probe_ms, 1, TIME_MAX_MS);
}

bool
origin_config_is_valid(const struct origin_config *config)
{
	return limiter_is_valid(&config->limiter) &&
	    limiter_is_valid(&config->upload) &&
	    within(config->upload_pct, 1, 100) &&
	    breaker_is_valid(&config->breaker) &&
	    within(config->adaptive.window_ms, 10, TIME_MAX_MS) &&
	    within(config->adaptive.min_calls, 1, 1000000) &&
	    within(config->adaptive.tolerance_pct, 100, 1000) &&
	    within(config->adaptive.min_limit, 1, ORIGIN_LIMIT_MAX) &&
	    within(config->missrate.window_ms, 10, TIME_MAX_MS) &&
	    within(config->missrate.min_misses, 1, 1000000000) &&
	    within(config->missrate.miss_pct, 1, 100);
}

static uint32_t
capacity_for(uint32_t limit)
{
	uint64_t capacity = (uint64_t)limit * CAPACITY_FACTOR;

	if (capacity < CAPACITY_MIN) {
		return CAPACITY_MIN;
	}
	return capacity > ORIGIN_LIMIT_MAX ? ORIGIN_LIMIT_MAX :
	    (uint32_t)capacity;
}

static size_t
aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Fills in the capacities of a record that need not be in memory. */
static void
set_capacities(struct origin_record *record,
    const struct origin_config *config)
{
	record->permit_capacity = capacity_for(config->limiter.limit);
	record->place_capacity = config->limiter.places;
	record->upload_permit_capacity = share_of(record->permit_capacity,
	    config->upload_pct);
	record->upload_place_capacity = config->upload.places;
}

static size_t
bytes_of(uint32_t permits, uint32_t places, uint32_t upload_permits,
    uint32_t upload_places)
{
	size_t calls = limiter_bytes(permits, places);
	size_t uploads = limiter_bytes(upload_permits, upload_places);

	if (calls == 0 || uploads == 0) {
		return 0;
	}
	return aligned(sizeof(struct origin_record)) + aligned(calls) +
	    aligned(uploads);
}

size_t
origin_bytes(const struct origin_config *config)
{
	uint32_t permits = capacity_for(config->limiter.limit);

	if (!origin_config_is_valid(config)) {
		return 0;
	}
	return bytes_of(permits, config->limiter.places, share_of(permits,
	    config->upload_pct), config->upload.places);
}

uint32_t
origin_ledger_entries(const struct origin_config *config, uint32_t *uploads)
{
	uint32_t permits = capacity_for(config->limiter.limit);

	*uploads = share_of(permits, config->upload_pct);
	return permits + *uploads;
}

static void
bind_pools(struct origin *origin, void *memory)
{
	struct origin_record *record = memory;
	uint8_t *at = memory;

	origin->record = record;
	at += aligned(sizeof(*record));
	limiter_bind(&origin->limiter, at, record->permit_capacity,
	    record->place_capacity);
	at += aligned(limiter_bytes(record->permit_capacity,
	    record->place_capacity));
	limiter_bind(&origin->upload, at, record->upload_permit_capacity,
	    record->upload_place_capacity);
}

enum result
origin_create(void *memory, const char *name,
    const struct origin_config *config)
{
	struct origin_record *record = memory;
	struct origin origin = { 0 };
	enum result res;

	if (origin_bytes(config) == 0 || name[0] == '\0' ||
	    strlen(name) >= sizeof(record->name)) {
		return INVALID;
	}
	memset(record, 0, sizeof(*record));
	set_capacities(record, config);
	memcpy(record->name, name, strlen(name) + 1);
	record->config = *config;
	/* A permit whose words were never stored counts nothing. */
	record->breaker.generation = 1;
	res = lock_init(&record->lock);
	if (res != OK) {
		return res;
	}
	bind_pools(&origin, memory);
	limiter_init(&origin.limiter);
	limiter_init(&origin.upload);
	record->magic = ORIGIN_MAGIC;
	return OK;
}

bool
origin_bind(struct origin *origin, void *memory, size_t bytes,
    uint32_t index, const struct origin_door *door)
{
	const struct origin_record *record = memory;
	size_t used;

	memset(origin, 0, sizeof(*origin));
	if (bytes < sizeof(*record) || record->magic != ORIGIN_MAGIC ||
	    memchr(record->name, '\0', sizeof(record->name)) == NULL) {
		return false;
	}
	used = bytes_of(record->permit_capacity, record->place_capacity,
	    record->upload_permit_capacity, record->upload_place_capacity);
	if (used == 0 || used > bytes) {
		return false;
	}
	bind_pools(origin, memory);
	origin->index = index;
	origin->door = *door;
	return true;
}

const char *
origin_name(const struct origin *origin)
{
	return origin->record->name;
}

bool
origin_lock(struct origin *origin, struct boot_ms now)
{
	struct origin_record *record = origin->record;

	switch (lock_acquire(&record->lock, LOCK_TIMEOUT_MS)) {
	case LOCK_HELD:
		return true;
	case LOCK_HELD_OWNER_DIED:
		if (!FAULT(origin_skips_sweep)) {
			origin_sweep_locked(origin, now, true);
		}
		/* It may have granted, or opened, and told nobody. */
		origin_tell_opened_locked(origin);
		record->counts.rebuilt++;
		record->events |= ORIGIN_REBUILT;
		lock_mark_consistent(&record->lock);
		return true;
	default:
		return false;
	}
}

void
origin_unlock(struct origin *origin)
{
	lock_release(&origin->record->lock);
}

void
origin_tell_locked(struct origin *origin, uint64_t workers)
{
	if (workers != 0 && origin->door.tell != NULL) {
		origin->door.tell(origin->door.arg, origin->index, workers);
	}
}

void
origin_tell_all_locked(struct origin *origin)
{
	origin_tell_locked(origin, UINT64_MAX);
}

void
origin_tell_opened_locked(struct origin *origin)
{
	/*
	 * Relaxed: stored under the lock; who is told reads it after the
	 * acquire of wake.h, which pairs with the release of the telling.
	 */
	atomic_fetch_add_explicit(&origin->record->openings, 1,
	    memory_order_relaxed);
	origin_tell_all_locked(origin);
}

unsigned
origin_take_events_locked(struct origin *origin)
{
	unsigned events = origin->record->events;

	origin->record->events = ORIGIN_NO_EVENT;
	return events;
}

struct limiter_config
origin_limits_locked(const struct origin *origin, bool upload)
{
	const struct origin_record *record = origin->record;
	struct limiter_config config;

	if (upload) {
		return record->config.upload;
	}
	config = record->config.limiter;
	config.limit = adaptive_limit(&record->adaptive,
	    &record->config.adaptive, config.limit);
	return config;
}

void
origin_sweep_locked(struct origin *origin, struct boot_ms now, bool anew)
{
	struct limiter_config calls = origin_limits_locked(origin, false);
	struct limiter_config uploads = origin_limits_locked(origin, true);
	const struct origin_door *door = &origin->door;
	uint64_t told = 0;

	if (anew) {
		limiter_rebuild(&origin->limiter, &calls, now, door->dead,
		    door->worker_dead, door->arg, &told);
		limiter_rebuild(&origin->upload, &uploads, now, door->dead,
		    door->worker_dead, door->arg, &told);
	} else {
		limiter_sweep(&origin->limiter, &calls, now, door->dead,
		    door->worker_dead, door->arg, &told);
		limiter_sweep(&origin->upload, &uploads, now, door->dead,
		    door->worker_dead, door->arg, &told);
	}
	origin_lose_probes_locked(origin);
	origin_ledger_settle_locked(origin);
	origin_tell_locked(origin, told);
}
