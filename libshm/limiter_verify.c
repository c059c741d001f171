/* SPDX-License-Identifier: ISC */

/*
 * Does everything derived in a limiter follow from its slots?  Any process
 * that sees the limiter, with the origin's lock.  Nothing is changed, and
 * sums of scattered numbers stand for counting row by row, so that no memory
 * is needed either.
 */
#include "limiter.h"

#include "limiter_heap.h"
#include "limiter_rows.h"
#include "limiter_slots.h"

/* What was met, to be compared with what the totals say. */
struct tally {
	unsigned	faults;
	uint32_t	held;
	uint32_t	waiting;
	uint32_t	granted;
	uint32_t	listed;
	uint64_t	flight_sum;	/* by slots minus by rows: 0 */
	uint64_t	waiting_sum;
	uint32_t	queued;
	uint32_t	heaped[LIMITER_HEAPS];	/* of partitions' nodes */
};

static uint64_t
scatter(uint32_t row)
{
	uint64_t mixed = (row + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

	mixed ^= mixed >> 29;
	return mixed * UINT64_C(0xbf58476d1ce4e5b9);
}

/* The rows that a slot names are its own. */
static unsigned
check_seat(const struct limiter *limiter, uint32_t number,
    uint32_t client_number, uint64_t host, uint64_t partition,
    uint64_t client, uint64_t *sum)
{
	const struct limiter_row *row = limiter_row_at(limiter, number);
	unsigned faults = 0;

	faults += number == 0 || number != limiter_row_find(limiter,
	    LIMITER_ROW_PARTITION, host, partition);
	faults += row->host_row == 0 || row->host_row !=
	    limiter_row_find(limiter, LIMITER_ROW_HOST, 0, host);
	faults += client == 0 ? client_number != 0 : client_number == 0 ||
	    client_number != limiter_row_find(limiter, LIMITER_ROW_CLIENT, 0,
	    client);
	*sum += scatter(number) + scatter(row->host_row);
	*sum += client_number != 0 ? scatter(client_number) : 0;
	return faults;
}

static void
check_permits(const struct limiter *limiter, struct tally *tally)
{
	const struct limiter_state *state = limiter->state;
	uint32_t unused = 0;
	uint32_t at = state->free_permit;

	for (uint32_t i = 1; i <= limiter->permit_capacity; i++) {
		const struct limiter_permit *permit = &limiter->permits[i];

		if (permit->owner == 0) {
			continue;
		}
		tally->held++;
		tally->faults += permit->token > state->next_number;
		tally->faults += check_seat(limiter, permit->row,
		    permit->client_row, permit->host, permit->partition,
		    permit->client, &tally->flight_sum);
	}
	for (; at != 0 && unused <= limiter->permit_capacity; unused++) {
		const struct limiter_permit *permit = limiter_permit_at(
		    limiter, at);

		tally->faults += permit->owner != 0;
		at = permit->next_free;
	}
	tally->faults += unused + tally->held != limiter->permit_capacity;
	tally->faults += tally->held != state->in_flight;
}

static void
check_places(const struct limiter *limiter, struct tally *tally)
{
	const struct limiter_state *state = limiter->state;
	uint32_t unused = 0;
	uint32_t at = state->free_place;

	for (uint32_t i = 1; i <= limiter->place_capacity; i++) {
		const struct limiter_place *place = &limiter->places[i];

		if (place->owner == 0) {
			continue;
		}
		tally->faults += place->number > state->next_number ||
		    place->token > state->next_number;
		if (place->state == LIMITER_PLACE_GRANTED) {
			tally->granted++;
			tally->listed += place->listed != 0;
			tally->faults += !limiter_place_owns(limiter, place);
			continue;
		}
		tally->waiting++;
		tally->faults += place->state != LIMITER_PLACE_WAITING ||
		    place->listed != 0;
		tally->faults += check_seat(limiter, place->row,
		    place->client_row, place->host, place->partition,
		    place->client, &tally->waiting_sum);
	}
	for (; at != 0 && unused <= limiter->place_capacity; unused++) {
		const struct limiter_place *place = limiter_place_at(limiter,
		    at);

		tally->faults += place->owner != 0 || place->listed != 0;
		at = place->next;
	}
	tally->faults += unused + tally->waiting + tally->granted !=
	    limiter->place_capacity;
	tally->faults += tally->waiting != state->waiting;
	tally->faults += tally->granted != state->uncollected;
}

/* Each list once through, in order, with its way back. */
static void
check_granted(const struct limiter *limiter, struct tally *tally)
{
	const struct limiter_state *state = limiter->state;
	uint32_t met = 0;

	for (uint32_t worker = 0; worker < LIMITER_WORKERS; worker++) {
		uint32_t previous = 0;
		uint32_t at = state->granted_head[worker];

		while (at != 0 && met <= limiter->place_capacity) {
			const struct limiter_place *place =
			    limiter_place_at(limiter, at);

			tally->faults += place->owner == 0 ||
			    place->state != LIMITER_PLACE_GRANTED ||
			    place->listed == 0 ||
			    place->previous != previous ||
			    limiter_worker_index(place->worker) != worker;
			previous = at;
			at = place->next;
			met++;
		}
		tally->faults += state->granted_tail[worker] != previous;
	}
	tally->faults += met != tally->listed;
}

static void
check_queue(const struct limiter *limiter, uint32_t number, unsigned queue,
    struct tally *tally)
{
	const struct limiter_row *row = limiter_row_at(limiter, number);
	uint32_t previous = 0;
	uint32_t at = row->head[queue];

	while (at != 0 && tally->queued <= limiter->place_capacity) {
		const struct limiter_place *place = limiter_place_at(limiter,
		    at);

		tally->faults += place->owner == 0 ||
		    place->state != LIMITER_PLACE_WAITING ||
		    place->row != number || place->previous != previous ||
		    (place->marked != 0) != (queue == LIMITER_MARKED);
		tally->faults += previous != 0 && place->number <=
		    limiter_place_at(limiter, previous)->number;
		previous = at;
		at = place->next;
		tally->queued++;
	}
	tally->faults += row->tail[queue] != previous;
}

static uint32_t
node_bound(const struct limiter *limiter)
{
	return LIMITER_HEAPS * (limiter->row_capacity + 1);
}

/* Back along its siblings; 0 for a root. */
static uint32_t
parent_of(const struct limiter *limiter, uint32_t at)
{
	uint32_t previous = limiter_node_at(limiter, at)->previous;

	for (uint32_t i = 0; i < node_bound(limiter) && previous != 0 &&
	    limiter_node_at(limiter, previous)->child != at; i++) {
		at = previous;
		previous = limiter_node_at(limiter, at)->previous;
	}
	return previous;
}

/* The node after this one, parents before children; 0: none. */
static uint32_t
node_after(const struct limiter *limiter, uint32_t at)
{
	if (limiter_node_at(limiter, at)->child != 0) {
		return limiter_node_at(limiter, at)->child;
	}
	for (uint32_t i = 0; i < node_bound(limiter) && at != 0; i++) {
		if (limiter_node_at(limiter, at)->next != 0) {
			return limiter_node_at(limiter, at)->next;
		}
		at = parent_of(limiter, at);
	}
	return 0;
}

/* Ranks do not fall on the way down; each link has its way back. */
static unsigned
check_children(const struct limiter *limiter, uint32_t parent)
{
	uint64_t rank = limiter_node_at(limiter, parent)->rank;
	uint32_t at = limiter_node_at(limiter, parent)->child;
	uint32_t previous = parent;
	unsigned faults = 0;

	for (uint32_t i = 0; at != 0 && i < node_bound(limiter); i++) {
		const struct limiter_node *node = limiter_node_at(limiter, at);

		faults += node->rank < rank || node->previous != previous;
		previous = at;
		at = node->next;
	}
	return faults;
}

/* A host's heap, or the limiter's (host_row 0); the number of nodes. */
static uint32_t
check_heap(const struct limiter *limiter, uint32_t root, uint32_t heap,
    uint32_t host_row, struct tally *tally)
{
	const struct limiter_node *top = limiter_node_at(limiter, root);
	uint32_t kind = host_row != 0 ? LIMITER_ROW_PARTITION :
	    LIMITER_ROW_HOST;
	uint32_t met = 0;

	tally->faults += root != 0 && (top->previous != 0 || top->next != 0);
	for (uint32_t at = root; at != 0 && met < node_bound(limiter);
	    at = node_after(limiter, at)) {
		const struct limiter_row *row = limiter_row_at(limiter,
		    at / LIMITER_HEAPS);

		met++;
		tally->faults += row->kind != kind ||
		    row->host_row != host_row ||
		    limiter_node_at(limiter, at)->heap != heap + 1;
		tally->faults += check_children(limiter, at);
	}
	return met;
}

/* Queues and heaps of one partition; what lies in which is counted. */
static void
check_partition(const struct limiter *limiter,
    const struct limiter_config *config, uint32_t number, struct tally *tally)
{
	const struct limiter_row *row = limiter_row_at(limiter, number);
	uint32_t before = tally->queued;

	for (unsigned queue = 0; queue < LIMITER_HEAPS; queue++) {
		const struct limiter_node *node = &row->node[queue];
		uint32_t wanted = limiter_heap_wanted(limiter, config, number,
		    queue);

		check_queue(limiter, number, queue, tally);
		tally->faults += node->heap != wanted;
		tally->faults += wanted != 0 && node->rank !=
		    limiter_place_at(limiter, row->head[queue])->number;
		if (node->heap != 0 && node->heap <= LIMITER_HEAPS) {
			tally->heaped[node->heap - 1]++;
		}
	}
	tally->faults += tally->queued - before != row->waiting;
}

static void
check_host(const struct limiter *limiter,
    const struct limiter_config *config, uint32_t number,
    uint32_t below[LIMITER_HEAPS], uint32_t hosts[LIMITER_HEAPS],
    struct tally *tally)
{
	const struct limiter_row *row = limiter_row_at(limiter, number);
	bool full = limiter_host_is_full(limiter, config, number);

	for (unsigned heap = 0; heap < LIMITER_HEAPS; heap++) {
		const struct limiter_node *node = &row->node[heap];
		bool runs = !full && row->root[heap] != 0;

		below[heap] += check_heap(limiter, row->root[heap], heap,
		    number, tally);
		tally->faults += node->heap != (runs ? heap + 1 : 0);
		tally->faults += runs && node->rank !=
		    limiter_node_at(limiter, row->root[heap])->rank;
		hosts[heap] += runs;
	}
}

static uint32_t
top_row(const struct limiter *limiter)
{
	uint32_t top = limiter->state->row_top;

	return top < limiter->row_capacity ? top : limiter->row_capacity;
}

static void
check_free_rows(const struct limiter *limiter, uint32_t used,
    struct tally *tally)
{
	uint32_t unused = 0;
	uint32_t at = limiter->state->free_row;

	for (; at != 0 && unused <= limiter->row_capacity; unused++) {
		tally->faults += limiter_row_at(limiter, at)->kind !=
		    LIMITER_ROW_FREE;
		at = limiter_row_at(limiter, at)->chain;
	}
	tally->faults += used + unused != limiter->state->row_top;
}

static void
check_rows(const struct limiter *limiter, const struct limiter_config *config,
    struct tally *tally)
{
	uint32_t below[LIMITER_HEAPS] = { 0 }, hosts[LIMITER_HEAPS] = { 0 };
	uint32_t used = 0;

	for (uint32_t i = 1; i <= top_row(limiter); i++) {
		const struct limiter_row *row = limiter_row_at(limiter, i);

		if (row->kind == LIMITER_ROW_FREE) {
			continue;
		}
		used++;
		tally->faults += limiter_row_find(limiter, row->kind,
		    row->host, row->key) != i;
		tally->faults += row->in_flight == 0 && row->waiting == 0;
		tally->flight_sum -= row->in_flight * scatter(i);
		tally->waiting_sum -= row->waiting * scatter(i);
		if (row->kind == LIMITER_ROW_PARTITION) {
			check_partition(limiter, config, i, tally);
		} else if (row->kind == LIMITER_ROW_HOST) {
			check_host(limiter, config, i, below, hosts, tally);
		}
	}
	for (unsigned heap = 0; heap < LIMITER_HEAPS; heap++) {
		tally->faults += below[heap] != tally->heaped[heap];
		tally->faults += hosts[heap] != check_heap(limiter,
		    limiter->state->root[heap], heap, 0, tally);
	}
	tally->faults += tally->queued != tally->waiting;
	tally->faults += tally->flight_sum != 0;
	tally->faults += tally->waiting_sum != 0;
	check_free_rows(limiter, used, tally);
}

unsigned
limiter_verify(const struct limiter *limiter,
    const struct limiter_config *config)
{
	struct tally tally = { 0 };

	check_permits(limiter, &tally);
	check_places(limiter, &tally);
	check_granted(limiter, &tally);
	check_rows(limiter, config, &tally);
	/* 3 of limiter.h. */
	tally.faults += limiter_has_room(limiter, config,
	    LIMITER_FOREGROUND) && limiter_heap_first(limiter, config) != 0;
	return tally.faults;
}
