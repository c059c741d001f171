/* SPDX-License-Identifier: ISC */

/*
 * Permits and places, one at a time.  Daemon processes, with the origin's
 * lock.
 */
#include "limiter_slots.h"

#include "fault.h"
#include "limiter_heap.h"
#include "limiter_rows.h"
#include "shm_fence.h"

/*
 * Only a death parts one store from another, and who looks after it has the
 * lock: it is the compiler that must not change their order.
 */
void
limiter_owner_store(uint64_t *owner, uint64_t value)
{
	shm_fence_compiler();
	*owner = value;
	shm_fence_compiler();
}

bool
limiter_has_room(const struct limiter *limiter,
    const struct limiter_config *config, enum limiter_class class)
{
	uint32_t limit = limiter_limit(limiter, config);

	if (class == LIMITER_BACKGROUND) {
		limit -= limiter_reserve(limiter, config);
	}
	if (FAULT(limiter_over_limit)) {
		limit++;
	}
	return limiter->state->in_flight < limit &&
	    limiter->state->free_permit != 0;
}

/* What permits know of those who hold them. */
struct holder {
	uint64_t	owner;
	uint64_t	client;
	uint64_t	partition;
	uint64_t	host;
	uint64_t	number;
	uint64_t	token;
	uint32_t	cap;
	struct limiter_seat seat;
};

static void
take_permit(struct limiter *limiter, const struct limiter_config *config,
    uint32_t number, const struct holder *holder, struct boot_ms now)
{
	struct limiter_permit *permit = limiter_permit_at(limiter, number);
	struct limiter_state *state = limiter->state;
	uint32_t next_free = permit->next_free;

	*permit = (struct limiter_permit){
		.client = holder->client,
		.partition = holder->partition,
		.host = holder->host,
		.deadline_ms = now.ms + config->permit_ms,
		.token = holder->token,
		.number = holder->number,
		.cap = holder->cap,
		.row = holder->seat.row,
		.client_row = holder->seat.client_row,
	};
	limiter_owner_store(&permit->owner, holder->owner);
	state->free_permit = next_free;
	state->granted++;
	limiter_seat_count(limiter, &holder->seat, 1, 0);
}

uint32_t
limiter_permit_take(struct limiter *limiter,
    const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now)
{
	uint32_t number = limiter->state->free_permit;
	struct holder holder = {
		.owner = request->owner,
		.client = request->client,
		.partition = request->partition,
		.host = request->host,
		.cap = request->partition_cap,
	};

	if (!limiter_seat_make(limiter, holder.host, holder.partition,
	    holder.client, &holder.seat)) {
		return 0;
	}
	holder.token = ++limiter->state->next_number;
	holder.number = holder.token;
	limiter_row_at(limiter, holder.seat.row)->cap = holder.cap;
	take_permit(limiter, config, number, &holder, now);
	limiter_heap_settle(limiter, config, holder.seat.row);
	return number;
}

uint32_t
limiter_place_take(struct limiter *limiter,
    const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now)
{
	struct limiter_state *state = limiter->state;
	uint32_t wait_ms = request->wait_ms < config->wait_ms ?
	    request->wait_ms : config->wait_ms;
	uint32_t number = state->free_place;
	struct limiter_place *place = limiter_place_at(limiter, number);
	uint32_t next_free = place->next;
	struct limiter_seat seat;

	if (!limiter_seat_make(limiter, request->host, request->partition,
	    request->client, &seat)) {
		return 0;
	}
	*place = (struct limiter_place){
		.client = request->client,
		.partition = request->partition,
		.host = request->host,
		.number = ++state->next_number,
		.deadline_ms = now.ms + wait_ms,
		.worker = request->worker,
		.state = LIMITER_PLACE_WAITING,
		.marked = request->marked,
		.cap = request->partition_cap,
		.row = seat.row,
		.client_row = seat.client_row,
	};
	limiter_owner_store(&place->owner, request->owner);
	state->free_place = next_free;
	limiter_row_at(limiter, seat.row)->cap = place->cap;
	limiter_seat_count(limiter, &seat, 0, 1);
	limiter_queue_append(limiter, number);
	limiter_heap_settle(limiter, config, seat.row);
	return number;
}

static struct limiter_seat
seat_of_place(const struct limiter_place *place)
{
	struct limiter_seat seat = { place->row, place->client_row };

	return seat;
}

/* The order is that of limiter.h: (a), (b) and (c), (d). */
void
limiter_place_grant(struct limiter *limiter,
    const struct limiter_config *config, uint32_t number, struct boot_ms now)
{
	struct limiter_place *place = limiter_place_at(limiter, number);
	struct holder holder = {
		.owner = place->owner,
		.client = place->client,
		.partition = place->partition,
		.host = place->host,
		.number = place->number,
		.token = ++limiter->state->next_number,
		.cap = place->cap,
		.seat = seat_of_place(place),
	};

	place->permit = limiter->state->free_permit;
	place->token = holder.token;
	shm_fence_compiler();
	take_permit(limiter, config, place->permit, &holder, now);
	place->state = LIMITER_PLACE_GRANTED;
	shm_fence_compiler();
	limiter->state->waited++;
	limiter_queue_remove(limiter, number);
	limiter_seat_count(limiter, &holder.seat, 0, -1);
	limiter_heap_settle(limiter, config, holder.seat.row);
	limiter->state->uncollected++;
	limiter_granted_append(limiter, number);
}

void
limiter_permit_free(struct limiter *limiter,
    const struct limiter_config *config, uint32_t number)
{
	struct limiter_permit *permit = limiter_permit_at(limiter, number);
	struct limiter_seat seat = { permit->row, permit->client_row };

	limiter_owner_store(&permit->owner, 0);
	permit->next_free = limiter->state->free_permit;
	limiter->state->free_permit = number;
	limiter_seat_count(limiter, &seat, -1, 0);
	limiter_heap_settle(limiter, config, seat.row);
	limiter_seat_put(limiter, &seat);
}

static void
give_back(struct limiter *limiter, uint32_t number)
{
	struct limiter_place *place = limiter_place_at(limiter, number);

	place->state = LIMITER_PLACE_FREE;
	place->next = limiter->state->free_place;
	limiter->state->free_place = number;
}

void
limiter_place_free(struct limiter *limiter, uint32_t number)
{
	limiter_owner_store(&limiter_place_at(limiter, number)->owner, 0);
	limiter_granted_remove(limiter, number);
	limiter->state->uncollected--;
	give_back(limiter, number);
}

void
limiter_place_drop(struct limiter *limiter,
    const struct limiter_config *config, uint32_t number)
{
	struct limiter_place *place = limiter_place_at(limiter, number);
	struct limiter_seat seat = seat_of_place(place);

	if (place->state == LIMITER_PLACE_GRANTED) {
		if (limiter_place_owns(limiter, place)) {
			limiter_permit_free(limiter, config, place->permit);
		}
		limiter_place_free(limiter, number);
		return;
	}
	limiter_owner_store(&place->owner, 0);
	limiter_queue_remove(limiter, number);
	limiter_seat_count(limiter, &seat, 0, -1);
	limiter_heap_settle(limiter, config, seat.row);
	limiter_seat_put(limiter, &seat);
	give_back(limiter, number);
}

bool
limiter_place_owns(const struct limiter *limiter,
    const struct limiter_place *place)
{
	const struct limiter_permit *permit = limiter_permit(limiter,
	    place->permit, place->token);

	return place->token != 0 && permit != NULL &&
	    permit->owner == place->owner &&
	    permit->number == place->number;
}

void
limiter_granted_append(struct limiter *limiter, uint32_t number)
{
	struct limiter_place *place = limiter_place_at(limiter, number);
	uint32_t worker = limiter_worker_index(place->worker) %
	    LIMITER_WORKERS;
	uint32_t *tail = &limiter->state->granted_tail[worker];

	place->next = 0;
	place->previous = *tail;
	if (*tail != 0) {
		limiter_place_at(limiter, *tail)->next = number;
	} else {
		limiter->state->granted_head[worker] = number;
	}
	*tail = number;
	place->listed = 1;
}

void
limiter_granted_remove(struct limiter *limiter, uint32_t number)
{
	struct limiter_place *place = limiter_place_at(limiter, number);
	uint32_t worker = limiter_worker_index(place->worker) %
	    LIMITER_WORKERS;

	if (place->listed == 0) {
		return;
	}
	if (place->previous != 0) {
		limiter_place_at(limiter, place->previous)->next = place->next;
	} else {
		limiter->state->granted_head[worker] = place->next;
	}
	if (place->next != 0) {
		limiter_place_at(limiter, place->next)->previous =
		    place->previous;
	} else {
		limiter->state->granted_tail[worker] = place->previous;
	}
	place->next = 0;
	place->previous = 0;
	place->listed = 0;
}
