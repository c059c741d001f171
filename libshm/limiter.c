/* SPDX-License-Identifier: ISC */

/*
 * The limiter as its callers see it; see limiter.h.  Slots are taken and
 * freed in limiter_slots.c, rows and queues are limiter_rows.c, who is next
 * is limiter_heap.c, what happens after a death is limiter_rebuild.c.
 */
#include "limiter.h"

#include <string.h>

#include "fault.h"
#include "limiter_heap.h"
#include "limiter_rows.h"
#include "limiter_slots.h"

#define CAPACITY_MAX	(1u << 20)
/* A slot counts in a partition's row, a host's and a client's. */
#define ROWS_PER_SLOT	3
#define BUCKETS_MIN	16u

static const char *const refusal_names[LIMITER_REFUSALS] = {
	[LIMITER_NOT_REFUSED] = "none",
	[LIMITER_QUEUE_FULL] = "queue_full",
	[LIMITER_PARTITION_QUEUE_FULL] = "partition_queue_full",
	[LIMITER_CLIENT_CAP] = "client_cap",
	[LIMITER_BACKGROUND_SHED] = "background_shed",
	[LIMITER_NO_WAIT] = "no_wait",
	[LIMITER_QUEUE_TIMEOUT] = "queue_timeout",
};

const char *
limiter_refusal_name(enum limiter_refusal refusal)
{
	return (unsigned)refusal < LIMITER_REFUSALS ?
	    refusal_names[refusal] : "unknown";
}

/* At least one bucket for each slot. */
static uint32_t
bucket_count_for(uint32_t permits, uint32_t places)
{
	uint32_t count = BUCKETS_MIN;

	while (count < permits + places) {
		count *= 2;
	}
	return count;
}

static size_t
slots_bytes(uint32_t permits, uint32_t places)
{
	return ((size_t)permits + 1) * sizeof(struct limiter_permit) +
	    ((size_t)places + 1) * sizeof(struct limiter_place);
}

static size_t
rows_bytes(uint32_t permits, uint32_t places)
{
	return (ROWS_PER_SLOT * ((size_t)permits + places) + 1) *
	    sizeof(struct limiter_row);
}

/*
 * A place that was granted stays taken until its worker collects it.  It has a
 * permit by then, and must not take the room of who waits: the queue would be
 * full before it is.
 */
static uint32_t
places_for(uint32_t permits, uint32_t waiters)
{
	return permits + waiters;
}

size_t
limiter_bytes(uint32_t permits, uint32_t waiters)
{
	uint32_t places = places_for(permits, waiters);

	if (permits == 0 || permits > CAPACITY_MAX ||
	    waiters > CAPACITY_MAX) {
		return 0;
	}
	return sizeof(struct limiter_state) + slots_bytes(permits, places) +
	    rows_bytes(permits, places) +
	    bucket_count_for(permits, places) * sizeof(uint32_t);
}

void
limiter_bind(struct limiter *limiter, void *memory, uint32_t permits,
    uint32_t waiters)
{
	uint32_t places = places_for(permits, waiters);
	uint8_t *at = memory;

	limiter->permit_capacity = permits;
	limiter->wait_capacity = waiters;
	limiter->place_capacity = places;
	limiter->row_capacity = ROWS_PER_SLOT * (permits + places);
	limiter->bucket_count = bucket_count_for(permits, places);
	limiter->state = (void *)at;
	at += sizeof(struct limiter_state);
	limiter->permits = (void *)at;
	limiter->places = (void *)(limiter->permits + permits + 1);
	at += slots_bytes(permits, places);
	limiter->rows = (void *)at;
	at += rows_bytes(permits, places);
	limiter->buckets = (void *)at;
}

/* Rows are left alone: what was never used costs no memory. */
void
limiter_init(struct limiter *limiter)
{
	struct limiter_state *state = limiter->state;

	memset(state, 0, sizeof(*state));
	memset(limiter->permits, 0, slots_bytes(limiter->permit_capacity,
	    limiter->place_capacity));
	limiter_rows_clear(limiter);
	for (uint32_t i = limiter->permit_capacity; i >= 1; i--) {
		limiter->permits[i].next_free = state->free_permit;
		state->free_permit = i;
	}
	for (uint32_t i = limiter->place_capacity; i >= 1; i--) {
		limiter->places[i].next = state->free_place;
		state->free_place = i;
	}
}

static enum result
refuse(struct limiter *limiter, struct limiter_ticket *ticket,
    enum limiter_refusal why)
{
	ticket->refusal = why;
	limiter->state->refused[why]++;
	return BUSY;
}

static uint32_t
partition_places(const struct limiter_config *config)
{
	uint32_t share = config->partition_places;

	if (share == 0) {
		share = config->places / 4;
		share = share < LIMITER_PARTITION_CAP ?
		    LIMITER_PARTITION_CAP : share;
	}
	return share;
}

static enum result
take_permit(struct limiter *limiter, const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now,
    struct limiter_ticket *ticket)
{
	uint32_t number = limiter_permit_take(limiter, config, request, now);
	const struct limiter_permit *permit;

	if (number == 0) {
		return refuse(limiter, ticket, LIMITER_QUEUE_FULL);
	}
	permit = limiter_permit_at(limiter, number);
	ticket->permit = number;
	ticket->token = permit->token;
	ticket->deadline_ms = permit->deadline_ms;
	return OK;
}

/* A request that may not run now, in its partition's row (0: none yet). */
static enum result
take_place(struct limiter *limiter, const struct limiter_config *config,
    const struct limiter_request *request, uint32_t row, struct boot_ms now,
    struct limiter_ticket *ticket)
{
	struct limiter_state *state = limiter->state;
	uint32_t number;

	if (request->class == LIMITER_BACKGROUND) {
		return refuse(limiter, ticket, LIMITER_BACKGROUND_SHED);
	}
	if (request->wait_ms == 0 || config->wait_ms == 0) {
		return refuse(limiter, ticket, LIMITER_NO_WAIT);
	}
	if (state->free_place == 0 || state->waiting >= config->places ||
	    state->waiting >= limiter->wait_capacity) {
		return refuse(limiter, ticket, LIMITER_QUEUE_FULL);
	}
	if (request->partition != 0 && row != 0 &&
	    limiter_row_at(limiter, row)->waiting >=
	    partition_places(config)) {
		return refuse(limiter, ticket, LIMITER_PARTITION_QUEUE_FULL);
	}
	number = limiter_place_take(limiter, config, request, now);
	if (number == 0) {
		return refuse(limiter, ticket, LIMITER_QUEUE_FULL);
	}
	ticket->place = number;
	ticket->number = limiter_place_at(limiter, number)->number;
	ticket->deadline_ms = limiter_place_at(limiter, number)->deadline_ms;
	return GROWING;
}

static bool
client_is_full(const struct limiter *limiter,
    const struct limiter_config *config, uint64_t client)
{
	const struct limiter_row *row;
	uint32_t number;

	if (config->client_cap == 0 || client == 0) {
		return false;
	}
	number = limiter_row_find(limiter, LIMITER_ROW_CLIENT, 0, client);
	row = limiter_row_at(limiter, number);
	return number != 0 &&
	    row->in_flight + row->waiting >= config->client_cap;
}

/* As far as its partition and its host go. */
static bool
may_run(const struct limiter *limiter, const struct limiter_config *config,
    const struct limiter_request *request, uint32_t row)
{
	uint32_t host_row = row != 0 ? limiter_row_at(limiter, row)->host_row :
	    limiter_row_find(limiter, LIMITER_ROW_HOST, 0, request->host);
	bool marked = request->marked &&
	    request->class == LIMITER_FOREGROUND;

	if (host_row != 0 && limiter_host_is_full(limiter, config, host_row)) {
		return false;
	}
	return row == 0 || !limiter_partition_is_full(limiter, config, row) ||
	    (marked && limiter_has_headroom(limiter, config));
}

enum result
limiter_acquire(struct limiter *limiter, const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now,
    struct limiter_ticket *ticket)
{
	uint32_t number = limiter_row_find(limiter, LIMITER_ROW_PARTITION,
	    request->host, request->partition);
	struct limiter_row *row = limiter_row_at(limiter, number);

	memset(ticket, 0, sizeof(*ticket));
	if (request->owner == 0 ||
	    limiter_worker_index(request->worker) >= LIMITER_WORKERS) {
		return INVALID;
	}
	if (number != 0 && row->cap != request->partition_cap) {
		row->cap = request->partition_cap;
		limiter_heap_settle(limiter, config, number);
	}
	/* With a higher cap, or limit, waiters come first. */
	limiter_grant(limiter, config, now, &ticket->told);
	if (client_is_full(limiter, config, request->client)) {
		return refuse(limiter, ticket, LIMITER_CLIENT_CAP);
	}
	if (limiter_has_room(limiter, config, request->class) &&
	    may_run(limiter, config, request, number)) {
		return take_permit(limiter, config, request, now, ticket);
	}
	return take_place(limiter, config, request, number, now, ticket);
}

struct limiter_permit *
limiter_permit(const struct limiter *limiter, uint32_t number, uint64_t token)
{
	struct limiter_permit *permit;

	if (number == 0 || number > limiter->permit_capacity) {
		return NULL;
	}
	permit = &limiter->permits[number];
	return permit->owner != 0 && permit->token == token ? permit : NULL;
}

void
limiter_grant(struct limiter *limiter, const struct limiter_config *config,
    struct boot_ms now, uint64_t *told)
{
	for (uint32_t i = 0; i < limiter->permit_capacity &&
	    limiter_has_room(limiter, config, LIMITER_FOREGROUND); i++) {
		uint32_t number = limiter_heap_first(limiter, config);
		const struct limiter_place *place = limiter_place_at(limiter,
		    number);

		/* None, or derived words that lead to nobody. */
		if (number == 0 || place->owner == 0 ||
		    place->state != LIMITER_PLACE_WAITING) {
			return;
		}
		limiter_place_grant(limiter, config, number, now);
		*told |= UINT64_C(1) << limiter_worker_index(place->worker) %
		    LIMITER_WORKERS;
	}
}

bool
limiter_release(struct limiter *limiter, const struct limiter_config *config,
    uint32_t permit, uint64_t token, struct boot_ms now, uint64_t *told)
{
	if (limiter_permit(limiter, permit, token) == NULL) {
		return false;
	}
	limiter_permit_free(limiter, config, permit);
	if (!FAULT(limiter_lost_grant)) {
		limiter_grant(limiter, config, now, told);
	}
	return true;
}

uint32_t
limiter_next_granted(struct limiter *limiter, uint64_t worker)
{
	uint32_t index = limiter_worker_index(worker);

	if (index >= LIMITER_WORKERS) {
		return 0;
	}
	for (uint32_t i = 0; i < limiter->place_capacity; i++) {
		uint32_t number = limiter->state->granted_head[index];
		const struct limiter_place *place = limiter_place_at(limiter,
		    number);

		if (number == 0) {
			return 0;
		}
		limiter_granted_remove(limiter, number);
		/* Of an earlier life of this worker: the sweep's. */
		if (place->worker == worker) {
			return number;
		}
	}
	return 0;
}

static struct limiter_place *
place_of(const struct limiter *limiter, const struct limiter_ticket *ticket)
{
	struct limiter_place *place;

	if (ticket->place == 0 || ticket->place > limiter->place_capacity) {
		return NULL;
	}
	place = &limiter->places[ticket->place];
	return place->owner != 0 && place->number == ticket->number ?
	    place : NULL;
}

enum result
limiter_collect(struct limiter *limiter, const struct limiter_config *config,
    struct limiter_ticket *ticket, struct boot_ms now)
{
	const struct limiter_place *place = place_of(limiter, ticket);
	bool granted = place != NULL &&
	    place->state == LIMITER_PLACE_GRANTED;
	uint32_t number = ticket->place;

	if (place != NULL && !granted && now.ms < place->deadline_ms) {
		return GROWING;
	}
	ticket->place = 0;
	if (place == NULL) {
		return MISS;
	}
	if (!granted) {
		limiter_place_drop(limiter, config, number);
		(void)refuse(limiter, ticket, LIMITER_QUEUE_TIMEOUT);
		return TIMEOUT;
	}
	/* Its time may be over: what was granted is not thrown away. */
	if (limiter_place_owns(limiter, place)) {
		ticket->permit = place->permit;
		ticket->token = place->token;
		ticket->deadline_ms =
		    limiter_permit_at(limiter, place->permit)->deadline_ms;
	}
	limiter_place_free(limiter, number);
	return ticket->permit != 0 ? OK : MISS;
}

void
limiter_cancel(struct limiter *limiter, const struct limiter_config *config,
    struct limiter_ticket *ticket, struct boot_ms now, uint64_t *told)
{
	if (place_of(limiter, ticket) != NULL) {
		limiter_place_drop(limiter, config, ticket->place);
		limiter_grant(limiter, config, now, told);
	}
	ticket->place = 0;
}
